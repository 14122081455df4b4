// Values that differ by thread: which they are, and how conditions on them run.
#include "compiler/lower/sim/test/lowered.h"

namespace tandem::lower::test {
using namespace interpreter;
namespace {

TEST(Thread, SplatsWhatMeetsAThreadsValue) {
  auto p = lowered(R"(func.func @f(%n: i32, %m: i32) {
    %t = simt.tid 0
    %u = arith.addi %n, %m : i32
    %v = arith.addi %t, %n : i32
    %c = arith.constant 3 : i32
    %w = arith.muli %v, %c : i32
    return
  })");
  EXPECT_TRUE(p->perThread);
  EXPECT_EQ(opsOf(*p), (std::vector<Op>{Op::Tid, Op::Binary, Op::Splat, Op::Binary, Op::Constant, Op::Constant,
                                        Op::Binary, Op::Return}));
  EXPECT_EQ(resultType(*p, p->code[1]).extent, Extent::Uniform);
  EXPECT_EQ(resultType(*p, p->code[3]).extent, Extent::Lanes);
  EXPECT_EQ(resultType(*p, p->code[5]).extent, Extent::Lanes) << "a constant is written for all threads at once";
}

TEST(Thread, IfMergesUnderTheMask) {
  auto p = lowered(R"(func.func @f(%n: i32) {
    %t = simt.tid 0
    %c = arith.cmpi slt, %t, %n : i32
    %r = scf.if %c -> i32 {
      %a = arith.addi %n, %n : i32
      scf.yield %a : i32
    } else {
      scf.yield %t : i32
    }
    %u = arith.addi %r, %n : i32
    return
  })");
  const Instruction& begin = find(*p, Op::IfBegin);
  const Instruction& otherwise = find(*p, Op::IfElse);
  EXPECT_EQ(p->as<imm::IfBegin>(begin).target, pcOf(*p, otherwise));
  EXPECT_EQ(p->as<imm::IfElse>(otherwise).target, pcOf(*p, find(*p, Op::IfEnd)));
  const Instruction &first = find(*p, Op::MaskedCopy, 0), &second = find(*p, Op::MaskedCopy, 1);
  EXPECT_EQ(p->results(first)[0], p->results(second)[0]);
  EXPECT_EQ(resultType(*p, first).extent, Extent::Lanes);
  EXPECT_EQ(p->registers[plain(p->operands(first)[0])].extent, Extent::Lanes);
}

TEST(Thread, ForWithAThreadsBoundIsMasked) {
  auto p = lowered(R"(func.func @f(%n: i32) {
    %t = simt.tid 0
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %r = scf.for %i = %c0 to %t step %c1 iter_args(%a = %n) -> i32 : i32 {
      %b = arith.addi %a, %i : i32
      scf.yield %b : i32
    }
    return
  })");
  const Instruction& test = find(*p, Op::LoopTest);
  EXPECT_EQ(p->as<imm::LoopTest>(test).target, pcOf(*p, find(*p, Op::LoopEnd)));
  EXPECT_EQ(p->as<imm::Jump>(find(*p, Op::Jump)).target, pcOf(*p, find(*p, Op::LoopBegin)) + 1);
  EXPECT_EQ(find(*p, Op::MaskedCopy).op, Op::MaskedCopy);
}

TEST(Thread, UniformWhileUnderAMaskStaysUniform) {
  auto p = lowered(R"(func.func @f(%p: !tile.ptr<i32>) {
    %t = simt.tid 0
    %c0 = arith.constant 0 : i32
    %c = arith.cmpi eq, %t, %c0 : i32
    scf.if %c {
      scf.while : () -> () {
        %v = simt.ld acquire sys %p : !tile.ptr<i32> -> i32
        %d = arith.cmpi eq, %v, %c0 : i32
        scf.condition(%d)
      } do {
        scf.yield
      }
    }
    return
  })");
  const Instruction& back = find(*p, Op::LoopBack);
  EXPECT_EQ(p->code[p->as<imm::LoopBack>(back).target].op, Op::Ld);
  EXPECT_EQ(p->as<imm::Branch>(find(*p, Op::Branch)).target, pcOf(*p, back) + 1);
  EXPECT_EQ(resultType(*p, find(*p, Op::Ld)).extent, Extent::Uniform);
}

TEST(Thread, WhileOnAThreadsConditionWritesResultsBeforeTheTest) {
  auto p = lowered(R"(func.func @f(%n: i32) {
    %t = simt.tid 0
    %c1 = arith.constant 1 : i32
    %r = scf.while (%a = %t) : (i32) -> i32 {
      %d = arith.cmpi slt, %a, %n : i32
      scf.condition(%d) %a : i32
    } do {
    ^bb0(%b: i32):
      %e = arith.addi %b, %c1 : i32
      scf.yield %e : i32
    }
    %u = arith.addi %r, %n : i32
    return
  })");
  EXPECT_LT(pcOf(*p, find(*p, Op::MaskedCopy)), pcOf(*p, find(*p, Op::LoopTest)));
  EXPECT_EQ(p->as<imm::LoopBack>(find(*p, Op::LoopBack)).target, pcOf(*p, find(*p, Op::LoopBegin)) + 1);
}

TEST(Thread, CarryBecomesAThreadsByItsYield) {
  auto p = lowered(R"(func.func @f(%n: i32) {
    %t = simt.tid 0
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %c0, %b = %c0) -> (i32, i32) : i32 {
      scf.yield %t, %a : i32, i32
    }
    return
  })");
  find(*p, Op::ForTest);
  int lanes = 0;
  for (const RegisterType& r : p->registers) lanes += r.extent == Extent::Lanes;
  EXPECT_EQ(lanes, 3) << "the thread index and both carries";
}

TEST(Thread, AtomicsOfThreadsSpreadTheirOperands) {
  auto p = lowered(R"(func.func @f(%p: !tile.ptr<i32>, %v: i32) {
    %a = simt.atomic_rmw add relaxed gpu %p, %v : !tile.ptr<i32>, i32 -> i32
    %b = tile.atomic_rmw add relaxed gpu %p, %v : !tile.ptr<i32>, i32 -> i32
    return
  })");
  const Instruction &each = find(*p, Op::AtomicRmw, 0), &once = find(*p, Op::AtomicRmw, 1);
  EXPECT_EQ(p->as<imm::AtomicRmw>(each).perThread, 1);
  EXPECT_EQ(p->as<imm::AtomicRmw>(once).perThread, 0);
  EXPECT_EQ(p->operands(each)[2], kNone);
  EXPECT_EQ(p->operands(once)[2], kNone);
  EXPECT_EQ(resultType(*p, each).extent, Extent::Lanes);
  EXPECT_EQ(resultType(*p, once).extent, Extent::Uniform);
}

TEST(Thread, AtomicsUnderAThreadsConditionAreEachOnes) {
  auto p = lowered(R"(func.func @f(%p: !tile.ptr<i32>, %v: i32, %n: i32) {
    %t = simt.tid 0
    %c = arith.cmpi slt, %t, %n : i32
    %d = arith.cmpi slt, %v, %n : i32
    scf.if %c {
      %a = tile.atomic_rmw add relaxed gpu %p, %v : !tile.ptr<i32>, i32 -> i32
    }
    scf.if %d {
      %a = tile.atomic_rmw add relaxed gpu %p, %v : !tile.ptr<i32>, i32 -> i32
    }
    return
  })");
  const Instruction &each = find(*p, Op::AtomicRmw, 0), &once = find(*p, Op::AtomicRmw, 1);
  EXPECT_EQ(p->as<imm::AtomicRmw>(each).perThread, 1);
  EXPECT_EQ(resultType(*p, each).extent, Extent::Lanes);
  EXPECT_EQ(p->as<imm::AtomicRmw>(once).perThread, 0);
  EXPECT_EQ(resultType(*p, once).extent, Extent::Uniform);
}

TEST(Thread, LastUseRespectsTheNextRoundOfALoop) {
  auto p = lowered(R"(func.func @f(%n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %x = arith.constant dense<1.0> : tensor<8xf32>
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> tensor<8xf32> : i32 {
      %y = arith.addf %x, %x : tensor<8xf32>
      %b = arith.mulf %a, %y : tensor<8xf32>
      scf.yield %b : tensor<8xf32>
    }
    return
  })");
  const Instruction &add = find(*p, Op::Binary, 0), &mul = find(*p, Op::Binary, 1);
  EXPECT_FALSE(isLast(*p, add, 0));
  EXPECT_FALSE(isLast(*p, add, 1));
  EXPECT_TRUE(isLast(*p, mul, 0));
  EXPECT_TRUE(isLast(*p, mul, 1));
}

}  // namespace
}  // namespace tandem::lower::test
