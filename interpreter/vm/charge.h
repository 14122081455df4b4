// This table has the modelled time of each instruction.
#pragma once
#include "interpreter/vm/machine.h"

namespace tandem::interpreter {

// Moving bytes between the program and a rank's memory.
inline bool isPeer(const Run& run, int rank) { return rank >= 0 && rank != run.rank; }
inline void chargeLoad(Machine& m, Run& run, uint64_t bytes, int rank) {
  run.clockNs += m.clock.loads(bytes, isPeer(run, rank));
}
inline void chargeStore(Machine& m, Run& run, uint64_t bytes, int rank) {
  run.clockNs += m.clock.stores(bytes, isPeer(run, rank));
}

// Adds a span when the world is traced. A wait and a barrier end the program's stretch of computing.
void span(Machine& m, Run& run, SpanKind kind, int64_t beginNs, int64_t endNs, const std::string& name,
          uint32_t location, int peer = -1, uint64_t bytes = 0, std::string signal = {});
// Returns the words for the signal at `address` in a span; empty when the world is not traced.
std::string signalWords(Machine& m, Address address);
// The program does not compute from `beginNs` to `endNs`.
void pauseCompute(Machine& m, Run& run, int64_t beginNs, int64_t endNs);
// A tile's bytes to or from a peer are a transfer in the trace and in the counters.
void chargeAccess(Machine& m, Run& run, uint32_t location, uint64_t moved, int rank, SpanKind kind, const char* name);

}  // namespace tandem::interpreter
