// Arithmetic keeps certain runs, divisors and equal values; these tests say which.
#include "compiler/analysis/test/axis_check.h"

namespace tandem::analysis::test {

static std::string binary(const std::string& op, const std::string& l, const std::string& r) {
  return known("%r = arith." + op + " " + l + ", " + r + " {name = \"r\"} : tensor<128xi32>");
}
static std::string scalar(const std::string& op, const std::string& l, const std::string& r) {
  return known("%r = arith." + op + " " + l + ", " + r + " {name = \"r\"} : i32");
}

TEST(AxisArith, ScalarsAndRanges) {
  EXPECT_EQ(scalar("muli", "%pid", "%c128"), "c1 d128 k1");
  EXPECT_EQ(scalar("addi", "%c128", "%c1"), "c1 d1 k1 = 129");
  EXPECT_EQ(scalar("addi", "%m", "%c128"), "c1 d16 k1");
  EXPECT_EQ(known(R"(%r = tile.make_range 8 to 40 {name = "r"} : tensor<32xi32>)"), "c32 d8 k1");
  EXPECT_EQ(known(R"(%r = arith.constant {name = "r"} dense<48> : tensor<8x4xi32>)"), "c1 d16 k8; c1 d16 k4 = 48");
  EXPECT_EQ(known(R"(%r = arith.constant {name = "r"} dense<[0, 1, 2, 3]> : tensor<4xi32>)"), "c1 d1 k1");
}

TEST(AxisArith, Sums) {
  EXPECT_EQ(binary("addi", "%starts", "%range"), "c128 d128 k1");
  EXPECT_EQ(binary("addi", "%range", "%ms"), "c128 d16 k1");
  EXPECT_EQ(binary("addi", "%range", "%xs"), "c128 d1 k1");
  EXPECT_EQ(binary("addi", "%range", "%range"), "c1 d1 k1");
  EXPECT_EQ(binary("addi", "%starts", "%ms"), "c1 d16 k128");
  EXPECT_EQ(binary("subi", "%range", "%ms"), "c128 d16 k1");
  EXPECT_EQ(binary("subi", "%ms", "%range"), "c1 d1 k1");
}

TEST(AxisArith, Products) {
  EXPECT_EQ(binary("muli", "%range", "%c16s"), "c1 d16 k1");
  EXPECT_EQ(binary("muli", "%starts", "%ms"), "c1 d2048 k128");
  EXPECT_EQ(known(R"(%one = arith.constant dense<1> : tensor<128xi32>
                     %r = arith.muli %offs, %one {name = "r"} : tensor<128xi32>)"),
            "c128 d128 k1");
  EXPECT_EQ(known(R"(%four = arith.constant dense<4> : tensor<128xi32>
                     %r = arith.shli %range, %four {name = "r"} : tensor<128xi32>)"),
            "c1 d16 k1");
  EXPECT_EQ(scalar("shli", "%m", "%x"), "c1 d16 k1");
}

TEST(AxisArith, RemainderKeepsRunsTheModulusDoesNotCut) {
  EXPECT_EQ(binary("remsi", "%offs", "%ms"), "c16 d16 k1");
  EXPECT_EQ(binary("remsi", "%offs", "%xs"), "c1 d1 k1");
  EXPECT_EQ(binary("remsi", "%range", "%c16s"), "c16 d16 k1");
  EXPECT_EQ(binary("remui", "%offs", "%ms"), "c16 d16 k1");
  EXPECT_EQ(scalar("remsi", "%x", "%c1"), scalar("subi", "%c1", "%c1"));  // zero, whatever is divided
  EXPECT_EQ(scalar("remui", "%m", "%c1"), scalar("subi", "%c1", "%c1"));
}

// -16 .. -1 modulo 16 is 0, -15, .., -1, and divided by 16 is -1, 0, .., 0.
TEST(AxisArith, NothingIsKnownOfRunsThatMayBeNegative) {
  const std::string negative = "%below = arith.subi %range, %c16s : tensor<128xi32>\n";
  EXPECT_EQ(known(negative + R"(%r = arith.remsi %below, %c16s {name = "r"} : tensor<128xi32>)"), "c1 d1 k1");
  EXPECT_EQ(known(negative + R"(%r = arith.divsi %below, %c16s {name = "r"} : tensor<128xi32>)"), "c1 d1 k1");
  EXPECT_EQ(known(negative + R"(%r = arith.floordivsi %below, %c16s {name = "r"} : tensor<128xi32>)"), "c1 d1 k16");
}

TEST(AxisArith, Quotients) {
  EXPECT_EQ(binary("divsi", "%offs", "%c16s"), "c1 d1 k16");
  EXPECT_EQ(binary("divsi", "%offs", "%xs"), "c1 d1 k1");
  EXPECT_EQ(binary("divsi", "%offs", "%ms"), "c1 d1 k16");
  EXPECT_EQ(binary("divsi", "%starts", "%c16s"), "c1 d8 k128");
  EXPECT_EQ(scalar("divsi", "%start", "%c128"), "c1 d1 k1");
  EXPECT_EQ(known(R"(%whole = arith.constant dense<128> : tensor<128xi32>
                     %r = arith.divsi %offs, %whole {name = "r"} : tensor<128xi32>)"),
            "c1 d1 k128");
  EXPECT_EQ(known(R"(%three = arith.constant dense<3> : tensor<128xi32>
                     %r = arith.divsi %offs, %three {name = "r"} : tensor<128xi32>)"),
            "c1 d1 k1");
}

TEST(AxisArith, ExactQuotientsKeepTheRestOfTheDivisor) {
  EXPECT_EQ(known("%c4 = arith.constant 4 : i32\n%r = arith.divsi %m, %c4 {name = \"r\"} : i32"), "c1 d4 k1");
  EXPECT_EQ(known("%c12 = arith.constant 12 : i32\n%r = arith.divsi %m, %c12 {name = \"r\"} : i32"), "c1 d1 k1");
  EXPECT_EQ(known("%c2 = arith.constant 2 : i32\n%r = arith.shrsi %m, %c2 {name = \"r\"} : i32"), "c1 d4 k1");
  EXPECT_EQ(scalar("divsi", "%c128", "%c0"), "c1 d1 k1");
}

TEST(AxisArith, Bits) {
  EXPECT_EQ(known(R"(%low = arith.constant dense<15> : tensor<128xi32>
                     %r = arith.andi %offs, %low {name = "r"} : tensor<128xi32>)"),
            "c16 d16 k1");
  EXPECT_EQ(known(R"(%high = arith.constant dense<-16> : tensor<128xi32>
                     %r = arith.andi %offs, %high {name = "r"} : tensor<128xi32>)"),
            "c1 d16 k16");
  EXPECT_EQ(known(R"(%four = arith.constant dense<4> : tensor<128xi32>
                     %r = arith.shrui %offs, %four {name = "r"} : tensor<128xi32>)"),
            "c1 d1 k16");
  EXPECT_EQ(binary("ori", "%starts", "%ms"), "c1 d16 k128");
  EXPECT_EQ(binary("xori", "%range", "%ms"), "c1 d1 k1");
}

TEST(AxisArith, Extremes) {
  EXPECT_EQ(binary("minsi", "%starts", "%ms"), "c1 d16 k128");
  EXPECT_EQ(binary("maxui", "%range", "%ms"), "c1 d1 k1");
  EXPECT_TRUE(infoOf(R"(%r = arith.maxsi %x, %c0 {name = "r"} : i32)").nonNegative);
  EXPECT_FALSE(infoOf(R"(%r = arith.minsi %x, %c0 {name = "r"} : i32)").nonNegative);
}

TEST(AxisArith, WhatAWholeMultipleLeavesHasTheSign) {
  auto left = [](const std::string& value, const std::string& factor) {
    return infoOf("%c48 = arith.constant 48 : i32\n%c32 = arith.constant 32 : i32\n%q = arith.divsi " + value +
                  ", %c48 : i32\n%w = arith.muli " + factor + ", %q : i32\n%r = arith.subi " + value +
                  ", %w {name = \"r\"} : i32")
        .nonNegative;
  };
  EXPECT_TRUE(left("%pid", "%c48"));
  EXPECT_FALSE(left("%pid", "%c32"));
  EXPECT_FALSE(left("%x", "%c48"));
}

TEST(AxisArith, PromisesOfASign) {
  auto promised = [](const std::string& compare, const std::string& value = "%x") {
    return infoOf("%n1 = arith.constant -1 : i32\n%holds = arith.cmpi " + compare +
                  " : i32\ntile.assume %holds\n%r = arith.addi " + value + ", %c1 {name = \"r\"} : i32")
        .nonNegative;
  };
  EXPECT_TRUE(promised("sge, %x, %c0"));
  EXPECT_TRUE(promised("sgt, %x, %n1"));
  EXPECT_TRUE(promised("sle, %c1, %x"));
  EXPECT_TRUE(promised("slt, %c0, %x"));
  EXPECT_FALSE(promised("sge, %x, %n1"));
  EXPECT_FALSE(promised("sle, %x, %c1"));
  EXPECT_FALSE(promised("ne, %x, %c0"));
  EXPECT_FALSE(promised("sge, %c1, %x"));
  EXPECT_FALSE(promised("sge, %x, %c0", "%m"));
  // An assumption in a block that may not run says nothing of the value elsewhere.
  EXPECT_FALSE(infoOf(R"(%holds = arith.cmpi sge, %x, %c0 : i32
                         %q = arith.cmpi eq, %pid, %c0 : i32
                         scf.if %q { tile.assume %holds }
                         %r = arith.addi %x, %c1 {name = "r"} : i32)")
                   .nonNegative);
}

TEST(AxisArith, DivisorsAreSizes) {
  auto product = [](const std::string& before) {
    return infoOf(before + "\n%r = arith.muli %pid, %x {name = \"r\"} : i32").nonNegative;
  };
  EXPECT_TRUE(product("%q = arith.divsi %pid, %x : i32"));
  EXPECT_TRUE(product("%s = tile.splat %x : i32 -> tensor<128xi32>\n%q = arith.remsi %range, %s : tensor<128xi32>"));
  EXPECT_TRUE(product("scf.for %i = %c0 to %m step %c1 : i32 { %d = arith.divsi %i, %x : i32 }"));
  EXPECT_FALSE(product("%q = arith.divsi %x, %m : i32"));
  EXPECT_FALSE(product("%q = arith.cmpi eq, %pid, %c0 : i32\nscf.if %q { %d = arith.divsi %pid, %x : i32 }"));
}

TEST(AxisArith, MasksOfTheLastTile) {
  auto mask = [](const std::string& compare) {
    return known("%r = arith.cmpi " + compare + " {name = \"r\"} : tensor<128xi32>");
  };
  EXPECT_EQ(mask("slt, %offs, %ms"), "c1 d1 k16");
  EXPECT_EQ(mask("ult, %offs, %ms"), "c1 d1 k16");
  EXPECT_EQ(mask("sge, %offs, %ms"), "c1 d1 k16");
  EXPECT_EQ(mask("sgt, %ms, %offs"), "c1 d1 k16");
  EXPECT_EQ(mask("sgt, %offs, %ms"), "c1 d1 k1");
  EXPECT_EQ(mask("sle, %offs, %ms"), "c1 d1 k1");
  EXPECT_EQ(mask("slt, %ms, %offs"), "c1 d1 k1");
  EXPECT_EQ(mask("eq, %offs, %ms"), "c1 d1 k1");
  EXPECT_EQ(mask("slt, %offs, %xs"), "c1 d1 k1");
  EXPECT_EQ(mask("slt, %starts, %xs"), "c1 d1 k128");
  EXPECT_EQ(mask("slt, %c16s, %c16s"), "c1 d* k128 = 0");
}

TEST(AxisArith, Selection) {
  EXPECT_EQ(known(R"(%r = arith.select %flag, %offs, %range {name = "r"} : tensor<128xi32>)"), "c128 d128 k1");
  EXPECT_EQ(known(R"(%mask = arith.cmpi slt, %offs, %ms : tensor<128xi32>
                     %r = arith.select %mask, %offs, %range {name = "r"} : tensor<128xi1>, tensor<128xi32>)"),
            "c16 d16 k1");
  EXPECT_EQ(known(R"(%mask = arith.cmpi slt, %offs, %ms : tensor<128xi32>
                     %r = arith.select %mask, %starts, %ms {name = "r"} : tensor<128xi1>, tensor<128xi32>)"),
            "c1 d16 k16");
  EXPECT_EQ(known(R"(%t = arith.constant true
                     %r = arith.select %t, %m, %x {name = "r"} : i32)"),
            "c1 d16 k1");
}

TEST(AxisArith, Casts) {
  EXPECT_EQ(known(R"(%r = arith.extsi %offs {name = "r"} : tensor<128xi32> to tensor<128xi64>)"), "c128 d128 k1");
  EXPECT_EQ(known(R"(%r = arith.index_cast %m {name = "r"} : i32 to index)"), "c1 d16 k1");
  EXPECT_EQ(known(R"(%r = arith.trunci %offs {name = "r"} : tensor<128xi32> to tensor<128xi16>)"), "c128 d128 k1");
  EXPECT_EQ(known(R"(%shifted = arith.addi %range, %xs : tensor<128xi32>
                     %r = arith.trunci %shifted {name = "r"} : tensor<128xi32> to tensor<128xi16>)"),
            "c1 d1 k1");
  EXPECT_EQ(known(R"(%long = tile.make_range 0 to 1024 : tensor<1024xi32>
                     %r = arith.trunci %long {name = "r"} : tensor<1024xi32> to tensor<1024xi8>)"),
            "c128 d128 k1")
      << "then come values below zero";
  EXPECT_EQ(known(R"(%t = arith.constant true
                     %r = arith.extui %t {name = "r"} : i1 to i32)"),
            "c1 d1 k1 = 1");
  EXPECT_EQ(known(R"(%big = arith.constant 4294967312 : i64
                     %r = arith.trunci %big {name = "r"} : i64 to i32)"),
            "c1 d16 k1 = 16");
}

TEST(AxisArith, Promises) {
  EXPECT_EQ(known(R"(%r = arith.remsi %offs, %xs {name = "r", tile.divisibility = array<i32: 64>,
                                                  tile.contiguity = array<i32: 64>} : tensor<128xi32>)"),
            "c64 d64 k1");
  EXPECT_EQ(known(R"(%r = arith.remsi %offs, %xs {name = "r", tile.divisibility = array<i32: 32>,
                                                  tile.contiguity = array<i32: 256>} : tensor<128xi32>)"),
            "c128 d32 k1");
  EXPECT_EQ(known(R"(%r = arith.divsi %offs, %xs {name = "r", tile.constancy = array<i32: 24>} : tensor<128xi32>)"),
            "c1 d1 k8");
  EXPECT_EQ(known(R"(%r = arith.addi %x, %x {name = "r", tile.divisibility = array<i32: 8, 8>} : i32)"), "c1 d1 k1");
}

}  // namespace tandem::analysis::test
