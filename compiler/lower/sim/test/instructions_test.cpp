// Ops become these instructions, with their operands, immediates and types.
#include "compiler/lower/sim/test/lowered.h"

namespace tandem::lower::test {
using namespace interpreter;
namespace {

TEST(Instructions, ElementwiseKernel) {
  auto p = lowered(R"(func.func @add(%x: !tile.ptr<f32> {tile.name = "x"}, %n: i32) {
    %r = tile.make_range 0 to 64 : tensor<64xi32>
    %s = tile.splat %n : i32 -> tensor<64xi32>
    %m = arith.cmpi slt, %r, %s : tensor<64xi32>
    %b = tile.splat %x : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>
    %a = tile.addptr %b, %r : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
    %v = tile.load %a mask %m : tensor<64xi1> : tensor<64x!tile.ptr<f32>> -> tensor<64xf32>
    %w = arith.addf %v, %v : tensor<64xf32>
    tile.store %a, %w mask %m : tensor<64xi1> : tensor<64x!tile.ptr<f32>>, tensor<64xf32>
    return
  })");
  EXPECT_EQ(opsOf(*p), (std::vector<Op>{Op::MakeRange, Op::Splat, Op::Compare, Op::Splat, Op::AddPtr, Op::Load,
                                        Op::Binary, Op::Store, Op::Return}));
  EXPECT_EQ(p->arguments[0].name, "x");
  EXPECT_TRUE(p->arguments[0].isPointer);
  EXPECT_EQ(p->arguments[0].pointee, Elem::F32);
  EXPECT_EQ(p->arguments[1].name, "arg1");
  EXPECT_EQ(p->arguments[1].elem, Elem::I32);
  EXPECT_FALSE(p->perThread);
  const Instruction& add = find(*p, Op::Binary);
  EXPECT_EQ(BinaryOp(add.sub), BinaryOp::AddF);
  EXPECT_FALSE(isLast(*p, add, 0));
  EXPECT_TRUE(isLast(*p, add, 1));
  EXPECT_EQ(p->as<imm::AddPtr>(find(*p, Op::AddPtr)).bytes, 4);
  const Instruction& load = find(*p, Op::Load);
  EXPECT_EQ(p->operands(load)[2], kNone);
  EXPECT_FALSE(isLast(*p, load, 0)) << "the store reads the pointer";
  EXPECT_TRUE(isLast(*p, find(*p, Op::Store), 0));
  EXPECT_EQ(resultType(*p, load).shape, (std::vector<int64_t>{64}));
}

TEST(Instructions, LocationsNameTheLineAndTheCall) {
  auto p = lowered(
      "func.func @f() {\n  %a = tile.program_id 0 loc(callsite(\"k.mlir\":7:3 at \"k.mlir\":9:5))\n  return\n}");
  const interpreter::Location& at = p->locations[p->code[0].location];
  EXPECT_EQ(at.range.line, 7u);
  ASSERT_NE(at.caller, kNoLocation);
  EXPECT_EQ(p->locations[at.caller].range.line, 9u);
  EXPECT_EQ(p->files[at.file]->name, "k.mlir");
}

// One operand of the product is tied to the wait, the other is not.
TEST(Instructions, LoadsOfProductsThatMayOvertakeAWait) {
  auto p = lowered(R"(func.func @f(%a: !tile.ptr<f16>, %s: !tile.ptr<i64>) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %one = arith.constant 1 : i64
    %zero = arith.constant dense<0.0> : tensor<16x16xf32>
    %t = dist.wait acquire sys %s[%c1] eq %one : !tile.ptr<i64>, i64 loc("k.py":3:1)
    %b = dist.consume_token %a, %t : !tile.ptr<f16>
    %pa = tile.splat %a : !tile.ptr<f16> -> tensor<16x16x!tile.ptr<f16>>
    %pb = tile.splat %b : !tile.ptr<f16> -> tensor<16x16x!tile.ptr<f16>>
    %r = scf.for %i = %c0 to %c1 step %c1 iter_args(%acc = %zero) -> (tensor<16x16xf32>) : i32 {
      %x = tile.load %pa : tensor<16x16x!tile.ptr<f16>> -> tensor<16x16xf16> loc("k.py":5:1)
      %y = tile.load %pb : tensor<16x16x!tile.ptr<f16>> -> tensor<16x16xf16> loc("k.py":6:1)
      %d = tile.dot %x, %y, %acc : tensor<16x16xf16>, tensor<16x16xf16> -> tensor<16x16xf32>
      scf.yield %d : tensor<16x16xf32>
    }
    return
  })");
  ASSERT_EQ(p->earlyLoads.size(), 1u);
  EXPECT_EQ(p->locations[p->earlyLoads[0].location].range.line, 5u);
  ASSERT_EQ(p->earlyLoads[0].overtakes.size(), 1u);
  EXPECT_EQ(p->locations[p->earlyLoads[0].overtakes[0]].range.line, 3u);
}

TEST(Instructions, Constants) {
  auto p = lowered(R"(func.func @f() {
    %a = arith.constant -1 : i32
    %b = arith.constant dense<1.0> : tensor<4xf16>
    %c = arith.constant dense<[1, 2, 3, -1]> : tensor<4xi16>
    %d = arith.constant true
    return
  })");
  EXPECT_EQ(p->as<imm::Constant>(p->code[0]).bits, 0xffffffff);
  EXPECT_EQ(p->as<imm::Constant>(p->code[1]).bits, 0x3c00);
  EXPECT_EQ(p->as<imm::Constant>(p->code[2]).isOffset, 1);
  EXPECT_EQ(p->constantBytes, (std::vector<uint8_t>{1, 0, 2, 0, 3, 0, 0xff, 0xff}));
  EXPECT_EQ(p->as<imm::Constant>(p->code[3]).bits, 1);
}

TEST(Instructions, PointerCastsAreNoInstruction) {
  auto p = lowered(R"(func.func @f(%x: !tile.ptr<f32>) {
    %i = tile.ptr_to_int %x : !tile.ptr<f32> -> i64
    %q = tile.int_to_ptr %i : i64 -> !tile.ptr<i32>
    %c = arith.constant 1 : i32
    tile.store %q, %c : !tile.ptr<i32>, i32
    return
  })");
  EXPECT_EQ(opsOf(*p), (std::vector<Op>{Op::Constant, Op::Store, Op::Return}));
  EXPECT_EQ(plain(p->operands(p->code[1])[0]), p->arguments[0].reg);
}

const char* const reduceText = R"(func.func @f(%p: !tile.ptr<f32>, %k: f32) {
  %x = arith.constant dense<1.0> : tensor<8x4xf32>
  %s = "tile.reduce"(%x) <{axis = 1 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    BODY
    tile.yield %c : f32
  }) : (tensor<8x4xf32>) -> tensor<8xf32>
  %t = tile.reshape %s : tensor<8xf32> -> tensor<2x4xf32>
  return
})";

std::string reduceWith(const std::string& body) {
  std::string text = reduceText;
  return text.replace(text.find("BODY"), 4, body);
}

TEST(Instructions, ReductionsRegionFollowsTheMainCode) {
  auto p = lowered(reduceWith("%c = arith.addf %a, %b : f32"));
  const Instruction& reduce = find(*p, Op::Reduce);
  EXPECT_EQ(p->as<imm::Reduce>(reduce).axis, 1);
  ASSERT_EQ(p->regions.size(), 1u);
  const Region& region = p->regions[0];
  EXPECT_EQ(BinaryOp(region.binary), BinaryOp::AddF);
  EXPECT_EQ(p->code[region.begin - 1].op, Op::Return);
  EXPECT_EQ(region.end - region.begin, 1u);
  EXPECT_EQ(p->results(p->code[region.begin])[0], region.results[0]);
  EXPECT_EQ(p->registers[region.arguments[1]].extent, Extent::Lanes);
  EXPECT_FALSE(p->perThread) << "lanes of a region are no threads";
}

TEST(Instructions, OnlyOneOpInOrderIsTheFastPath) {
  EXPECT_EQ(lowered(reduceWith("%c = arith.subf %b, %a : f32"))->regions[0].binary, kNoBinary);
  auto general = lowered(reduceWith("%d = arith.mulf %a, %k : f32\n %c = arith.addf %d, %b : f32"));
  EXPECT_EQ(general->regions[0].binary, kNoBinary);
  const Instruction& spread = general->code[general->regions[0].begin];
  EXPECT_EQ(spread.op, Op::Splat);
  EXPECT_EQ(plain(general->operands(spread)[0]), general->arguments[1].reg);
  EXPECT_FALSE(isLast(*general, spread, 0)) << "the region runs again";
}

TEST(Instructions, RegionResultIsNoArgument) {
  auto p = lowered(reduceWith("%c = arith.constant 0.0 : f32"));
  EXPECT_EQ(p->registers[p->regions[0].results[0]].extent, Extent::Lanes);
  auto selected = lowered(reduceWith("%e = arith.cmpf ogt, %a, %b : f32\n %c = arith.select %e, %a, %b : f32"));
  EXPECT_EQ(selected->regions[0].binary, kNoBinary);
}

TEST(Instructions, UniformForTestsAndJumps) {
  auto p = lowered(R"(func.func @f(%n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %c0, %b = %c1) -> (i32, i32) : i32 {
      scf.yield %b, %a : i32, i32
    }
    tile.print "x" {hex = false, isSigned = array<i1: true>} : %r#0 : i32
    return
  })");
  const Instruction& test = find(*p, Op::ForTest);
  const Instruction& jump = find(*p, Op::Jump);
  EXPECT_EQ(p->as<imm::Jump>(jump).target, pcOf(*p, test));
  EXPECT_EQ(p->as<imm::ForTest>(test).target, pcOf(*p, jump) + 1);
  EXPECT_FALSE(isLast(*p, test, 0));
  EXPECT_FALSE(isLast(*p, test, 1)) << "the bound is read again in the next round";
  // A swap needs a third register.
  std::vector<std::pair<Register, Register>> copies;
  for (uint32_t pc = pcOf(*p, test); pc < pcOf(*p, jump); ++pc)
    if (p->code[pc].op == Op::Copy) copies.push_back({plain(p->operands(p->code[pc])[0]), p->results(p->code[pc])[0]});
  ASSERT_EQ(copies.size(), 3u);
  EXPECT_EQ(copies[0].second, copies[2].first);
  EXPECT_EQ(copies[0].first, copies[1].second);
}

TEST(Instructions, UnknownStepIsChecked) {
  auto p = lowered("func.func @f(%n: i32) { scf.for %i = %n to %n step %n : i32 { } return }");
  EXPECT_EQ(p->strings[p->as<imm::Assert>(find(*p, Op::Assert)).message], "the step of a loop must be positive");
}

}  // namespace
}  // namespace tandem::lower::test
