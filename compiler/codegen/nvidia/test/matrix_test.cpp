// ldmatrix, stmatrix, mma.sync, wgmma: every type that is offered, assembled.
#include "compiler/codegen/nvidia/test/asm.h"

namespace tandem::codegen::test {
namespace {

TEST(AsmMatrix, LoadsAndStores) {
  for (unsigned count : {1, 2, 4})
    for (bool transposed : {false, true}) {
      std::string form = ".sync.aligned.m8n8.x" + std::to_string(count) + (transposed ? ".trans" : "") + ".shared.b16";
      check("sm_80", [&](TestKernel& k) { k.keep(loadMatrix(k.b, k.shared(), count, transposed)); },
            {("ldmatrix" + form).c_str()});
      check("sm_90a",
            [&](TestKernel& k) {
              storeMatrix(k.b, k.shared(), loadMatrix(k.b, k.b.getInt32(256), count, transposed), transposed);
            },
            {("stmatrix" + form).c_str()});
    }
}

struct MmaCase {
  const char* target;
  Element element;
  Accumulator accumulator;
  unsigned aRegisters;
  const char* text;
};

TEST(AsmMma, ShapesAndTypes) {
  const MmaCase cases[] = {
      {"sm_80", Element::F16, Accumulator::F32, 4, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"},
      {"sm_80", Element::F16, Accumulator::F32, 2, "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"},
      {"sm_80", Element::F16, Accumulator::F16, 4, "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16"},
      {"sm_80", Element::BF16, Accumulator::F32, 4, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"},
      {"sm_80", Element::TF32, Accumulator::F32, 4, "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"},
      {"sm_80", Element::S8, Accumulator::S32, 4, "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"},
      {"sm_80", Element::U8, Accumulator::S32, 4, "mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32"},
      {"sm_89", Element::E4M3, Accumulator::F32, 4, "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32"},
      {"sm_90a", Element::E5M2, Accumulator::F32, 4, "mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32"},
      {"sm_90a", Element::F64, Accumulator::F64, 4, "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64"},
  };
  for (const MmaCase& c : cases)
    check(c.target,
          [&](TestKernel& k) {
            llvm::Value* one = llvm::ConstantFP::get(k.b.getDoubleTy(), 1);
            llvm::Value* word = c.element == Element::F64 ? one : k.i32();
            Values a(c.aRegisters, word), b(c.aRegisters / 2, word);
            bool floats = c.accumulator == Accumulator::F32;
            Values d(c.accumulator == Accumulator::F16 ? 2 : 4, floats ? k.f32() : word);
            Values result = mmaSync(k.b, {.a = c.element, .b = c.element, .accumulator = c.accumulator}, a, b, d);
            EXPECT_EQ(result.size(), d.size());
            EXPECT_EQ(result[0]->getType(), d[0]->getType());
            k.keep(result);
          },
          {c.text});
}

struct WgmmaCase {
  Element element;
  Accumulator accumulator;
  const char* text;
};

const WgmmaCase kWgmma[] = {
    {Element::BF16, Accumulator::F32, "k16.f32.bf16.bf16"}, {Element::F16, Accumulator::F32, "k16.f32.f16.f16"},
    {Element::F16, Accumulator::F16, "k16.f16.f16.f16"},    {Element::TF32, Accumulator::F32, "k8.f32.tf32.tf32"},
    {Element::E4M3, Accumulator::F32, "k32.f32.e4m3.e4m3"}, {Element::E5M2, Accumulator::F32, "k32.f32.e5m2.e5m2"},
    {Element::E4M3, Accumulator::F16, "k32.f16.e4m3.e4m3"}, {Element::S8, Accumulator::S32, "k32.s32.s8.s8"},
    {Element::U8, Accumulator::S32, "k32.s32.u8.u8"},
};

void product(TestKernel& k, const WgmmaCase& c, int n, bool fromRegisters, bool keep) {
  bool halves = c.accumulator == Accumulator::F16;
  llvm::Type* type = c.accumulator == Accumulator::F32 ? k.b.getFloatTy() : k.b.getInt32Ty();
  Values d(n / (halves ? 4 : 2), llvm::Constant::getNullValue(type));
  Values a(4, k.i32());
  wgmmaFence(k.b);
  auto* result = wgmma(k.b,
                       {.n = n,
                        .a = c.element,
                        .b = c.element,
                        .accumulator = c.accumulator,
                        .descriptorA = fromRegisters ? nullptr : k.i64(),
                        .registersA = a,
                        .descriptorB = k.i64(),
                        .keep = keep ? k.predicate() : nullptr},
                       d);
  wgmmaCommit(k.b);
  Values out = wgmmaWait(k.b, 0, unpack(k.b, result));
  EXPECT_EQ(out.size(), d.size());
  EXPECT_EQ(out[0]->getType(), type);
  k.keep(out);
}

TEST(AsmWgmma, TypesAndPlacesOfA) {
  for (const WgmmaCase& c : kWgmma)
    for (bool fromRegisters : {false, true})
      check("sm_90a", [&](TestKernel& k) { product(k, c, 64, fromRegisters, !fromRegisters); },
            {("wgmma.mma_async.sync.aligned.m64n64" + std::string(c.text)).c_str(), "wgmma.fence.sync.aligned;",
             "wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 0;"});
}

TEST(AsmWgmma, Widths) {
  for (int n : {8, 96, 128, 256}) {
    std::string shape = "m64n" + std::to_string(n) + "k16";
    check("sm_90a", [&](TestKernel& k) { product(k, kWgmma[0], n, false, true); }, {shape.c_str()});
  }
}

TEST(AsmWgmma, Transpositions) {
  check("sm_90a",
        [](TestKernel& k) {
          Values d(4, k.f32());
          Wgmma op{.n = 8, .descriptorA = k.i64(), .descriptorB = k.i64(), .transposeA = true, .transposeB = true};
          k.keep(unpack(k.b, wgmma(k.b, op, d)));
        },
        {", keep, 1, 1, 1, 1;"});
}

TEST(AsmWgmma, SumsWhereTheyStand) {
  check("sm_90a", [](TestKernel& k) { k.keep({addedHere(k.b, k.i32(), 6)}); }, {"add.s32 ", ", 6;"});
}

// Accumulators carried through a loop stay where they are: no copies, no spills, no serialisation by ptxas.
TEST(AsmWgmma, LoopCarriesAccumulatorsInPlace) {
  TestKernel k("sm_90a");
  auto& b = k.b;
  auto* loop = llvm::BasicBlock::Create(b.getContext(), "loop", &k.function());
  auto* end = llvm::BasicBlock::Create(b.getContext(), "end", &k.function());
  auto* entry = b.GetInsertBlock();
  constexpr int kRegisters = 128;
  llvm::SmallVector<llvm::Type*> types(kRegisters, b.getFloatTy());
  auto* type = llvm::StructType::get(b.getContext(), types);
  b.CreateBr(loop);
  b.SetInsertPoint(loop);
  auto* i = b.CreatePHI(b.getInt32Ty(), 2);
  auto* d = b.CreatePHI(type, 2);
  i->addIncoming(b.getInt32(0), entry);
  d->addIncoming(llvm::Constant::getNullValue(type), entry);
  wgmmaFence(b);
  auto* next = wgmma(b, {.n = 256, .descriptorA = k.i64(), .descriptorB = k.i64()}, unpack(b, d));
  wgmmaCommit(b);
  wgmmaWait(b, 0);
  auto* count = b.CreateAdd(i, b.getInt32(1));
  i->addIncoming(count, loop);
  d->addIncoming(next, loop);
  b.CreateCondBr(b.CreateICmpSLT(count, k.i32()), loop, end);
  b.SetInsertPoint(end);
  k.keep(unpack(b, next));
  Cubin cubin = assemble(k.ptx(), k.target());
  if (cubin.image.empty()) return;
  EXPECT_EQ(cubin.spillBytes, 0) << cubin.log;
  EXPECT_LE(cubin.registers, 168) << cubin.log;
  EXPECT_EQ(cubin.log.find("serializ"), std::string::npos) << cubin.log;
}

}  // namespace
}  // namespace tandem::codegen::test
