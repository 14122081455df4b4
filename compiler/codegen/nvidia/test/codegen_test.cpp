// Modules to PTX: attributes, optimisation, libdevice, source lines, and failures that stay diagnostics.
#include "compiler/codegen/nvidia/asm/warp.h"
#include "compiler/codegen/nvidia/guard.h"
#include "compiler/codegen/nvidia/test/build.h"
#include <chrono>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#if __has_feature(address_sanitizer)
#include <sanitizer/lsan_interface.h>
#endif

namespace tandem::codegen::test {
namespace {

// LLVM's memory is lost if it breaks off in the middle of its work (guard.h), and so is the kernel that it worked on.
struct LostMemory {
#if __has_feature(address_sanitizer)
  __lsan::ScopedDisabler disabler;
#endif
};

llvm::Value* threadIndex(llvm::IRBuilder<>& b) {
  return b.CreateIntrinsic(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, {});
}

// out[tid] = f(in[tid])
template <class F>
void buildMap(TestKernel& k, F&& f) {
  auto* at = threadIndex(k.b);
  auto* x = k.b.CreateLoad(k.b.getFloatTy(), k.b.CreateGEP(k.b.getFloatTy(), k.in(), at));
  k.b.CreateStore(f(x), k.b.CreateGEP(k.b.getFloatTy(), k.out(), at));
}

llvm::Value* callFloat(TestKernel& k, const char* name, llvm::Value* x) {
  return k.b.CreateCall(k.module().getOrInsertFunction(name, k.b.getFloatTy(), k.b.getFloatTy()), x);
}

TEST(Codegen, KernelAttributes) {
  TestKernel k("sm_90a");
  markKernel(k.function(), {.threads = 384, .cluster = {2, 1, 1}, .maxRegisters = 168, .minBlocks = 1});
  std::string ptx = k.ptx();
  expectText(ptx, {".version 8.6", ".target sm_90a", ".visible .entry k(", ".reqntid 384, 1, 1",
                   ".reqnctapercluster 2, 1, 1", ".maxnreg 168", ".minnctapersm 1"});
}

TEST(Codegen, EveryTargetAssembles) {
  for (const std::string& name : target::TargetInfo::knownNames()) {
    TestKernel k(name.c_str());
    buildMap(k, [&](llvm::Value* x) { return k.b.CreateFAdd(x, k.f32()); });
    std::string ptx = k.ptx();
    expectText(ptx, {".target ", "ld.global", "st.global"});
    if (Cubin cubin = assemble(ptx, k.target()); !cubin.image.empty()) {
      EXPECT_EQ(cubin.image.substr(1, 3), "ELF");
      EXPECT_GT(cubin.registers, 0);
      EXPECT_EQ(cubin.spillBytes, 0);
    }
  }
}

// ptxas takes some 64-bit shifts by 31 for products with -2**31.
TEST(Codegen, No64BitShiftBy31) {
  TestKernel k("sm_90a");
  auto* stride = k.b.CreateLoad(k.b.getInt64Ty(), k.in());
  k.b.CreateStore(k.b.CreateShl(stride, 31), k.out());
  std::string ptx = k.ptx();
  expectText(ptx, {"shf.l.wrap.b32 high, low, high, 31; shl.b32 low, low, 31;"});
  EXPECT_EQ(ptx.find("shl.b64"), ptx.npos) << ptx;
  assemble(ptx, k.target());
}

TEST(Codegen, FusedMultiplyAddOnlyWhereAllowed) {
  for (bool fuse : {false, true}) {
    TestKernel k("sm_80");
    buildMap(k, [&](llvm::Value* x) { return k.b.CreateFAdd(k.b.CreateFMul(x, k.f32()), x); });
    EXPECT_EQ(k.ptx({.fuseMulAdd = fuse}).find("fma.rn") != std::string::npos, fuse);
  }
}

// Rows of a matrix, each read by a multiple of its width: the next address is the last one plus the width, unless the
// function is so long that LLVM would look for such neighbours for minutes.
TEST(Codegen, LongFunctionsKeepTheirMultiplications) {
  for (bool isLong : {false, true}) {
    TestKernel k("sm_90a");
    int rows = isLong ? 4000 : 16;
    for (int row = 1; row <= rows; ++row) {
      auto* at = k.b.CreateGEP(k.b.getFloatTy(), k.in(), k.b.CreateMul(k.i64(), k.b.getInt64(row)));
      k.keep(k.b.CreateLoad(k.b.getFloatTy(), at, true));
    }
    std::string ptx = k.ptx();
    EXPECT_EQ(countOf(ptx, "ld.volatile.global.b32"), size_t(rows));
    EXPECT_EQ(countOf(ptx, "mul") + countOf(ptx, "mad") + countOf(ptx, "shl") > size_t(rows) / 2, isLong)
        << ptx.substr(0, 3000);
  }
}

// 2000 shuffles in one block take ptxas seconds where it looks at all of them for each.
TEST(Codegen, LongRunsOfShufflesAreDivided) {
  for (const char* target : {"sm_80", "sm_89", "sm_90a"})
    for (bool asAssembly : {false, true}) {
      TestKernel k(target);
      auto& b = k.b;
      llvm::Value *value = k.i32(), *lane = b.CreateXor(threadIndex(b), 1);
      for (int i = 0; i < 600; ++i) {
        value = asAssembly ? ptx::shuffle(b, ptx::Shuffle::Index, value, lane)
                           : b.CreateIntrinsic(b.getInt32Ty(), llvm::Intrinsic::nvvm_shfl_sync_idx_i32,
                                               {b.getInt32(-1), value, lane, b.getInt32(31)});
        value = b.CreateMul(value, k.i32());
      }
      k.keep(value);
      std::string ptx = k.ptx();
      EXPECT_EQ(countOf(ptx, "shfl.sync.idx.b32"), 600u);
      EXPECT_EQ(countOf(ptx, "bar.warp.sync"), std::string(target) == "sm_90a" ? 0u : 4u) << target;
      assemble(ptx, k.target());
    }
}

// Threads that are not of the mask must not be waited for.
TEST(Codegen, ShufflesOfSomeThreadsAreNotDivided) {
  TestKernel k("sm_80");
  llvm::Value* value = k.i32();
  for (int i = 0; i < 600; ++i)
    value = k.b.CreateMul(ptx::shuffle(k.b, ptx::Shuffle::Index, value, k.b.getInt32(0), 32, k.b.getInt32(0xffff)),
                          k.i32());
  k.keep(value);
  EXPECT_EQ(countOf(k.ptx(), "bar.warp.sync"), 0u);
}

TEST(Codegen, DynamicSharedMemory) {
  TestKernel k("sm_90a");
  EXPECT_EQ(k.shared(), k.shared());
  k.b.CreateStore(k.i32(), k.shared());
  std::string ptx = k.ptx();
  expectText(ptx, {".extern .shared .align 1024 .b8 tandem_shared[]", "st.shared.b32"});
  assemble(ptx, k.target());
}

// The branch's arms both lead to a shuffle; duplicating it would split the warp.
TEST(Codegen, AssemblyIsNotDuplicatedIntoBranches) {
  TestKernel k("sm_80");
  auto& b = k.b;
  auto block = [&](const char* name) { return llvm::BasicBlock::Create(b.getContext(), name, &k.function()); };
  auto *yes = block("yes"), *no = block("no"), *join = block("join"), *yes2 = block("yes2"), *end = block("end");
  auto* p = k.predicate();
  b.CreateCondBr(p, yes, no);
  b.SetInsertPoint(yes);
  b.CreateStore(k.i32(), k.out());
  b.CreateBr(join);
  b.SetInsertPoint(no);
  b.CreateBr(join);
  b.SetInsertPoint(join);
  auto* type = llvm::FunctionType::get(b.getInt32Ty(), {b.getInt32Ty()}, false);
  auto* shuffle = llvm::InlineAsm::get(type, "shfl.sync.bfly.b32 $0, $1, 1, 31, -1;", "=r,r", true);
  auto* x = b.CreateCall(shuffle, {k.i32()});
  b.CreateCondBr(p, yes2, end);
  b.SetInsertPoint(yes2);
  b.CreateStore(x, k.in());
  b.CreateBr(end);
  b.SetInsertPoint(end);
  EXPECT_EQ(countOf(k.ptx(), "shfl.sync"), 1u);
}

TEST(Codegen, LibdeviceIsLinkedWhenCalled) {
  std::vector<std::string> searched;
  if (!findLibdevice({}, searched)) GTEST_SKIP() << "no libdevice here";
  TestKernel k("sm_90a");
  buildMap(k, [&](llvm::Value* x) { return callFloat(k, "__nv_tanhf", callFloat(k, "__nv_expf", x)); });
  linkLibdevice(k.module());
  std::string ptx = k.ptx();
  EXPECT_EQ(ptx.find("__nv"), std::string::npos) << ptx;
  expectText(ptx, {"ex2.approx.ftz.f32"});
  assemble(ptx, k.target());
}

TEST(Codegen, LibdeviceWithDenormals) {
  std::vector<std::string> searched;
  if (!findLibdevice({}, searched)) GTEST_SKIP() << "no libdevice here";
  TestKernel k("sm_90a");
  buildMap(k, [&](llvm::Value* x) { return callFloat(k, "__nv_exp2f", x); });
  linkLibdevice(k.module(), {}, false);
  std::string ptx = k.ptx();
  EXPECT_EQ(ptx.find(".ftz"), std::string::npos) << ptx;
}

TEST(Codegen, LibdeviceIsNotLookedForWithoutACall) {
  TestKernel k("sm_80");
  linkLibdevice(k.module(), {.libdevice = "/nowhere/libdevice.10.bc"});
  expectText(k.ptx(), {".entry k("});
}

TEST(Codegen, MissingLibdeviceNamesTheFunctionAndThePlace) {
  TestKernel k("sm_80");
  buildMap(k, [&](llvm::Value* x) { return callFloat(k, "__nv_erff", x); });
  Diagnostic d = errorOf([&] { linkLibdevice(k.module(), {.libdevice = "/nowhere/libdevice.10.bc"}); });
  EXPECT_EQ(d.kind, "missing-libdevice");
  EXPECT_EQ(d.message, "`__nv_erff` needs `libdevice.10.bc`, which was looked for at\n  /nowhere/libdevice.10.bc");
}

TEST(Codegen, BrokenLibdeviceIsRefused) {
  TestKernel k("sm_80");
  buildMap(k, [&](llvm::Value* x) { return callFloat(k, "__nv_erff", x); });
  std::string notBitcode = TANDEM_SOURCE_DIR "/CMakeLists.txt";
  Diagnostic d = errorOf([&] { linkLibdevice(k.module(), {.libdevice = notBitcode}); });
  EXPECT_EQ(d.kind, "missing-libdevice");
  EXPECT_NE(d.message.find(notBitcode), std::string::npos);
}

TEST(Codegen, UnknownLibdeviceFunction) {
  std::vector<std::string> searched;
  if (!findLibdevice({}, searched)) GTEST_SKIP() << "no libdevice here";
  TestKernel k("sm_80");
  buildMap(k, [&](llvm::Value* x) { return callFloat(k, "__nv_wobblef", x); });
  Diagnostic d = errorOf([&] { linkLibdevice(k.module()); });
  EXPECT_EQ(d.kind, "unknown-libdevice-function");
  EXPECT_NE(d.message.find("`__nv_wobblef` is not in"), std::string::npos);
}

TEST(Codegen, LinesReachThePtxAndTheCubin) {
  TestKernel k("sm_90a");
  LineTable lines(k.module(), "/src/kernels/add.py", true);
  auto* scope = lines.addFunction(k.function(), {"/src/kernels/add.py", 7, 1});
  k.b.SetCurrentDebugLocation(lines.location(scope, {"/src/kernels/add.py", 12, 9}));
  auto* x = k.b.CreateLoad(k.b.getFloatTy(), k.in());
  auto* callee = lines.inlinedFunction("helper", {"/src/kernels/lib.py", 2, 1});
  k.b.SetCurrentDebugLocation(
      lines.location(callee, {"/src/kernels/lib.py", 3, 5}, k.b.getCurrentDebugLocation().get()));
  k.b.CreateStore(k.b.CreateFAdd(x, k.f32()), k.out());
  k.b.SetCurrentDebugLocation(lines.location(scope, {"/src/kernels/add.py", 14, 1}));
  lines.finish();
  std::string ptx = k.ptx();
  expectText(ptx, {" 12 9", " 3 5", "add.py\"", "lib.py\""});
  EXPECT_EQ(ptx.find("debug\n"), std::string::npos) << ptx;
  Cubin with = assemble(ptx, k.target(), {.lineInfo = true});
  if (!with.image.empty()) EXPECT_NE(with.image.find(".debug_line"), std::string::npos);
}

TEST(Codegen, ADisabledLineTableAddsNothing) {
  TestKernel k("sm_90a");
  LineTable lines(k.module(), "add.py", false);
  EXPECT_EQ(lines.addFunction(k.function(), {"add.py", 7, 1}), nullptr);
  EXPECT_EQ(lines.location(nullptr, {"add.py", 7, 1}), nullptr);
  lines.finish();
  EXPECT_EQ(k.ptx().find(".loc"), std::string::npos);
}

TEST(Codegen, WhatLlvmCannotSelectIsAnError) {
  [[maybe_unused]] LostMemory expected;
  auto* k = new TestKernel("sm_80");
  buildMap(*k, [&](llvm::Value* x) { return k->b.CreateUnaryIntrinsic(llvm::Intrinsic::tan, x); });
  Diagnostic d = errorOf([&] { k->ptx(); });
  EXPECT_EQ(d.kind, "internal");
  EXPECT_EQ(d.message.rfind("could not generate code for `k`: ", 0), 0u) << d.message;
  TestKernel next("sm_80");
  buildMap(next, [&](llvm::Value* x) { return x; });
  expectText(next.ptx(), {".entry k("});
}

TEST(Codegen, InvalidIrIsAnError) {
  [[maybe_unused]] LostMemory expected;
  auto* k = new TestKernel("sm_80");
  llvm::BasicBlock::Create(k->b.getContext(), "empty", &k->function());
  Diagnostic d = errorOf([&] { k->ptx(); });
  EXPECT_NE(d.message.find("does not have terminator"), std::string::npos) << d.message;
}

TEST(Guard, ErrorDiagnosticsDoNotEndTheProcess) {
  llvm::LLVMContext context;
  Diagnostic d = errorOf([&] { guarded("do it", context, [&] { context.emitError("no such register"); }); });
  EXPECT_NE(d.message.find("could not do it: "), std::string::npos) << d.message;
  EXPECT_NE(d.message.find("no such register"), std::string::npos) << d.message;
}

TEST(Guard, CrashesAreErrors) {
  llvm::LLVMContext context;
  Diagnostic d = errorOf([&] { guarded("do it", context, [] { std::abort(); }); });
  EXPECT_EQ(d.message, "could not do it: LLVM crashed");
}

// Prints, without judging it, the time that a chain of a thousand operations takes in each stage.
TEST(Codegen, CompileTime) {
  using Clock = std::chrono::steady_clock;
  auto ms = [](Clock::duration d) { return std::chrono::duration<double, std::milli>(d).count(); };
  for (int operations : {1, 200, 1500}) {
    TestKernel k("sm_90a");
    auto* at = threadIndex(k.b);
    for (int i = 0; i < operations; ++i) {
      auto* index = k.b.CreateAdd(at, k.b.getInt32(i * 128));
      auto* x = k.b.CreateLoad(k.b.getFloatTy(), k.b.CreateGEP(k.b.getFloatTy(), k.in(), index));
      auto* y = k.b.CreateFAdd(k.b.CreateFMul(x, k.f32()), x);
      k.b.CreateStore(y, k.b.CreateGEP(k.b.getFloatTy(), k.out(), index));
    }
    auto start = Clock::now();
    std::string ptx = k.ptx();
    auto printed = Clock::now();
    Cubin cubin = assemble(ptx, k.target());
    std::cout << operations << " x (load, fma, store): PTX " << ms(printed - start) << " ms, cubin "
              << ms(Clock::now() - printed) << " ms\n";
    EXPECT_EQ(countOf(ptx, "fma.rn.f32"), size_t(operations));
  }
}

}  // namespace
}  // namespace tandem::codegen::test
