#include "compiler/analysis/usual_steps.h"
#include "compiler/analysis/axis_info.h"
#include "compiler/analysis/test/kernel.h"

namespace tandem::analysis::test {

// The step along `dim` of the tile that `ops` name "r".
static std::optional<UsualStep> usual(const std::string& ops, unsigned dim = 0) {
  Kernel k(
      "func.func @k(%p: !tile.ptr<f16>, %w: i32, %n: i32, %m: i32 {tile.multiple_of = 16 : i32}) {\n"
      "%range = tile.make_range 0 to 128 : tensor<128xi32>\n"
      "%ws = tile.splat %w : i32 -> tensor<128xi32>\n"
      "%ms = tile.splat %m : i32 -> tensor<128xi32>\n"
      "%ps = tile.splat %p : !tile.ptr<f16> -> tensor<128x!tile.ptr<f16>>\n"
      "%three = arith.constant dense<3> : tensor<128xi32>\n"
      "%c0 = arith.constant 0 : i32\n%c1 = arith.constant 1 : i32\n" +
      ops + "\nreturn }");
  return usualStep(k.value("r"), dim, AxisInfoAnalysis(k.function()));
}

static std::optional<int64_t> step(const std::string& ops, unsigned dim = 0) {
  std::optional<UsualStep> found = usual(ops, dim);
  return found && found->isExact ? std::optional(found->size) : std::nullopt;
}

static std::string arith(const std::string& op, const std::string& l, const std::string& r) {
  return "%r = arith." + op + " " + l + ", " + r + " {name = \"r\"} : tensor<128xi32>";
}

TEST(UsualSteps, Arithmetic) {
  EXPECT_EQ(step(arith("addi", "%range", "%ws")), 1);
  EXPECT_EQ(step(arith("subi", "%ws", "%range")), -1);
  EXPECT_EQ(step(arith("muli", "%range", "%three")), 3);
  EXPECT_EQ(step(arith("muli", "%ws", "%ws")), 0);
  EXPECT_EQ(step(arith("muli", "%range", "%ws")), std::nullopt);
}

TEST(UsualSteps, Multiples) {
  EXPECT_EQ(usual(arith("muli", "%range", "%ws")), (UsualStep{1, false}));
  EXPECT_EQ(usual(arith("muli", "%ms", "%range")), (UsualStep{16, false}));
  EXPECT_EQ(usual("%x = arith.muli %range, %ms : tensor<128xi32>\n" + arith("muli", "%x", "%three")),
            (UsualStep{48, false}));
  EXPECT_EQ(usual("%x = arith.muli %range, %ms : tensor<128xi32>\n" + arith("addi", "%x", "%ws")),
            (UsualStep{16, false}));
  EXPECT_EQ(usual("%x = arith.muli %range, %ms : tensor<128xi32>\n" + arith("subi", "%range", "%x")),
            (UsualStep{1, false}));
}

TEST(UsualSteps, WhatInterruptsRuns) {
  EXPECT_EQ(step(arith("remsi", "%range", "%ws")), 1);
  EXPECT_EQ(step(arith("remsi", "%ws", "%range")), std::nullopt);
  EXPECT_EQ(step(arith("divsi", "%range", "%ws")), 0);
  EXPECT_EQ(step("%x = arith.muli %range, %three : tensor<128xi32>\n" + arith("divsi", "%x", "%ws")), std::nullopt);
  EXPECT_EQ(step(arith("maxsi", "%range", "%three")), 1);
  EXPECT_EQ(step("%is = arith.cmpi slt, %range, %ws : tensor<128xi32>\n"
                 "%r = arith.select %is, %range, %three {name = \"r\"} : tensor<128xi1>, tensor<128xi32>"),
            1);
  EXPECT_EQ(step("%x = arith.muli %range, %three : tensor<128xi32>\n" + arith("minsi", "%x", "%range")), std::nullopt);
}

TEST(UsualSteps, PlacesOfTiles) {
  const std::string rows = "%e = tile.expand_dims %range at 1 : tensor<128xi32> -> tensor<128x1xi32>\n";
  const std::string box = rows + "%r = tile.broadcast %e {name = \"r\"} : tensor<128x1xi32> -> tensor<128x64xi32>";
  EXPECT_EQ(step(box, 0), 1);
  EXPECT_EQ(step(box, 1), 0);
  const std::string turned =
      rows + "%r = tile.permute %e [1, 0] {name = \"r\"} : tensor<128x1xi32> -> tensor<1x128xi32>";
  EXPECT_EQ(step(turned, 0), 0);
  EXPECT_EQ(step(turned, 1), 1);
}

TEST(UsualSteps, AddressesAndLoops) {
  EXPECT_EQ(step("%r = tile.addptr %ps, %range {name = \"r\"} : tensor<128x!tile.ptr<f16>>, tensor<128xi32>"), 1);
  EXPECT_EQ(step("%a = tile.addptr %ps, %range : tensor<128x!tile.ptr<f16>>, tensor<128xi32>\n"
                 "scf.for %i = %c0 to %n step %c1 iter_args(%at = %a) -> (tensor<128x!tile.ptr<f16>>) : i32 {\n"
                 "  %r = tile.addptr %at, %ws {name = \"r\"} : tensor<128x!tile.ptr<f16>>, tensor<128xi32>\n"
                 "  scf.yield %r : tensor<128x!tile.ptr<f16>>\n}"),
            1);
  EXPECT_EQ(step("%r = tile.load %ps {name = \"r\"} : tensor<128x!tile.ptr<f16>> -> tensor<128xf16>"), std::nullopt);
}

}  // namespace tandem::analysis::test
