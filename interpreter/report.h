// A report is an error that the simulator found, with places. It is rendered with source lines like compiler
// diagnostics.
#pragma once
#include "base/diagnostic.h"
#include <array>
#include <string>
#include <vector>

namespace tandem::interpreter {

// A kind's word is stable: deadlock, livelock, limit-exceeded,
// out-of-bounds, misaligned, use-after-free, uninitialised-read, double-free, invalid-free,
// asymmetric-allocation, leftover-signal, unfinished-put, assertion, divergent-block-operation, non-uniform-warp-operation,
// bad-rank, collective-mismatch, index-out-of-range, unsupported, out-of-memory, assume-violated, signal-misuse,
// history-exceeded, race, scope, portability.
struct Report {
  Severity severity = Severity::Error;
  std::string kind;
  std::string message;  // one line, with buffer name, byte range, expected and seen values as they apply
  int rank = -1;        // -1: no single rank
  std::array<int32_t, 3> program{-1, -1, -1};
  std::string kernel;
  SourceFilePtr file;   // null when only a host line is known
  SourceRange range;
  std::vector<Diagnostic> notes;  // other places: the inlined call, each other waiter, the last writer, the allocation

  // "k.py:12:5: error: deadlock: ... [rank 1, program (0,0,0), kernel `k`]", source line, caret, notes.
  std::string render() const;
};

}  // namespace tandem::interpreter
