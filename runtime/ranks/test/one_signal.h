// Single steps of Session::signals.
#pragma once
#include "runtime/session.h"

namespace tandem::runtime {

inline void signalWrite(Session& s, int rank, StreamId stream, Address signal, int count, uint64_t value, int bytes,
                        SignalKind kind) {
  SignalStep step{signal, count, bytes, value, false, kind};
  s.signals(rank, stream, {&step, 1});
}

inline void signalWait(Session& s, int rank, StreamId stream, Address signal, int count, Compare compare,
                       uint64_t value, int bytes) {
  SignalStep step{signal, count, bytes, value, true, SignalKind::Set, compare};
  s.signals(rank, stream, {&step, 1});
}

}  // namespace tandem::runtime
