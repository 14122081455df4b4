// EpDispatch and EpCombine from C++, with unequal numbers of tokens.
#include "tandem/ops/ep_combine.h"
#include "tandem/ops/ep_dispatch.h"
#include <gtest/gtest.h>

extern "C" {
int dispatchFromC(td_session* session, int rank, const uint64_t* tensors, int64_t m, const int64_t* sizes);
int combineFromC(td_session* session, int rank, const uint64_t* tensors, int64_t m, const int64_t* sizes);
}

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
    Tensor route = team.localZeros({64 + 18 + 4 * 2 * kMost}, DType::Int32);
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

// Expert 0 is rank 1's and expert 1 rank 0's, by a table; each rank's token goes to the expert of its rank's number.
TEST(ExpertParallel, PlacedFromCppAndC) {
  auto main = [](Team& team) {
    int64_t rank = team.rank(), other = 1 - rank;
    auto floats = [&](std::vector<int64_t> shape) { return team.localZeros(shape, DType::Float32); };
    auto words = [&](std::vector<int64_t> shape) { return team.localZeros(shape, DType::Int32); };
    Tensor x = floats({1, kColumns}), out = floats({1, kColumns}), weights = floats({1, 1});
    Tensor rows = floats({2 * kMost, kColumns}), h = floats({2 * kMost, kColumns});
    Tensor ids = words({1, 1}), placement = words({2, 1}), route = words({64 + 18 + 4 * 2 * kMost});
    for (int64_t i = 0; i < kColumns; ++i) x.data<float>()[i] = float(10 * rank + i);
    ids.data<int>()[0] = int(rank), weights.data<float>()[0] = 2, placement.data<int>()[0] = 1;
    auto check = [&](const auto& dispatch, const auto& combine) {
      dispatch();
      team.synchronize();
      EXPECT_EQ(route.data<int>()[64 + 1], 1);
      for (int64_t i = 0; i < kColumns; ++i) {
        ASSERT_EQ(rows.data<float>()[other * kMost * kColumns + i], float(10 * other + i));
        h.data<float>()[i] = 3 * float(10 * other + i);
      }
      combine();
      team.synchronize();
      for (int64_t i = 0; i < kColumns; ++i) ASSERT_EQ(out.data<float>()[i], 6 * float(10 * rank + i));
    };
    ops::EpDispatchConfig config;
    config.placedExperts = 2, config.copies = 1;
    ops::EpDispatch dispatch(team, kMost, kColumns, 2, 1, DType::Float32, config);
    ops::EpCombineConfig back;
    back.placedExperts = 2, back.copies = 1;
    ops::EpCombine combine(team, kMost, kColumns, 2, 1, DType::Float32, back);
    auto both = ops::ExchangeHalf::Both;
    check([&] { dispatch.run(x, ids, weights, route, rows, 1, 0, {}, both, placement); },
          [&] { combine.run(h, route, ids, out, 1, 0, both, placement); });
    dispatch.close();
    combine.close();
    const int64_t sizes[] = {kMost, kColumns, 2, 1};
    const uint64_t sent[] = {x.address, ids.address, weights.address, placement.address, route.address, rows.address};
    const uint64_t returned[] = {h.address, route.address, ids.address, placement.address, out.address};
    check([&] { EXPECT_EQ(dispatchFromC(team.session(), int(rank), sent, 1, sizes), 0) << td_last_error(); },
          [&] { EXPECT_EQ(combineFromC(team.session(), int(rank), returned, 1, sizes), 0) << td_last_error(); });
  };
  EXPECT_TRUE(launch(main, {.ranks = 2, .check = true}).warnings.empty());
}

}  // namespace
}  // namespace tandem
