// AllReduce + residual + RMSNorm from C++ and from C.
#include "tandem/ops/all_reduce_norm.h"
#include <cmath>
#include <gtest/gtest.h>

extern "C" int allReduceNormFromC(td_session* session, int rank, uint64_t x, uint64_t residual, uint64_t weight,
                                  uint64_t out, int64_t m, int64_t columns);

namespace tandem {
namespace {

constexpr int64_t kRows = 3, kColumns = 10;

TEST(AllReduceNorm, FromCppAndC) {
  auto main = [](Team& team) {
    auto tensor = [&](std::vector<int64_t> shape) { return team.localZeros(shape, DType::Float32); };
    Tensor x = tensor({kRows, kColumns}), residual = tensor({kRows, kColumns}), out = tensor({kRows, kColumns});
    Tensor weight = tensor({kColumns});
    for (int64_t i = 0; i < kColumns; ++i) weight.data<float>()[i] = float(i);
    for (int64_t i = 0; i < kRows * kColumns; ++i) x.data<float>()[i] = float(team.rank() + 1);
    // All elements of the new residual are alike.
    auto expect = [&](float sum, float eps) {
      team.synchronize();
      for (int64_t i = 0; i < kRows * kColumns; ++i) {
        ASSERT_EQ(residual.data<float>()[i], sum);
        ASSERT_NEAR(out.data<float>()[i], sum / std::sqrt(sum * sum + eps) * float(i % kColumns), 1e-5);
      }
    };
    ops::AllReduceNorm op(team, kRows, kColumns, DType::Float32, {.eps = 2});
    op.run(x, residual, weight, out);
    expect(6, 2);
    op.close();
    EXPECT_EQ(allReduceNormFromC(team.session(), team.rank(), x.address, residual.address, weight.address, out.address,
                                 kRows, kColumns),
              0)
        << td_last_error();
    expect(12, 0.5F);
  };
  EXPECT_TRUE(launch(main, {.ranks = 3, .check = true}).warnings.empty());
}

}  // namespace
}  // namespace tandem
