// The loads and the store of matrix products written with pointer arithmetic.
#include "compiler/analysis/test/strides_check.h"

namespace tandem::analysis::test {

class Matmul : public ::testing::Test {
 protected:
  void open(const std::string& name) {
    kernel_ = std::make_unique<Kernel>(input(name));
    axes_ = std::make_unique<AxisInfoAnalysis>(kernel_->function());
  }
  std::optional<StridedAccess> load(int n) {
    auto op = kernel_->nth<tile::LoadOp>(n);
    return StrideAnalysis(*axes_).of(op.getPointer(), op.getMask());
  }
  std::optional<StridedAccess> store() {
    auto op = kernel_->nth<tile::StoreOp>();
    return StrideAnalysis(*axes_).of(op.getPointer(), op.getMask());
  }
  std::unique_ptr<Kernel> kernel_;
  std::unique_ptr<AxisInfoAnalysis> axes_;
};

// pid_m is `arith.addi` of first_pid_m (8 * a quotient) and a remainder; pid_n is a quotient.
TEST_F(Matmul, StridesOfTheLaunch) {
  open("matmul.mlir");
  EXPECT_EQ(text(load(0)),
            "a_ptr; 128 from 1024*arith.divsi + 128*arith.remsi mod M by stride_am; 64 from 64*iv by stride_ak < K");
  EXPECT_EQ(text(load(1)), "b_ptr; 64 from 64*iv by stride_bk < K; 256 from 256*arith.divsi mod N by stride_bn");
  EXPECT_EQ(
      text(store()),
      "c_ptr; 128 from 1024*arith.divsi + 128*arith.remsi by stride_cm < M; 256 from 256*arith.divsi by stride_cn < N");
}

TEST_F(Matmul, InnermostStridesOfOne) {
  open("matmul_row_major.mlir");
  EXPECT_EQ(text(load(0)),
            "a_ptr; 128 from 1024*arith.divsi + 128*arith.remsi mod M by stride_am; 64 from 64*iv by 1 < K");
  EXPECT_EQ(text(load(1)), "b_ptr; 64 from 64*iv by stride_bk < K; 256 from 256*arith.divsi mod N by 1");
  EXPECT_EQ(text(store()),
            "c_ptr; 128 from 1024*arith.divsi + 128*arith.remsi by stride_cm < M; 256 from 256*arith.divsi by 1 < N");
}

TEST_F(Matmul, ADescriptorCanBeMadeBeforeTheLaunch) {
  for (const char* name : {"matmul.mlir", "matmul_row_major.mlir"}) {
    open(name);
    for (const auto& access : {load(0), load(1), store()}) {
      EXPECT_TRUE(access->baseOffset.isOfArguments() && access->dimsDescribeArguments());
      for (const DimAccess& dim : access->dims) EXPECT_TRUE(dim.nonNegative) << text(access);
    }
  }
}

TEST_F(Matmul, InvariantOffsets) {
  open("matmul.mlir");
  auto loop = kernel_->nth<mlir::scf::ForOp>();
  auto access = load(0);
  EXPECT_TRUE(access->dims[0].offset.isInvariant(loop));
  EXPECT_FALSE(access->dims[1].offset.isInvariant(loop));
}

TEST_F(Matmul, AxisInfoOfTheSameKernel) {
  open("matmul_row_major.mlir");
  tile::setMultipleOf(kernel_->function().getArgument(0), 16);
  for (unsigned argument : {4u, 5u, 6u})  // N, K, stride_am
    tile::setMultipleOf(kernel_->function().getArgument(argument), 16);
  AxisInfoAnalysis axes(kernel_->function());
  auto a = kernel_->nth<tile::LoadOp>(0);
  EXPECT_EQ(axes.of(a.getPointer()).contiguity(1), 64);
  EXPECT_EQ(axes.of(a.getPointer()).divisibility(1), 16);
  EXPECT_EQ(axes.maxVectorElements(a.getPointer(), a.getMask(), 1), 8);
  EXPECT_EQ(axes.maxVectorElements(a.getPointer(), a.getMask(), 0), 1);
}

}  // namespace tandem::analysis::test
