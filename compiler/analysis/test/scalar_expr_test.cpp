// These tests cover sums of products: terms that cancel, divisors, and the ops that compute them again.
#include "compiler/analysis/test/strides_check.h"

namespace tandem::analysis::test {

class ScalarExprTest : public ::testing::Test {
 protected:
  Kernel kernel_{R"(func.func @k(%a: i32 {tile.name = "a"}, %b: i32 {tile.name = "b"}, %w: i64 {tile.name = "w"}) {
      %c2 = arith.constant 2 : i32
      %pid = tile.program_id 0 {name = "pid"}
      %sum = arith.addi %a, %b : i32
      %square = arith.muli %sum, %sum {name = "square"} : i32
      %wide = arith.extsi %square : i32 to i64
      %both = arith.addi %wide, %w {name = "both"} : i64
      %bits = arith.trunci %w {name = "bits"} : i64 to i32
      %left = arith.shli %pid, %c2 {name = "left"} : i32
      %c3 = arith.constant 3 : i32
      %third = arith.divsi %pid, %c3 : i32
      %whole = arith.muli %third, %c3 {name = "whole"} : i32
      %thirdOfA = arith.divsi %a, %c3 : i32
      %wholeOfA = arith.muli %thirdOfA, %c3 {name = "wholeOfA"} : i32
      return
    })"};
  ScalarExpr of(const std::string& name) { return ScalarExpr::of(kernel_.value(name)); }
  ScalarExpr a_ = ScalarExpr::of(kernel_.argument(0)), b_ = ScalarExpr::of(kernel_.argument(1));
};

TEST_F(ScalarExprTest, MultipliesOut) {
  EXPECT_EQ(text(of("square")), "2*a*b + a*a + b*b");
  EXPECT_EQ(text(of("both")), "2*a*b + a*a + b*b + w");
  EXPECT_EQ(text(of("bits")), "bits");
  EXPECT_EQ(text(of("left")), "4*pid");
}

TEST_F(ScalarExprTest, EqualsAndCancels) {
  EXPECT_EQ(a_ * b_ + b_, b_ + b_ * a_);
  EXPECT_TRUE((a_ * b_ - b_ * a_).isZero());
  EXPECT_EQ((a_ + 3 - a_).constant(), 3);
  EXPECT_EQ((a_ - a_).constant(), 0);
  EXPECT_FALSE(a_.constant());
  EXPECT_FALSE(a_ == b_);
}

TEST_F(ScalarExprTest, Divides) {
  EXPECT_EQ(text(*(ScalarExpr(6) * a_ * b_ + ScalarExpr(4) * b_).dividedBy(ScalarExpr(2) * b_)), "2 + 3*a");
  EXPECT_FALSE((a_ * b_ + 1).dividedBy(b_));
  EXPECT_FALSE((ScalarExpr(3) * b_).dividedBy(2));
  EXPECT_FALSE(a_.dividedBy(0));
  EXPECT_FALSE((a_ + b_).dividedBy(a_ + b_));
  EXPECT_EQ(ScalarExpr(INT64_MIN).dividedBy(-1)->constant(), INT64_MIN);
}

TEST_F(ScalarExprTest, Questions) {
  AxisInfoAnalysis axes(kernel_.function());
  EXPECT_TRUE((a_ * b_ + 1).isOfArguments());
  EXPECT_FALSE((a_ + of("left")).isOfArguments());
  EXPECT_TRUE(of("left").isNonNegative(axes));
  EXPECT_FALSE((ScalarExpr(-1) * of("left")).isNonNegative(axes));
  EXPECT_FALSE(a_.isNonNegative(axes));
  ScalarExpr pid = of("pid");
  EXPECT_TRUE((pid - of("whole")).isNonNegative(axes));  // a remainder
  EXPECT_TRUE((ScalarExpr(32) + pid - of("whole")).isNonNegative(axes));
  EXPECT_FALSE((of("left") - of("whole") - pid - pid - pid - pid).isNonNegative(axes));
  EXPECT_FALSE((a_ - of("wholeOfA")).isNonNegative(axes));
}

TEST_F(ScalarExprTest, BuildsWhatItReads) {
  mlir::OpBuilder builder(kernel_.function().front().getTerminator());
  for (mlir::Type type :
       {mlir::Type(builder.getI64Type()), mlir::Type(builder.getI32Type()), mlir::Type(builder.getIndexType())})
    for (const ScalarExpr& e : {of("square") - ScalarExpr(5) * of("left"), ScalarExpr(), ScalarExpr(-7), a_}) {
      mlir::Value built = e.build(builder, builder.getUnknownLoc(), type);
      EXPECT_EQ(built.getType(), type);
      EXPECT_EQ(text(ScalarExpr::of(built)), text(e));
    }
  EXPECT_TRUE(mlir::succeeded(kernel_.function().verify()));
}

}  // namespace tandem::analysis::test
