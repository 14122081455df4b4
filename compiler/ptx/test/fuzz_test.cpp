// Malformed text: a result or an error, never anything else, and quickly.
#include "compiler/ptx/parse.h"
#include <gtest/gtest.h>
#include <random>

namespace tandem::ptx {
namespace {

const char* const kTexts[] = {
    "{ .reg .pred %p<2>; .reg .b16 h<4>; setp.eq.s32 %p0, $3, 1; @!%p0 ld.global.v4.b32 {$0,$1,_,h0}, [$2 + 16]; }",
    ("wait_${:uid}: atom.global.acquire.sys.cas.b32 $0, [$2], 1, 0x0; @$4 bra wait_${:uid}; // again\n mov.u64 $2, "
     "%clock64;"),
    "cvt.rn.satfinite.e2m1x2.f32 h, 1.5e-3, 0f3F800000; /* two */ shfl.sync.up.b32 $0|%p1, $1, $$, -1;",
};

TEST(Fuzz, ChangedTexts) {
  std::mt19937 random(7);
  const std::string marks = "{}[]().,;:@!|<>+-$%_0x1fU \n\"/*\\\x80\xff";
  std::vector<unsigned> bits{32, 32, 64, 32, 1};
  size_t wrong = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = kTexts[random() % std::size(kTexts)];
    for (unsigned changes = 1 + random() % 4; changes-- > 0 && !text.empty();) {
      size_t at = random() % text.size();
      switch (random() % 4) {
        case 0: text[at] = marks[random() % marks.size()]; break;
        case 1: text.insert(at, 1, marks[random() % marks.size()]); break;
        case 2: text.erase(at, 1 + random() % 5); break;
        default: text.resize(at); break;
      }
    }
    Parsed parsed = parse(text, bits);
    wrong += !parsed.error.empty();
    for (const Instruction& i : parsed.body.code) EXPECT_FALSE(i.opcode.empty() && parsed.error.empty());
  }
  EXPECT_GT(wrong, 5000u);
}

std::string repeated(const std::string& part, size_t times) {
  std::string text;
  for (size_t i = 0; i < times; ++i) text += part;
  return text;
}

TEST(Fuzz, LongTexts) {
  std::vector<unsigned> bits{32, 32};
  EXPECT_NE(parse(repeated("{", 100000), bits).error, "");
  EXPECT_NE(parse(repeated("[", 100000), bits).error, "");
  EXPECT_NE(parse(repeated("!", 100000), bits).error, "");
  EXPECT_NE(parse("mov " + repeated("{$0,", 100000), bits).error, "");
  EXPECT_EQ(parse(repeated("add.s32 $0, $0, $1;\n", 100000), bits).body.code.size(), 100000u);
  EXPECT_EQ(parse(repeated("{ .reg .b32 t; mov.b32 t, $1; }", 20000), bits).error, "");
}

}  // namespace
}  // namespace tandem::ptx
