// Work on the streams of a rank: kernels, signals, barriers, events, and waiting for the end of it.
#include "abi/kernel_image.h"
#include "runtime/ranks/collective.h"
#include "runtime/ranks/shown.h"
#include <algorithm>
#include <thread>

namespace tandem::runtime::ranks {
namespace {

void checkSignal(Address signal, int count, int bytes) {
  if (bytes != 4 && bytes != 8) throw std::invalid_argument("a signal has 4 or 8 bytes, not " + std::to_string(bytes));
  if (count < 0) throw std::invalid_argument(std::to_string(count) + " signals");
  if (signal % unsigned(bytes))
    throw std::invalid_argument("a signal's address is not a multiple of its " + std::to_string(bytes) + " bytes");
}

}  // namespace

void Rank::launch(StreamId stream, const KernelLaunch& launch) {
  Open& o = running();
  if (!launch.code.kernel)
    throw std::invalid_argument("rank " + std::to_string(me()) + " is a GPU: it cannot run a kernel of the simulator");
  Stream on = o.streams.at(stream);
  const RankContext& context = launch.team ? partOf(launch.team).context : o.context;
  shown(stream, interpreter::SpanKind::Kernel, launch.code.kernel->image().name.c_str(),
        [&] { device_->launch(on, launch, context.address()); });
}

bool Rank::hasProducts() {
  running();
  return device_->hasProducts();
}

void Rank::multiply(StreamId stream, const Product& product) {
  Stream on = running().streams.at(stream);
  shown(stream, interpreter::SpanKind::Kernel, "product of the library", [&] { device_->multiply(on, product); });
}

void Rank::signals(StreamId stream, std::span<const SignalStep> steps) {
  running();
  bool waits = std::any_of(steps.begin(), steps.end(), [](const SignalStep& s) { return s.waits; });
  if (!waits) return queueSignals(stream, steps);
  shown(stream, interpreter::SpanKind::Wait, "for signals", [&] { queueSignals(stream, steps); });
}

// Runs of writes and waits go to the driver together; an addition is a kernel between them.
void Rank::queueSignals(StreamId stream, std::span<const SignalStep> steps) {
  Open& o = *open_;
  Stream on = o.streams.at(stream);
  MemoryOperations batch;
  auto submit = [&] {
    batch.submit(*device_, on, "signals on stream " + std::to_string(stream));
    batch = {};
  };
  for (const SignalStep& s : steps) {
    checkSignal(s.signal, s.count, s.bytes);
    if (!s.waits && s.kind == SignalKind::Add) {
      submit();
      if (s.count) device_->addToSignals(on, s.signal, s.count, s.value, s.bytes);
      continue;
    }
    StreamWait wait{s.signal, s.bytes, {}, s.compare, s.value};
    if (s.waits) wait.test = waitTest(s.compare, s.value, s.bytes);
    for (int i = 0; i < s.count; ++i, wait.signal += unsigned(s.bytes))
      if (s.waits)
        o.waits.add(batch, stream, wait);
      else
        batch.write(wait.signal, s.value, s.bytes);
  }
  submit();
}

// Writes this rank's flag on every other member, waits for theirs here and puts them back.
void Rank::barrierPhase(MemoryOperations& batch, StreamId stream, const std::vector<int>& members, Address flags) {
  constexpr int bytes = 4;
  auto others = [&](auto body) {
    for (size_t i = 0; i < members.size(); ++i)
      if (members[i] != me()) body(members[i], flags + i * bytes);
  };
  size_t mine = 0;
  while (members[mine] != me()) ++mine;
  others([&](int peer, Address) { batch.write(open_->heap.onPeer(flags + mine * bytes, peer), 1, bytes); });
  others([&](int, Address flag) {
    open_->waits.add(batch, stream, {flag, bytes, waitTest(Compare::Eq, 1, bytes), Compare::Eq, 1});
  });
  others([&](int, Address flag) { batch.write(flag, 0, bytes); });
}

// Every value is a constant, so a captured barrier can be replayed. A flag that is put back must not meet the next
// barrier's 1:
//  - Peer j writes my `arrived[j]` again in its next barrier, so after this one's second phase, for which it has waited
//    for my
//    `freed`. I write that after I have put `arrived` back, and a write is released after the stream's earlier writes.
//  - Peer j writes my `freed[j]` again after the first phase of its next barrier, for which it has waited for my next
//    `arrived`. I write
//    that after I have put `freed` back.
// One phase would not do: a fast peer's next 1 could come before I have put back its last one, and be lost.
// Each write has a fence for the whole system before it, so a peer that it lets go sees the stream's earlier work.
void Rank::barrierOnStream(StreamId stream, int team) {
  Open& o = running();
  const std::vector<int>& members = o.context.membersOf(team);
  TeamSignals signals = o.context.signalsOf(team);
  MemoryOperations batch;
  barrierPhase(batch, stream, members, signals.arrived);
  barrierPhase(batch, stream, members, signals.freed);
  shown(stream, interpreter::SpanKind::Barrier, "of the team", [&] {
    batch.submit(*device_, o.streams.at(stream),
                 "a barrier of team " + std::to_string(team) + " on stream " + std::to_string(stream));
  });
}

EventId Rank::recordEvent(StreamId stream) {
  Open& o = running();
  return o.events.record(o.streams.at(stream));
}

void Rank::waitEvent(StreamId stream, EventId event) {
  Open& o = running();
  o.events.wait(o.streams.at(stream), event);
}

EventId Rank::recordTime(StreamId stream) {
  Open& o = running();
  return o.events.recordTime(o.streams.at(stream));
}

double Rank::microseconds(EventId from, EventId to) {
  Open& o = running();
  for (EventId id : {from, to})
    while (!o.events.reached(id)) {
      checkProgress();
      std::this_thread::yield();
    }
  return o.events.microseconds(from, to);
}

// Throws when the run has ended or a wait has given up.
void Rank::checkProgress() {
  if (!meeting_.stopped() && open_->watch.gaveUp()) reportGivenUpWait();
  if (!meeting_.stopped() && options_.waitTimeoutMs) reportHeldStream();
  if (meeting_.stopped()) throwStopped();
}

// Polls quickly at first, so that the end of short work is seen at once, then slowly, so that long work costs the host
// little.
void Rank::waitIdle(StreamId stream) {
  constexpr int spins = 2000;
  for (int i = 0; !open_->streams.idle(stream); ++i) {
    checkProgress();
    if (i < spins)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

void Rank::synchronize(StreamId stream) {
  running();
  waitIdle(stream);
  checkProgress();
}

void Rank::synchronize() {
  Open& o = running();
  for (StreamId id = 0; id < o.streams.count(); ++id) waitIdle(id);
  checkProgress();
}

void Rank::barrier(int team) {
  const std::vector<int>& members = running().context.membersOf(team);
  synchronize();
  collective([&] { meeting_.barrier(members, "barrier of team " + std::to_string(team)); });
}

}  // namespace tandem::runtime::ranks
