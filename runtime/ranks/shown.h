// Work that a rank queues on its streams, as its trace shows it. Not traced, it costs one comparison.
#pragma once
#include "runtime/ranks/rank.h"

namespace tandem::runtime::ranks {

// `places`: where the work reads and writes; one of another rank's part of the symmetric heap names the peer.
template <class Queue>
void Rank::shown(StreamId stream, interpreter::SpanKind kind, const char* name, Queue queue, uint64_t bytes,
                 std::initializer_list<Address> places) {
  if (!open_->trace) return queue();
  StreamTrace& trace = open_->trace->streams();
  Stream on = open_->streams.at(stream);
  interpreter::Span what;
  what.lane = interpreter::kStreamLanes + int32_t(stream);
  what.kind = kind;
  what.name = name;
  what.bytes = bytes;
  for (Address place : places)
    if (int rank = rankAt(place); rank >= 0 && rank != me()) what.peer = rank;
  Event before = trace.before(on);
  queue();
  trace.after(on, before, what);
}

}  // namespace tandem::runtime::ranks
