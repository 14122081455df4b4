// These tests read what reports of waits say of the memory of dispatch and combine.
#include "ops/ep_dispatch/exchange.h"
#include <gtest/gtest.h>

namespace tandem::ops {
namespace {

constexpr ExchangeSizes kSizes = {.maxM = 3, .columns = 8, .experts = 5, .topK = 2};
constexpr int64_t kRanks = 2, kPacket = 16;

TEST(ExchangeWords, OfPacketsAboutRows) {
  auto at = [](int64_t set, int64_t rank, int64_t packet) {
    return aboutWords(kSizes, kRanks, 2, uint64_t(((set * kRanks + rank) * 7 + packet) * kPacket + 8));
  };
  EXPECT_EQ(at(0, 0, 0), "the header of rank 0, which has experts 0 to 2");
  EXPECT_EQ(at(1, 1, 0), "the header of rank 1, which has experts 3 to 4");
  EXPECT_EQ(at(0, 1, 1), "what rank 1 says of its token 0, slot 0");
  EXPECT_EQ(at(1, 0, 6), "what rank 0 says of its token 2, slot 1");
}

TEST(ExchangeWords, OfRows) {
  auto at = [](bool sums, int64_t set, int64_t rank, int64_t token, int64_t slot) {
    return rowWords(kSizes, kRanks, 32, sums, uint64_t((((set * kRanks + rank) * 3 + token) * 32 + slot) * kPacket));
  };
  EXPECT_EQ(at(false, 0, 1, 0, 31), "the row of token 0 of rank 1");
  EXPECT_EQ(at(false, 1, 0, 2, 0), "the row of token 2 of rank 0");
  EXPECT_EQ(at(true, 1, 1, 2, 5), "the sum for token 2 from rank 1, of experts 3 to 4");
}

}  // namespace
}  // namespace tandem::ops
