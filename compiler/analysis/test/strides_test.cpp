// These tests have regular accesses and, above all, accesses that are not regular.
#include "compiler/analysis/test/strides_check.h"

namespace tandem::analysis::test {

// A kernel of a few lines whose last pointer is "p" and whose mask, if any, is "mask".
static std::string around(const std::string& lines) {
  return R"(func.func @k(%ptr: !tile.ptr<f16> {tile.name = "ptr"}, %n: i32 {tile.name = "n"}, %s: i32 {tile.name = "s"},
                         %t: i64 {tile.name = "t"}, %flag: i1 {tile.name = "flag"}) {
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      %c32 = arith.constant 32 : i32
      %pid = tile.program_id 0 {name = "pid"}
      %range = tile.make_range 0 to 32 : tensor<32xi32>
      %c32s = arith.constant dense<32> : tensor<32xi32>
      %start = arith.muli %pid, %c32 : i32
      %starts = tile.splat %start : i32 -> tensor<32xi32>
      %offs = arith.addi %starts, %range : tensor<32xi32>
      %ns = tile.splat %n : i32 -> tensor<32xi32>
      %ss = tile.splat %s : i32 -> tensor<32xi32>
      %ptrs = tile.splat %ptr : !tile.ptr<f16> -> tensor<32x!tile.ptr<f16>>
  )" + lines +
         "\nreturn\n}";
}

static std::string accessed(const std::string& lines, bool masked = false) {
  Kernel kernel(around(lines));
  AxisInfoAnalysis axes(kernel.function());
  return text(StrideAnalysis(axes).of(kernel.value("p"), masked ? kernel.value("mask") : mlir::Value()));
}

// The access ptr + `offset`.
static std::string at(const std::string& offset, const std::string& before = "") {
  return accessed(before + "\n%p = tile.addptr %ptrs, " + offset +
                  " {name = \"p\"} : tensor<32x!tile.ptr<f16>>, tensor<32xi32>");
}

// The access ptr + offs under a mask.
static std::string under(const std::string& mask) {
  return accessed("%p = tile.addptr %ptrs, %offs {name = \"p\"} : tensor<32x!tile.ptr<f16>>, tensor<32xi32>\n" + mask,
                  true);
}
static std::string compare(const std::string& text) {
  return under("%mask = arith.cmpi " + text + " {name = \"mask\"} : tensor<32xi32>");
}

static std::string inTile(const std::string& op) { return op + " : tensor<32xi32>"; }

TEST(Strides, OneDimension) {
  EXPECT_EQ(at("%offs"), "ptr; 32 from 32*pid by 1");
  EXPECT_EQ(at("%m", inTile("%m = arith.muli %offs, %ss")), "ptr; 32 from 32*pid by s");
  EXPECT_EQ(at("%m", inTile("%two = arith.constant dense<1> : tensor<32xi32>\n%m = arith.shli %offs, %two")),
            "ptr; 32 from 32*pid by 2");
  EXPECT_EQ(at("%d", inTile("%d = arith.subi %offs, %ns")), "ptr; 32 from -1*n + 32*pid by 1");
  EXPECT_EQ(at("%d", inTile("%d = arith.subi %ns, %range")), "ptr + n; 32 from 0 by -1");
  EXPECT_EQ(at("%d", inTile("%d = arith.addi %range, %range")), "ptr; 32 from 0 by 2");
  EXPECT_EQ(at("%d", inTile("%d = arith.subi %offs, %range")), "ptr + 32*pid; 32 from 0 by 0");
}

TEST(Strides, WhatIsNotRegular) {
  EXPECT_EQ(at("%m", inTile("%m = arith.muli %range, %range")), "none");
  EXPECT_EQ(at("%m", inTile("%m = arith.divsi %range, %c32s")), "none");
  EXPECT_EQ(at("%m", inTile("%m = arith.xori %range, %c32s")), "none");
  EXPECT_EQ(at("%m",
               "%raw = tile.int_to_ptr %t : i64 -> !tile.ptr<i32>\n%raws = tile.splat %raw : !tile.ptr<i32> -> "
               "tensor<32x!tile.ptr<i32>>\n"
               "%m = tile.load %raws : tensor<32x!tile.ptr<i32>> -> tensor<32xi32>"),
            "none");
  EXPECT_EQ(at("%m",
               "%m = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, "
               "21, 22, 23, 24, "
               "25, 26, 27, 28, 29, 30, 31]> : tensor<32xi32>"),
            "none");
  EXPECT_EQ(at("%m",
               "%b = arith.trunci %offs : tensor<32xi32> to tensor<32xi8>\n%m = arith.extsi %b : tensor<32xi8> to "
               "tensor<32xi32>"),
            "none");
  EXPECT_EQ(at("%m", "%m = arith.select %flag, %offs, %range : tensor<32xi32>"), "none");
}

// Kernels divide by a block and multiply again to begin at a whole number of blocks.
TEST(Strides, Quotients) {
  const std::string back = "%q = arith.divsi %start, %c32 : i32\n%back = arith.muli %q, %c32 : i32\n";
  EXPECT_EQ(at("%m", back + "%d = arith.subi %start, %back : i32\n%ds = tile.splat %d : i32 -> tensor<32xi32>\n" +
                         inTile("%m = arith.addi %ds, %range")),
            "ptr; 32 from 0 by 1");
  EXPECT_EQ(at("%m", back + "%qs = tile.splat %q : i32 -> tensor<32xi32>\n" + inTile("%m = arith.addi %qs, %range")),
            "ptr; 32 from pid by 1");
  EXPECT_EQ(at("%m", "%q = arith.divsi %n, %c32 {name = \"q\"} : i32\n%qs = tile.splat %q : i32 -> tensor<32xi32>\n" +
                         inTile("%m = arith.addi %qs, %range")),
            "ptr; 32 from q by 1");
}

TEST(Strides, WrapAround) {
  EXPECT_EQ(at("%w", inTile("%w = arith.remsi %offs, %ns")), "ptr; 32 from 32*pid mod n by 1");
  EXPECT_EQ(at("%w", inTile("%r = arith.remsi %offs, %ns : tensor<32xi32>\n%w = arith.muli %r, %ss")),
            "ptr; 32 from 32*pid mod n by s");
  EXPECT_EQ(at("%w", inTile("%r = arith.remsi %offs, %ns : tensor<32xi32>\n%w = arith.addi %r, %ss")),
            "ptr + s; 32 from 32*pid mod n by 1");
  EXPECT_EQ(at("%w", inTile("%r = arith.remsi %offs, %ns : tensor<32xi32>\n%w = arith.remsi %r, %ss")), "none");
  EXPECT_EQ(at("%w", inTile("%o = arith.subi %offs, %c32s : tensor<32xi32>\n%w = arith.remsi %o, %ns")), "none");
  EXPECT_EQ(at("%w", inTile("%o = arith.muli %offs, %c32s : tensor<32xi32>\n%w = arith.remsi %o, %ns")), "none");
  EXPECT_EQ(at("%w", inTile("%w = arith.remsi %offs, %range")), "none");
}

// What a clamp makes of an index behind the limit is another one below it, which nobody may look at for TMA to be used.
TEST(Strides, Clamps) {
  auto chosen = [&](const std::string& compare, const std::string& values) {
    return at("%w", "%zs = arith.constant dense<0> : tensor<32xi32>\n" + inTile("%c = arith.cmpi " + compare) +
                        "\n%w = arith.select %c, " + values);
  };
  const std::string clamps = "ptr; 32 from 32*pid below n by 1";
  EXPECT_EQ(at("%w", inTile("%w = arith.minsi %offs, %ns")), "ptr; 32 from 32*pid below 1 + n by 1");
  EXPECT_EQ(chosen("slt, %offs, %ns", "%offs, %zs : tensor<32xi1>, tensor<32xi32>"), clamps);
  EXPECT_EQ(chosen("sgt, %ns, %offs", "%offs, %zs : tensor<32xi1>, tensor<32xi32>"), clamps);
  EXPECT_EQ(chosen("sge, %offs, %ns", "%zs, %offs : tensor<32xi1>, tensor<32xi32>"), clamps);
  EXPECT_EQ(chosen("sle, %ns, %offs", "%zs, %offs : tensor<32xi1>, tensor<32xi32>"), clamps);
  EXPECT_EQ(chosen("sle, %offs, %ns", "%offs, %zs : tensor<32xi1>, tensor<32xi32>"),
            "ptr; 32 from 32*pid below 1 + n by 1");
  EXPECT_EQ(chosen("sge, %offs, %ns", "%offs, %zs : tensor<32xi1>, tensor<32xi32>"), "none");
  EXPECT_EQ(chosen("slt, %offs, %ns", "%zs, %offs : tensor<32xi1>, tensor<32xi32>"), "none");
  EXPECT_EQ(chosen("slt, %range, %ns", "%offs, %zs : tensor<32xi1>, tensor<32xi32>"), "none");
  EXPECT_EQ(chosen("slt, %offs, %range", "%offs, %zs : tensor<32xi1>, tensor<32xi32>"), "none");
  EXPECT_EQ(chosen("ult, %offs, %ns", "%offs, %zs : tensor<32xi1>, tensor<32xi32>"), "none");
  EXPECT_EQ(chosen("slt, %offs, %ns", "%offs, %c32s : tensor<32xi1>, tensor<32xi32>"), "none");
}

TEST(Strides, Bounds) {
  EXPECT_EQ(compare("slt, %offs, %ns"), "ptr; 32 from 32*pid by 1 < n");
  EXPECT_EQ(compare("sle, %offs, %ns"), "ptr; 32 from 32*pid by 1 < 1 + n");
  EXPECT_EQ(compare("sgt, %ns, %offs"), "ptr; 32 from 32*pid by 1 < n");
  EXPECT_EQ(compare("sge, %offs, %ns"), "ptr; 32 from 32*pid by 1 >= n");
  EXPECT_EQ(compare("sgt, %offs, %ns"), "ptr; 32 from 32*pid by 1 >= 1 + n");
  EXPECT_EQ(compare("ult, %offs, %c32s"), "ptr; 32 from 32*pid by 1 >= 0 < 32");
  EXPECT_EQ(compare("ult, %offs, %ns"), "none");
  EXPECT_EQ(compare("ne, %offs, %ns"), "none");
  EXPECT_EQ(compare("slt, %starts, %ns"), "none");
  EXPECT_EQ(compare("slt, %range, %ns"), "ptr; 32 from 32*pid by 1 < 32*pid + n");
}

TEST(Strides, SeveralConditions) {
  const std::string upper = "%u = arith.cmpi slt, %offs, %ns : tensor<32xi32>\n";
  EXPECT_EQ(under(upper + R"(%l = arith.cmpi sge, %offs, %ss : tensor<32xi32>
                             %mask = arith.andi %u, %l {name = "mask"} : tensor<32xi1>)"),
            "ptr; 32 from 32*pid by 1 >= s < n");
  EXPECT_EQ(under(upper + R"(%f = tile.splat %flag : i1 -> tensor<32xi1>
                             %mask = arith.andi %u, %f {name = "mask"} : tensor<32xi1>)"),
            "ptr; 32 from 32*pid by 1 < n; if flag");
  EXPECT_EQ(under(upper + R"(%o = arith.cmpi slt, %offs, %ss : tensor<32xi32>
                             %mask = arith.andi %u, %o {name = "mask"} : tensor<32xi1>)"),
            "none");
  EXPECT_EQ(under(upper + R"(%o = arith.cmpi slt, %offs, %ss : tensor<32xi32>
                             %mask = arith.ori %u, %o {name = "mask"} : tensor<32xi1>)"),
            "none");
  EXPECT_EQ(under(R"(%mask = arith.constant {name = "mask"} dense<true> : tensor<32xi1>)"), "ptr; 32 from 32*pid by 1");
  EXPECT_EQ(under(R"(%mask = arith.constant {name = "mask"} dense<false> : tensor<32xi1>)"), "none");
}

TEST(Strides, ScalarPointersAndWidths) {
  EXPECT_EQ(accessed(R"(%moved = arith.muli %pid, %s : i32
    %row = tile.addptr %ptr, %moved : !tile.ptr<f16>, i32
    %rows = tile.splat %row : !tile.ptr<f16> -> tensor<32x!tile.ptr<f16>>
    %p = tile.addptr %rows, %range {name = "p"} : tensor<32x!tile.ptr<f16>>, tensor<32xi32>)"),
            "ptr + pid*s; 32 from 0 by 1");
  EXPECT_EQ(accessed(R"(%row = tile.addptr %ptr, %start : !tile.ptr<f16>, i32
    %rows = tile.splat %row : !tile.ptr<f16> -> tensor<32x!tile.ptr<f16>>
    %p = tile.addptr %rows, %range {name = "p"} : tensor<32x!tile.ptr<f16>>, tensor<32xi32>)"),
            "ptr; 32 from 32*pid by 1");
  EXPECT_EQ(at("%w",
               "%e = arith.extsi %pid : i32 to i64\n%x = arith.muli %e, %t : i64\n%q = arith.trunci %x {name = \"q\"} "
               ": i64 to i32\n"
               "%w = tile.splat %q : i32 -> tensor<32xi32>"),
            "ptr + q; 32 from 0 by 0");
}

TEST(Strides, LayoutsDoNotMatter) {
  EXPECT_EQ(accessed(R"(%there = tgpu.convert_layout %offs : tensor<32xi32>
    %p = tile.addptr %ptrs, %there {name = "p"} : tensor<32x!tile.ptr<f16>>, tensor<32xi32>
    %inside = arith.cmpi slt, %there, %ns : tensor<32xi32>
    %mask = tgpu.convert_layout %inside {name = "mask"} : tensor<32xi1>)",
                     true),
            "ptr; 32 from 32*pid by 1 < n");
}

TEST(Strides, AnOrderingTokenStaysPartOfTheBase) {
  EXPECT_EQ(accessed(R"(%after = dist.consume_token %ptr, %n {name = "after"} : !tile.ptr<f16>
    %afters = tile.splat %after : !tile.ptr<f16> -> tensor<32x!tile.ptr<f16>>
    %p = tile.addptr %afters, %offs {name = "p"} : tensor<32x!tile.ptr<f16>>, tensor<32xi32>)"),
            "after; 32 from 32*pid by 1");
  EXPECT_EQ(accessed(R"(%all = tile.addptr %ptrs, %offs : tensor<32x!tile.ptr<f16>>, tensor<32xi32>
    %p = dist.consume_token %all, %n {name = "p"} : tensor<32x!tile.ptr<f16>>)"),
            "none");
}

// A loop that carries the tile of pointers; `next` makes %moved of %at.
static std::string inLoop(const std::string& bounds, const std::string& next) {
  return accessed(R"(%first = tile.addptr %ptrs, %offs : tensor<32x!tile.ptr<f16>>, tensor<32xi32>
    %zero = arith.constant dense<0> : tensor<32xi32>
    %last = scf.for %i = )" +
                  bounds + R"( iter_args(%at = %first) -> (tensor<32x!tile.ptr<f16>>) : i32 {
      %p = tile.addptr %at, %zero {name = "p"} : tensor<32x!tile.ptr<f16>>, tensor<32xi32>
      )" + next + R"(
      scf.yield %moved : tensor<32x!tile.ptr<f16>>
    })");
}
static std::string plus(const std::string& amount) {
  return "%moved = tile.addptr %at, " + amount + " : tensor<32x!tile.ptr<f16>>, tensor<32xi32>";
}

TEST(Strides, LoopCarriedPointers) {
  EXPECT_EQ(inLoop("%c0 to %n step %c1", plus("%c32s")), "ptr; 32 from 32*iv + 32*pid by 1");
  EXPECT_EQ(inLoop("%s to %n step %c1", plus("%c32s")), "ptr + -32*s; 32 from 32*iv + 32*pid by 1");
  EXPECT_EQ(inLoop("%c0 to %n step %c32", plus("%c32s")), "ptr; 32 from 32*pid + iv by 1");
  EXPECT_EQ(inLoop("%c0 to %n step %s", plus("%ss")), "ptr; 32 from 32*pid + iv by 1");
  EXPECT_EQ(inLoop("%c0 to %n step %c1", "%moved = tile.addptr %at, %zero : tensor<32x!tile.ptr<f16>>, tensor<32xi32>"),
            "ptr; 32 from 32*pid by 1");
}

TEST(Strides, LoopsThatDoNotStepEvenly) {
  EXPECT_EQ(inLoop("%c0 to %n step %c32", plus("%ns")), "none");
  EXPECT_EQ(inLoop("%c0 to %n step %c1", plus("%offs")), "none");
  EXPECT_EQ(inLoop("%c0 to %n step %c1", "%is = tile.splat %i : i32 -> tensor<32xi32>\n" + plus("%is")), "none");
  EXPECT_EQ(
      inLoop("%c0 to %n step %c1", "%moved = tile.addptr %ptrs, %c32s : tensor<32x!tile.ptr<f16>>, tensor<32xi32>"),
      "none");
  EXPECT_EQ(inLoop("%c0 to %n step %c1", R"(%other = tile.addptr %at, %c32s : tensor<32x!tile.ptr<f16>>, tensor<32xi32>
      %moved = scf.if %flag -> (tensor<32x!tile.ptr<f16>>) { scf.yield %other : tensor<32x!tile.ptr<f16>> }
               else { scf.yield %at : tensor<32x!tile.ptr<f16>> })"),
            "none");
}

TEST(Strides, LoopCarriedOffsets) {
  EXPECT_EQ(accessed(R"(%last = scf.for %i = %c0 to %n step %c1 iter_args(%k = %offs) -> (tensor<32xi32>) : i32 {
      %p = tile.addptr %ptrs, %k {name = "p"} : tensor<32x!tile.ptr<f16>>, tensor<32xi32>
      %mask = arith.cmpi slt, %k, %ns {name = "mask"} : tensor<32xi32>
      %next = arith.addi %k, %c32s : tensor<32xi32>
      scf.yield %next : tensor<32xi32>
    })",
                     true),
            "ptr; 32 from 32*iv + 32*pid by 1 < n");
  EXPECT_EQ(accessed(R"(%last = scf.for %i = %c0 to %n step %c1 iter_args(%k = %start) -> (i32) : i32 {
      %ks = tile.splat %k : i32 -> tensor<32xi32>
      %at = arith.addi %ks, %range : tensor<32xi32>
      %p = tile.addptr %ptrs, %at {name = "p"} : tensor<32x!tile.ptr<f16>>, tensor<32xi32>
      %next = arith.addi %k, %c32 : i32
      scf.yield %next : i32
    })"),
            "ptr; 32 from 32*iv + 32*pid by 1");
}

TEST(Strides, NestedLoopsCarryOneTile) {
  EXPECT_EQ(accessed(R"(%first = tile.addptr %ptrs, %range : tensor<32x!tile.ptr<f16>>, tensor<32xi32>
    %out = scf.for %i = %c0 to %n step %c1 iter_args(%a = %first) -> (tensor<32x!tile.ptr<f16>>) : i32 {
      %in = scf.for %j = %c0 to %n step %c1 iter_args(%b = %a) -> (tensor<32x!tile.ptr<f16>>) : i32 {
        %p = tile.addptr %b, %c32s {name = "p"} : tensor<32x!tile.ptr<f16>>, tensor<32xi32>
        scf.yield %p : tensor<32x!tile.ptr<f16>>
      }
      %next = tile.addptr %a, %ss : tensor<32x!tile.ptr<f16>>, tensor<32xi32>
      scf.yield %next : tensor<32x!tile.ptr<f16>>
    })"),
            "ptr + 32 + iv*s; 32 from 32*iv by 1");
}

TEST(Strides, ShapesKeepTheirIndices) {
  const std::string box = R"(%col = tile.expand_dims %offs at 0 : tensor<32xi32> -> tensor<1x32xi32>
    %row = tile.expand_dims %range at 1 : tensor<32xi32> -> tensor<32x1xi32>
    %stride = tile.splat %s : i32 -> tensor<32x1xi32>
    %down = arith.muli %row, %stride : tensor<32x1xi32>
    %cols = tile.broadcast %col : tensor<1x32xi32> -> tensor<32x32xi32>
    %downs = tile.broadcast %down : tensor<32x1xi32> -> tensor<32x32xi32>
    %both = arith.addi %cols, %downs : tensor<32x32xi32>
    %all = tile.splat %ptr : !tile.ptr<f16> -> tensor<32x32x!tile.ptr<f16>>
  )";
  const std::string last = "tile.addptr %all, %both {name = \"p\"} : tensor<32x32x!tile.ptr<f16>>, tensor<32x32xi32>";
  EXPECT_EQ(accessed(box + "%p = " + last), "ptr; 32 from 0 by s; 32 from 32*pid by 1");
  EXPECT_EQ(accessed(box + R"(%q = tile.addptr %all, %both : tensor<32x32x!tile.ptr<f16>>, tensor<32x32xi32>
      %p = tile.permute %q [1, 0] {name = "p"} : tensor<32x32x!tile.ptr<f16>> -> tensor<32x32x!tile.ptr<f16>>)"),
            "ptr; 32 from 32*pid by 1; 32 from 0 by s");
  EXPECT_EQ(accessed(box + R"(%q = tile.addptr %all, %both : tensor<32x32x!tile.ptr<f16>>, tensor<32x32xi32>
      %p = tile.reshape %q {name = "p"} : tensor<32x32x!tile.ptr<f16>> -> tensor<32x1x32x!tile.ptr<f16>>)"),
            "ptr; 32 from 0 by s; 1 from 0 by 0; 32 from 32*pid by 1");
  EXPECT_EQ(accessed(box + R"(%q = tile.addptr %all, %both : tensor<32x32x!tile.ptr<f16>>, tensor<32x32xi32>
      %p = tile.reshape %q {name = "p"} : tensor<32x32x!tile.ptr<f16>> -> tensor<1024x!tile.ptr<f16>>)"),
            "none");
}

// An offset below the least of several limits is below each; the bound that follows from arguments alone is the tensor's.
TEST(Strides, SeveralBounds) {
  auto several = [](const std::string& limit, const char* predicate = "slt") {
    Kernel kernel(around("%p = tile.addptr %ptrs, %offs {name = \"p\"} : tensor<32x!tile.ptr<f16>>, tensor<32xi32>\n" +
                         limit + "\n%ls = tile.splat %l : i32 -> tensor<32xi32>\n%mask = arith.cmpi " + predicate +
                         ", %offs, %ls {name = \"mask\"} : tensor<32xi32>"));
    AxisInfoAnalysis axes(kernel.function());
    return text(StrideAnalysis(axes).of(kernel.value("p"), kernel.value("mask"), true));
  };
  const std::string end = "%e = arith.muli %pid, %s : i32\n%l = arith.minsi %e, %n : i32",
                    from = "ptr; 32 from 32*pid by 1";
  EXPECT_EQ(several(end), from + " < n < pid*s");
  EXPECT_EQ(several("%e = arith.minsi %s, %n : i32\n%l = arith.maxsi %e, %c0 : i32"), from + " < n < s");
  EXPECT_EQ(several("%e = arith.minsi %s, %n : i32\n%l = arith.addi %e, %c32 : i32"), from + " < 32 + n < 32 + s");
  EXPECT_EQ(several("%l = arith.maxsi %s, %c1 {name = \"l\"} : i32"), from + " < l");
  EXPECT_EQ(several("%l = arith.maxsi %s, %n : i32", "sge"), "none");
  EXPECT_EQ(compare("slt, %offs, %ns"), from + " < n");
}

}  // namespace tandem::analysis::test
