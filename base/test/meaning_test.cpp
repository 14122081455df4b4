#include "base/meaning.h"
#include <gtest/gtest.h>

namespace tandem {
namespace {

TEST(Meaning, HoldsForItsBytesAsLongAsItLives) {
  {
    Meaning first(1000, 16, "first", [](uint64_t offset) { return "word " + std::to_string(offset / 8); });
    Meaning second(1016, 8, "second", [](uint64_t) { return "all"; });
    EXPECT_EQ(meaningOf(999).words, "");
    EXPECT_EQ(meaningOf(1000).owner + ": " + meaningOf(1000).words, "first: word 0");
    EXPECT_EQ(meaningOf(1015).words, "word 1");
    EXPECT_EQ(meaningOf(1016).owner + ": " + meaningOf(1023).words, "second: all");
    EXPECT_EQ(meaningOf(1024).words, "");
  }
  EXPECT_EQ(meaningOf(1000).words, "");
}

}  // namespace
}  // namespace tandem
