// Warp exchange, special registers, approximate functions, conversions.
#include "compiler/codegen/nvidia/test/asm.h"

namespace tandem::codegen::test {
namespace {

TEST(AsmWarp, Shuffles) {
  std::string ptx = check("sm_80",
                          [](TestKernel& k) {
                            auto* one = k.b.getInt32(1);
                            k.keep(shuffle(k.b, Shuffle::Butterfly, k.i32(), k.b.getInt32(16)));
                            k.keep(shuffle(k.b, Shuffle::Up, k.i32(), one));
                            k.keep(shuffle(k.b, Shuffle::Down, k.f32(), one, 8));
                            k.keep(shuffle(k.b, Shuffle::Index, k.i64(), k.i32()));
                            k.keep(shuffle(k.b, Shuffle::Index, k.b.CreateFPTrunc(k.f32(), k.b.getHalfTy()), k.i32(),
                                           32, k.b.getInt32(255)));
                            k.keep(shuffle(k.b, Shuffle::Index, k.generic(), one));
                          },
                          {"shfl.sync.bfly.b32", ", 16, 31, -1;", "shfl.sync.up.b32", ", 1, 0, -1;",
                           "shfl.sync.down.b32", ", 1, 6175, -1;", ", 31, 255;"});
  EXPECT_EQ(countOf(ptx, "shfl.sync.idx"), 5u) << ptx;
}

TEST(AsmWarp, ReductionsAndBallots) {
  check("sm_90a",
        [](TestKernel& k) {
          for (WarpReduction op :
               {WarpReduction::Add, WarpReduction::MinS32, WarpReduction::MaxS32, WarpReduction::MinU32,
                WarpReduction::MaxU32, WarpReduction::And, WarpReduction::Or, WarpReduction::Xor})
            k.keep(reduceWarp(k.b, op, k.i32()));
          k.keep(ballot(k.b, k.predicate()));
          k.keep(activeMask(k.b));
          syncWarp(k.b);
        },
        {"redux.sync.add.s32", "redux.sync.min.s32", "redux.sync.max.s32", "redux.sync.min.u32", "redux.sync.max.u32",
         "redux.sync.and.b32", "redux.sync.or.b32", "redux.sync.xor.b32", "vote.sync.ballot.b32", "activemask.b32",
         "bar.warp.sync -1;"});
}

// A result needed only behind a branch is still computed by the whole warp before it.
TEST(AsmWarp, CollectivesDoNotSinkIntoABranch) {
  TestKernel k("sm_80");
  auto& b = k.b;
  auto* yes = llvm::BasicBlock::Create(b.getContext(), "yes", &k.function());
  auto* end = llvm::BasicBlock::Create(b.getContext(), "end", &k.function());
  auto* x = shuffle(b, Shuffle::Butterfly, special(b, Special::Lane), b.getInt32(1));
  b.CreateCondBr(b.CreateICmpEQ(special(b, Special::Lane), b.getInt32(0)), yes, end);
  b.SetInsertPoint(yes);
  k.keep(x);
  b.CreateBr(end);
  b.SetInsertPoint(end);
  std::string ptx = k.ptx();
  size_t shuffleAt = ptx.find("shfl.sync"), branchAt = std::min(ptx.find("bra"), ptx.find("@%p"));
  EXPECT_LT(shuffleAt, branchAt) << ptx;
}

TEST(AsmSpecial, Registers) {
  check(
      "sm_90a",
      [](TestKernel& k) {
        for (int i = 0; i <= int(Special::ClusterRank); ++i) k.keep(special(k.b, Special(i)));
        k.keep(globalTimer(k.b));
        k.keep(clock(k.b));
        sleepNanoseconds(k.b, k.b.getInt32(100));
        sleepNanoseconds(k.b, k.i32());
        trap(k.b, k.predicate());
      },
      {"%ctaid.x", "%ctaid.y", "%ctaid.z", "%nctaid.x", "%nctaid.y", "%nctaid.z", "%laneid", "%smid", "%nsmid",
       "%clusterid.x", "%nclusterid.x", "%cluster_ctarank", "%globaltimer", "%clock64", "nanosleep.u32 100;", "trap;"});
}

TEST(AsmSpecial, TwoReadingsOfTheClockStayTwo) {
  TestKernel k("sm_80");
  auto* start = clock(k.b);
  k.keep(k.b.CreateSub(clock(k.b), start));
  EXPECT_EQ(countOf(k.ptx(), "%clock64"), 2u);
}

TEST(AsmMath, Floats) {
  check("sm_80",
        [](TestKernel& k) {
          for (int f = 0; f <= int(Approximate::Tanh); ++f) k.keep(approximate(k.b, Approximate(f), k.f32()));
          k.keep(approximate(k.b, Approximate::Exp2, k.f32(), false));
        },
        {"ex2.approx.ftz.f32", "lg2.approx.ftz.f32", "sqrt.approx.ftz.f32", "rsqrt.approx.ftz.f32",
         "sin.approx.ftz.f32", "cos.approx.ftz.f32", "tanh.approx.f32", "ex2.approx.f32"});
}

TEST(AsmMath, SixteenBits) {
  check("sm_90a",
        [](TestKernel& k) {
          for (llvm::Type* scalar : {k.b.getHalfTy(), k.b.getBFloatTy()}) {
            auto* x = k.b.CreateFPTrunc(k.f32(), scalar);
            auto* pair = k.b.CreateVectorSplat(2, x);
            for (Approximate f : {Approximate::Exp2, Approximate::Tanh}) {
              k.keep(approximate(k.b, f, x));
              k.keep(approximate(k.b, f, pair));
            }
          }
        },
        {"ex2.approx.f16 ", "ex2.approx.f16x2", "tanh.approx.f16 ", "tanh.approx.f16x2", "ex2.approx.ftz.bf16 ",
         "ex2.approx.ftz.bf16x2", "tanh.approx.bf16 ", "tanh.approx.bf16x2"});
}

// Equal calls are merged, unused ones dropped: they depend on their operands alone.
TEST(AsmMath, PureCallsAreMerged) {
  TestKernel k("sm_80");
  k.keep(k.b.CreateFAdd(approximate(k.b, Approximate::Exp2, k.f32()), approximate(k.b, Approximate::Exp2, k.f32())));
  approximate(k.b, Approximate::Log2, k.f32());
  std::string ptx = k.ptx();
  EXPECT_EQ(countOf(ptx, "ex2.approx"), 1u);
  EXPECT_EQ(countOf(ptx, "lg2.approx"), 0u);
}

TEST(AsmConvert, Packed) {
  check("sm_90a",
        [](TestKernel& k) {
          auto* one = llvm::ConstantFP::get(k.b.getFloatTy(), 1.0);
          auto* half = packHalf(k.b, k.f32(), one);
          k.keep(half);
          k.keep(packHalf(k.b, k.f32(), one, true));
          k.keep(packBfloat(k.b, k.f32(), one));
          k.keep(packBfloat(k.b, k.f32(), one, true));
          for (Float8 type : {Float8::E4M3, Float8::E5M2}) {
            k.keep(packFloat8(k.b, type, k.f32(), one));
            k.keep(float8ToHalf(k.b, type, halfToFloat8(k.b, type, half)));
          }
        },
        {"cvt.rn.f16x2.f32", "cvt.rz.f16x2.f32", "cvt.rn.bf16x2.f32", "cvt.rz.bf16x2.f32",
         "cvt.rn.satfinite.e4m3x2.f32", "cvt.rn.satfinite.e5m2x2.f32", "cvt.rn.satfinite.e4m3x2.f16x2",
         "cvt.rn.satfinite.e5m2x2.f16x2", "cvt.rn.f16x2.e4m3x2", "cvt.rn.f16x2.e5m2x2"});
}

// The first element is the lower one, which PTX names last.
TEST(AsmConvert, FirstElementIsTheLowerOne) {
  TestKernel k("sm_80");
  auto* one = llvm::ConstantFP::get(k.b.getFloatTy(), 1.0);
  k.keep(packHalf(k.b, k.f32(), one));
  std::string ptx = k.ptx();
  size_t at = ptx.find("cvt.rn.f16x2.f32");
  ASSERT_NE(at, std::string::npos) << ptx;
  std::string line = ptx.substr(at, ptx.find(';', at) - at);
  std::string upper = line.substr(line.find(", ") + 2);
  upper = upper.substr(0, upper.find(","));
  EXPECT_NE(ptx.find("mov.b32 \t" + upper + ", 1065353216"), std::string::npos) << ptx;
}

}  // namespace
}  // namespace tandem::codegen::test
