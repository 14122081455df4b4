// Operators of the C++ API: what they refuse.
#include "api/test/program.h"
#include "tandem/ops.h"
#include <gtest/gtest.h>

namespace tandem {
namespace {

TEST(Ops, ClosedOnesSaySo) {
  constexpr DType kType = DType::Float32;
  auto words = [](const std::function<void(Team&, const Tensor& full, const Tensor& part)>& main) {
    return std::string(thrownBy<Error>([&](Team& team) {
                         main(team, team.localZeros({8, 4}, kType), team.localZeros({4, 4}, kType));
                       }).what());
  };
  auto closed = [](auto& op) {
    op.close();
    op.close();
  };
  EXPECT_EQ(words([&](Team& team, const Tensor& full, const Tensor&) {
              ops::AllReduce op(team, 32, kType);
              closed(op);
              op.run(full, full);
            }),
            "`all_reduce` is closed");
  EXPECT_EQ(words([&](Team& team, const Tensor& full, const Tensor& part) {
              ops::ReduceScatter op(team, 8, 4, kType);
              closed(op);
              op.run(full, part, 8);
            }),
            "`reduce_scatter` is closed");
  EXPECT_EQ(words([&](Team& team, const Tensor& full, const Tensor& part) {
              ops::AllGather op(team, 8, 4, kType);
              closed(op);
              op.run(part, full, 8);
            }),
            "`all_gather` is closed");
  EXPECT_EQ(words([&](Team& team, const Tensor& full, const Tensor& part) {
              ops::GemmAllReduce op(team, 8, 4, 4, kType);
              closed(op);
              op.run(full, part, full, 8);
            }),
            "`gemm_ar` is closed");
  EXPECT_EQ(words([&](Team& team, const Tensor& full, const Tensor& part) {
              ops::AllGatherGemm op(team, 8, 4, 4, kType);
              closed(op);
              op.run(part, part, full, 8);
            }),
            "`ag_gemm` is closed");
  EXPECT_EQ(words([&](Team& team, const Tensor& full, const Tensor& part) {
              ops::GemmReduceScatter op(team, 8, 4, 4, kType);
              closed(op);
              op.run(full, part, part, 8);
            }),
            "`gemm_rs` is closed");
}

TEST(Ops, SizesThatNobodyHas) {
  auto words = [](const std::function<void(Team&)>& main) { return std::string(thrownBy<Error>(main).what()); };
  constexpr int64_t kLarge = int64_t(1) << 40;
  EXPECT_EQ(words([](Team& team) { ops::AllReduce(team, kLarge, DType::Float32); }),
            "`all_reduce`: 1099511627776 times 1 elements of fp32 are more than 2**40 bytes");
  EXPECT_EQ(words([](Team& team) { ops::ReduceScatter(team, kLarge, kLarge, DType::Float16); }),
            "`reduce_scatter`: 1099511627776 times 1099511627776 elements of fp16 are more than 2**40 bytes");
  EXPECT_EQ(words([](Team& team) { ops::AllGather(team, kLarge, kLarge, DType::Int8); }),
            "`all_gather`: 1099511627776 times 1099511627776 elements of i8 are more than 2**40 bytes");
  EXPECT_EQ(words([](Team& team) { ops::GemmAllReduce(team, kLarge, 16, 16, DType::Float32); }),
            "`gemm_ar`: 1099511627776 times 16 elements of fp32 are more than 2**40 bytes");
  EXPECT_EQ(words([](Team& team) { ops::AllReduce(team, 8, DType::Float32, {.way = ops::AllReduceWay(9)}); }),
            "`all_reduce`: there is no way 9");
}

TEST(Ops, WrongShapesNameBothSizes) {
  auto main = [](Team& team) {
    ops::AllGatherGemm op(team, 8, 4, 4, DType::Float32);
    Tensor wrong = team.localZeros({3, 4}, DType::Float32), c = team.localZeros({8, 4}, DType::Float32);
    op.run(wrong, team.localZeros({4, 4}, DType::Float32), c, 8);
  };
  EXPECT_STREQ(thrownBy<Error>(main).what(), "`ag_gemm`: `a` has shape [3, 4], [4, 4] is needed");
}

TEST(Ops, TensorsThatAreMissing) {
  auto few = [](Team& t) {
    ops::AllReduce op(t, 64, DType::Float32);
    op.call({.tensors = {t.zeros({64}, DType::Float32)}, .numbers = {64, 0}});
  };
  EXPECT_STREQ(thrownBy<Error>(few).what(), "`all_reduce`: 1 tensors given, 2 wanted");
  auto null = [](Team& t) {
    ops::AllReduce op(t, 64, DType::Float32);
    op.callAt({t.zeros({64}, DType::Float32).address, 0}, {64, 0}, 0);
  };
  EXPECT_STREQ(thrownBy<Error>(null).what(), "`all_reduce`: `out` has no address");
}

}  // namespace
}  // namespace tandem
