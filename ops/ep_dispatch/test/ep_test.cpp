// EpDispatch and EpCombine from C++, with unequal numbers of tokens.
#include "tandem/ops/ep_combine.h"
#include "tandem/ops/ep_dispatch.h"
#include <gtest/gtest.h>

namespace tandem {
namespace {

constexpr int64_t kMost = 2, kColumns = 5;

// Rank r has expert r, which multiplies by r + 2; every token goes to the other rank's.
TEST(ExpertParallel, FromCpp) {
  auto main = [](Team& team) {
    int64_t rank = team.rank(), other = 1 - rank, m = rank, came = other;  // rank 0 has no token, rank 1 has one
    Tensor x = team.localZeros({m, kColumns}, DType::Float32), out = team.localZeros({m, kColumns}, DType::Float32);
    Tensor ids = team.localZeros({m, 1}, DType::Int32), weights = team.localZeros({m, 1}, DType::Float32);
    for (int64_t i = 0; i < m * kColumns; ++i) x.data<float>()[i] = float(10 + i);
    for (int64_t i = 0; i < m; ++i) ids.data<int>()[i] = int(other), weights.data<float>()[i] = 0.5f;
    Tensor rows = team.localZeros({2 * kMost, kColumns}, DType::Float32);
    Tensor h = team.localZeros({2 * kMost, kColumns}, DType::Float32);
    Tensor route = team.localZeros({64 + 10 + 4 * 2 * kMost}, DType::Int32);
    ops::EpDispatch dispatch(team, kMost, kColumns, 2, 1, DType::Float32);
    ops::EpCombine combine(team, kMost, kColumns, 2, 1, DType::Float32);
    dispatch.run(x, ids, weights, route, rows, m);
    team.synchronize();
    EXPECT_EQ(route.data<int>()[64 + 1], came);  // where expert 0's rows end
    for (int64_t i = 0; i < came * kColumns; ++i) {
      ASSERT_EQ(rows.data<float>()[other * kMost * kColumns + i], float(10 + i));
      h.data<float>()[i] = float(10 + i) * float(rank + 2);
    }
    combine.run(h, route, ids, out, m, 0, ops::ExchangeHalf::Send);
    EXPECT_THROW(combine.run(h, route, ids, out, m), Error);
    combine.run(h, route, ids, out, m, 0, ops::ExchangeHalf::Receive);
    team.synchronize();
    for (int64_t i = 0; i < m * kColumns; ++i) ASSERT_EQ(out.data<float>()[i], float(10 + i) * float(other + 2) / 2);
    dispatch.close();
    combine.close();
  };
  EXPECT_TRUE(launch(main, {.ranks = 2, .check = true}).warnings.empty());
}

}  // namespace
}  // namespace tandem
