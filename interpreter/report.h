// A report is an error that the simulator found, with places. It is rendered with source lines like compiler
// diagnostics.
#pragma once
#include "base/report_kinds.h"
#include <array>
#include <string>
#include <vector>

namespace tandem::interpreter {

struct Report {
  ReportKind kind;
  std::string message = {};  // one line, with buffer name, byte range, expected and seen values as they apply
  int rank = -1;             // -1: no single rank
  std::array<int32_t, 3> program{-1, -1, -1};
  std::string kernel = {};
  SourceFilePtr file = {};  // null when only a host line is known
  SourceRange range = {};
  // Other places: the inlined call, each other waiter, the last writer, the allocation.
  std::vector<Diagnostic> notes = {};

  // "k.py:12:5: error: deadlock: ... [rank 1, program (0,0,0), kernel `k`]", source line, caret, notes.
  std::string render() const;
};

}  // namespace tandem::interpreter
