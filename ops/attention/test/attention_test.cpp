// Attention and its gradients from C++ and from C.
#include "tandem/ops/attention.h"
#include "tandem/ops/attention_backward.h"
#include <cmath>
#include <gtest/gtest.h>

extern "C" int attentionFromC(td_session* session, int rank, uint64_t q, uint64_t k, uint64_t v, uint64_t out,
                              uint64_t lse, uint64_t ofV, int64_t rows);

namespace tandem {
namespace {

constexpr int64_t kRows = 4, kD = 64;
constexpr uint16_t kOne = 0x3C00, kQuarter = 0x3400;  // of fp16

TEST(Attention, FromCppAndC) {
  auto main = [](Team& team) {
    auto zeros = [&] { return team.localZeros({kRows, 1, kD}, DType::Float16); };
    Tensor q = zeros(), v = zeros(), out = zeros(), ofQ = zeros(), ofK = zeros(), ofV = zeros();
    Tensor lse = team.localZeros({1, kRows}, DType::Float32);
    // Queries are alike for all keys. The first value is 1, the others 0, so results are a quarter.
    for (int64_t i = 0; i < kD; ++i) v.data<uint16_t>()[i] = kOne;
    ops::AttentionForwardConfig forward;
    forward.withLse = true;
    ops::Attention op(team, kRows, 1, 1, kD, kD, DType::Float16, forward);
    ops::AttentionMore more;
    more.lse = lse;
    op.run(q, q, v, out, kRows, kRows, 1, kRows, 0, more);
    ops::AttentionBackwardConfig config;
    config.wantsQ = config.wantsK = true;
    ops::AttentionBackward back(team, kRows, 1, 1, kD, kD, DType::Float16, config);
    ops::AttentionBackwardMore grads;
    grads.ofQ = ofQ;
    grads.ofK = ofK;
    back.run(q, q, v, out, lse, v, ofV, kRows, kRows, 1, kRows, 0, grads);
    team.synchronize();
    auto expectQuarters = [&] {
      for (int64_t i = 0; i < kRows * kD; ++i) {
        ASSERT_EQ(out.data<uint16_t>()[i], kQuarter);
        ASSERT_EQ(ofV.data<uint16_t>()[i], kQuarter);
      }
    };
    expectQuarters();
    EXPECT_FLOAT_EQ(lse.data<float>()[0], std::log(float(kRows)));
    team.fill(out, 0);
    team.fill(ofV, 0);
    EXPECT_EQ(attentionFromC(team.session(), team.rank(), q.address, q.address, v.address, out.address, lse.address,
                             ofV.address, kRows),
              0)
        << td_last_error();
    team.synchronize();
    expectQuarters();
  };
  EXPECT_TRUE(launch(main, {.ranks = 1, .check = true}).warnings.empty());
}

}  // namespace
}  // namespace tandem
