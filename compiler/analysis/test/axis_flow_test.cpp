// Loops and branches: a fact of a loop-carried value holds of the first value and of every next one.
#include "compiler/analysis/test/axis_check.h"

namespace tandem::analysis::test {

// Makes a loop that carries a tile of pointers by `step` elements; returns the facts of the pointers inside.
static std::string carriedPointer(const std::string& step) {
  return known(R"(%ps = tile.splat %p : !tile.ptr<f16> -> tensor<128x!tile.ptr<f16>>
    %first = tile.addptr %ps, %offs : tensor<128x!tile.ptr<f16>>, tensor<128xi32>
    %last = scf.for %i = %c0 to %x step %c1 iter_args(%at = %first) -> (tensor<128x!tile.ptr<f16>>) : i32 {
      %zero = arith.constant dense<0> : tensor<128xi32>
      %same = tile.addptr %at, %zero {name = "r"} : tensor<128x!tile.ptr<f16>>, tensor<128xi32>
      %next = tile.addptr %at, )" +
               step + R"( : tensor<128x!tile.ptr<f16>>, tensor<128xi32>
      scf.yield %next : tensor<128x!tile.ptr<f16>>
    })");
}

TEST(AxisFlow, LoopCarriedPointersKeepWhatTheStepKeeps) {
  EXPECT_EQ(carriedPointer("%ms"), "c128 d16 k1");
  EXPECT_EQ(carriedPointer("%c16s"), "c128 d16 k1");
  EXPECT_EQ(carriedPointer("%xs"), "c128 d2 k1");
  EXPECT_EQ(carriedPointer("%offs"), "c1 d2 k1");
}

TEST(AxisFlow, InductionVariable) {
  const std::string loop = "scf.for %i = ";
  const std::string body = R"( : i32 { %r = arith.addi %i, %c0 {name = "r"} : i32 })";
  EXPECT_EQ(known(loop + "%c0 to %x step %c128" + body), "c1 d128 k1");
  EXPECT_EQ(known(loop + "%m to %x step %c128" + body), "c1 d16 k1");
  EXPECT_EQ(known(loop + "%c1 to %x step %c128" + body), "c1 d1 k1");
}

TEST(AxisFlow, AValueThatOnlySwapsSettles) {
  EXPECT_EQ(known(R"(%a, %b = scf.for %i = %c0 to %x step %c1 iter_args(%l = %c128, %r = %m) -> (i32, i32) : i32 {
      %s = arith.addi %l, %r {name = "r"} : i32
      scf.yield %r, %l : i32, i32
    })"),
            "c1 d16 k1");
}

TEST(AxisFlow, ConstantsCarriedUnchangedStayConstant) {
  EXPECT_EQ(known(R"(%a = scf.for %i = %c0 to %x step %c1 iter_args(%l = %c128) -> (i32) : i32 { scf.yield %l : i32 }
                     %r = arith.addi %a, %c1 {name = "r"} : i32)"),
            "c1 d1 k1 = 129");
  EXPECT_EQ(known(R"(%a = scf.for %i = %c0 to %x step %c1 iter_args(%l = %c128) -> (i32) : i32 {
                       %n = arith.addi %l, %c1 : i32
                       scf.yield %n : i32
                     }
                     %r = arith.addi %a, %c1 {name = "r"} : i32)"),
            "c1 d1 k1");
}

TEST(AxisFlow, Branches) {
  EXPECT_EQ(
      known(
          R"(%a = scf.if %flag -> (tensor<128xi32>) { scf.yield %offs : tensor<128xi32> } else { scf.yield %range : tensor<128xi32> }
                     %r = arith.addi %a, %ms {name = "r"} : tensor<128xi32>)"),
      "c128 d16 k1");
  EXPECT_EQ(
      known(
          R"(%a = scf.if %flag -> (tensor<128xi32>) { scf.yield %offs : tensor<128xi32> } else { scf.yield %ms : tensor<128xi32> }
                     %r = arith.addi %a, %ms {name = "r"} : tensor<128xi32>)"),
      "c1 d1 k1");
}

TEST(AxisFlow, While) {
  EXPECT_EQ(known(R"(%a = scf.while (%l = %c128) : (i32) -> i32 {
                       %go = arith.cmpi slt, %l, %x : i32
                       scf.condition(%go) %l : i32
                     } do {
                     ^body(%l: i32):
                       %n = arith.addi %l, %m : i32
                       scf.yield %n : i32
                     }
                     %r = arith.addi %a, %c0 {name = "r"} : i32)"),
            "c1 d16 k1");
}

TEST(AxisFlow, LoadedValuesAreUnknownAlsoWhenCarried) {
  EXPECT_EQ(known(R"(%q = tile.int_to_ptr %wide : i64 -> !tile.ptr<i32>
                     %a = scf.for %i = %c0 to %x step %c1 iter_args(%l = %c128) -> (i32) : i32 {
                       %n = tile.load %q : !tile.ptr<i32> -> i32
                       scf.yield %n : i32
                     }
                     %r = arith.addi %a, %c0 {name = "r"} : i32)"),
            "c1 d1 k1");
}

TEST(AxisFlow, ArgumentsOfOtherRegionsAreUnknown) {
  EXPECT_EQ(known(R"(%sum = "tile.reduce"(%c16s) <{axis = 0 : i32}> ({
                       ^bb0(%l: i32, %n: i32):
                         %s = arith.addi %l, %n {name = "r"} : i32
                         tile.yield %s : i32
                     }) : (tensor<128xi32>) -> i32)"),
            "c1 d1 k1");
}

TEST(AxisFlow, ValuesMadeLaterAreUnknown) {
  Kernel kernel(wrapped(""));
  AxisInfoAnalysis axes(kernel.function());
  mlir::OpBuilder builder(&kernel.function().front(), kernel.function().front().begin());
  mlir::Value late = mlir::arith::ConstantIntOp::create(builder, builder.getUnknownLoc(), 64, 32);
  EXPECT_EQ(text(axes.of(late)), "c1 d1 k1");
  EXPECT_EQ(text(axes.of(kernel.argument(1))), "c1 d16 k1");
}

}  // namespace tandem::analysis::test
