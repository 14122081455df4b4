// DispatchMoe and MoeCombine from C++ and C, with unequal numbers of tokens.
#include "tandem/ops/dispatch_moe.h"
#include "tandem/ops/moe_combine.h"
#include <gtest/gtest.h>

extern "C" int expertsFromC(td_session* session, int rank, const uint64_t* tensors, int64_t m, const int64_t* sizes);

namespace tandem {
namespace {

constexpr int64_t kMost = 2, kColumns = 5, kInner = 3;

// Rank r has expert r, whose matrices are of r + 2 and of ones; every token goes to both ranks.
TEST(FusedExperts, FromCppAndC) {
  auto main = [](Team& team) {
    int64_t rank = team.rank(), m = rank + 1, slots = 2 * kMost * 2;
    auto filled = [&](std::vector<int64_t> shape, float value) {
      Tensor t = team.localZeros(shape, DType::Float32);
      for (int64_t i = 0; i < t.size(); ++i) t.data<float>()[i] = value;
      return t;
    };
    Tensor x = filled({m, kColumns}, float(rank + 1)), weights = filled({m, 2}, 0.5f), out = filled({m, kColumns}, 0);
    Tensor up = filled({1, kInner, kColumns}, float(rank + 2)), down = filled({1, kColumns, kInner}, 1);
    Tensor h = filled({slots, kInner}, 0), ids = team.localZeros({m, 2}, DType::Int32);
    Tensor route = team.localZeros({64 + 18 + 4 * slots}, DType::Int32);
    for (int64_t i = 0; i < 2 * m; ++i) ids.data<int>()[i] = int(i % 2);
    auto check = [&](const char* from) {
      team.synchronize();
      for (int64_t i = 0; i < out.size(); ++i) {
        ASSERT_EQ(out.data<float>()[i], 0.5f * float(kInner * kColumns * (rank + 1) * (2 + 3))) << from;
        out.data<float>()[i] = 0;
      }
    };
    ops::DispatchMoe first(team, kMost, kInner, kColumns, 2, 2, DType::Float32);
    ops::MoeCombine second(team, kMost, kColumns, kInner, 2, 2, DType::Float32);
    first.run(x, ids, weights, up, route, h, m);
    second.run(h, down, route, out, m);
    check("C++");
    first.close();
    second.close();
    const int64_t sizes[] = {kMost, kInner, kColumns, 2, 2};
    const uint64_t tensors[] = {x.address,    ids.address,   weights.address, up.address,
                                down.address, route.address, h.address,       out.address};
    ASSERT_EQ(expertsFromC(team.session(), int(rank), tensors, m, sizes), 0) << td_last_error();
    check("C");
  };
  EXPECT_TRUE(launch(main, {.ranks = 2, .check = true}).warnings.empty());
}

}  // namespace
}  // namespace tandem
