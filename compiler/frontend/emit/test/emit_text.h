// Emits a kernel given as text and shows the result: the IR, or the error in one line.
#pragma once
#include <string>

namespace tandem::frontend::test {

struct Result {
  std::string ir;     // verified; empty on failure
  std::string error;  // "line:column kind: message"; empty on success
  std::string notes;  // "line:column message" of each note, one a line
};

// `text` is a file (after two import lines for `tl` and `dl`, so that its first line is line 3) whose function `k` is
// the kernel. Parameters called p* are `*fp32`, h* `*fp16`, i* i32, l* i64, f* fp32, b* i1; upper-case ones are the
// constant 32.
Result emitText(const std::string& text, bool debug = false);

size_t count(const std::string& text, const std::string& what);

}  // namespace tandem::frontend::test

#define EXPECT_HAS(text, what) EXPECT_NE((text).find(what), std::string::npos) << (text)
#define EXPECT_LACKS(text, what) EXPECT_EQ((text).find(what), std::string::npos) << (text)
