// Attention over ranks from C++ and from C.
#include "tandem/ops/ag_attention.h"
#include <cmath>
#include <gtest/gtest.h>

extern "C" int gatherAttentionFromC(td_session* session, int rank, uint64_t q, uint64_t v, uint64_t out, int64_t rows);

namespace tandem {
namespace {

constexpr int64_t kRows = 4, kD = 64;
constexpr int kRanks = 2;
constexpr uint16_t kOne = 0x3C00, kQuarter = 0x3400;  // of fp16

TEST(AllGatherAttention, FromCppAndC) {
  auto main = [](Team& team) {
    int64_t own = ops::rowsOfRank(kRows, kRanks, team.rank());
    auto zeros = [&] { return team.localZeros({1, own, 1, kD}, DType::Float16); };
    Tensor q = zeros(), v = zeros(), out = zeros(), lse = team.localZeros({1, 1, own}, DType::Float32);
    // Queries are alike for all keys. One value of all ranks is 1, the others 0, so results are a quarter.
    if (team.rank() == 1)
      for (int64_t i = 0; i < kD; ++i) v.data<uint16_t>()[i] = kOne;
    ops::GatherAttentionConfig config;
    config.withLse = true;
    ops::AllGatherAttention op(team, kRows, 1, 1, 1, kD, kD, DType::Float16, config);
    op.run(q, q, v, out, kRows, 0, {}, lse);
    team.synchronize();
    auto expectQuarters = [&] {
      for (int64_t i = 0; i < own * kD; ++i) ASSERT_EQ(out.data<uint16_t>()[i], kQuarter);
    };
    expectQuarters();
    EXPECT_FLOAT_EQ(lse.data<float>()[0], std::log(float(kRows)));
    team.fill(out, 0);
    EXPECT_EQ(gatherAttentionFromC(team.session(), team.rank(), q.address, v.address, out.address, kRows), 0)
        << td_last_error();
    team.synchronize();
    expectQuarters();
  };
  EXPECT_TRUE(launch(main, {.ranks = kRanks, .check = true}).warnings.empty());
}

}  // namespace
}  // namespace tandem
