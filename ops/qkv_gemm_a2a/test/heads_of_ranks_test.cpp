// Projections before and behind an attention whose heads are dealt to ranks, from C++ and from C, and what their models say.
#include "tandem/ops/a2a_o_gemm.h"
#include "tandem/ops/qkv_gemm_a2a.h"
#include <gtest/gtest.h>

extern "C" int headsFromC(td_session* session, int rank, uint64_t x, uint64_t w, uint64_t kv, uint64_t q, uint64_t wo,
                          uint64_t out, int64_t rows);

namespace tandem {
namespace {

constexpr int64_t kRows = 5, kD = 16, kColumns = 16;
constexpr int kRanks = 2;
constexpr uint16_t kOne = 0x3C00, k16 = 0x4C00, k512 = 0x6000;  // of fp16

// Two heads of queries share one of keys, which both ranks have.
TEST(HeadsOfRanks, FromCppAndC) {
  auto main = [](Team& team) {
    int64_t own = ops::rowsOfRank(kRows, kRanks, team.rank());
    auto ones = [&](std::vector<int64_t> shape) {
      Tensor t = team.localZeros(shape, DType::Float16);
      for (int64_t i = 0; i < t.size(); ++i) t.data<uint16_t>()[i] = kOne;
      return t;
    };
    Tensor x = ones({own, kColumns}), w = ones({4 * kD, kColumns}), wo = ones({kColumns, 2 * kD});
    Tensor q = team.localZeros({kRows, 1, kD}, DType::Float16), kv = team.localZeros({2, kRows, 1, kD}, DType::Float16);
    Tensor out = team.localZeros({own, kColumns}, DType::Float16);
    auto expect = [&] {
      for (const Tensor& t : {q, kv})
        for (int64_t i = 0; i < t.size(); ++i) ASSERT_EQ(t.data<uint16_t>()[i], k16);
      for (int64_t i = 0; i < out.size(); ++i) ASSERT_EQ(out.data<uint16_t>()[i], k512);
    };
    ops::QkvGemmAllToAll before(team, kRows, kColumns, 2, 1, kD, DType::Float16);
    ops::AllToAllOutGemm behind(team, kRows, kColumns, 2, 1, kD, DType::Float16);
    before.run(x, w, q, kv, kRows);
    behind.run(q, wo, out, kRows);
    team.synchronize();
    expect();
    for (const Tensor& t : {q, kv, out}) team.fill(t, 0);
    EXPECT_EQ(headsFromC(team.session(), team.rank(), x.address, w.address, kv.address, q.address, wo.address,
                         out.address, kRows),
              0)
        << td_last_error();
    team.synchronize();
    expect();
  };
  EXPECT_TRUE(launch(main, {.ranks = kRanks, .check = true}).warnings.empty());
}

}  // namespace
}  // namespace tandem
