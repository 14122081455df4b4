// Makes small modules with one kernel, and sees whether ptxas takes their PTX.
#pragma once
#include "base/diagnostic.h"
#include "compiler/codegen/nvidia/codegen.h"
#include <gtest/gtest.h>
#include <iostream>
#include <llvm/IR/IRBuilder.h>

namespace tandem::codegen::test {

// Kernel `k` for `target`: pointers first, then 32-bit integers, floats and predicates of the caller's making.
class TestKernel {
 public:
  explicit TestKernel(const char* target, int threads = 128)
      : target_(target::TargetInfo::named(target)), context_(new llvm::LLVMContext),
        module_(new llvm::Module("m", *context_)), b(*context_) {
    prepareModule(*module_, target_);
    auto* global = llvm::PointerType::get(*context_, 1);
    llvm::Type* types[] = {global, global, b.getInt32Ty(), b.getInt64Ty(), b.getFloatTy(), b.getPtrTy()};
    auto* type = llvm::FunctionType::get(b.getVoidTy(), types, false);
    function_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, "k", *module_);
    markKernel(*function_, {.threads = threads});
    b.SetInsertPoint(llvm::BasicBlock::Create(*context_, "entry", function_));
  }

  llvm::Value* in() { return function_->getArg(0); }
  llvm::Value* out() { return function_->getArg(1); }
  llvm::Value* i32() { return function_->getArg(2); }
  llvm::Value* i64() { return function_->getArg(3); }
  llvm::Value* f32() { return function_->getArg(4); }
  llvm::Value* generic() { return function_->getArg(5); }
  llvm::Value* predicate() { return b.CreateICmpSGT(i32(), b.getInt32(5)); }
  llvm::Value* shared() { return dynamicShared(*module_); }
  llvm::Function& function() { return *function_; }
  llvm::Module& module() { return *module_; }
  const target::TargetInfo& target() const { return target_; }

  // Keeps `value` alive.
  void keep(llvm::Value* value) {
    if (value->getType()->isIntegerTy(1)) value = b.CreateZExt(value, b.getInt32Ty());
    b.CreateStore(value, out(), true);
  }
  void keep(llvm::ArrayRef<llvm::Value*> values) {
    for (llvm::Value* v : values) keep(v);
  }

  // Ends the kernel; its PTX.
  std::string ptx(const PtxOptions& options = {}) {
    b.CreateRetVoid();
    return toPtx(*module_, target_, options);
  }

 private:
  const target::TargetInfo& target_;
  std::unique_ptr<llvm::LLVMContext> context_;
  std::unique_ptr<llvm::Module> module_;
  llvm::Function* function_ = nullptr;

 public:
  llvm::IRBuilder<> b;
};

inline Cubin assemble(const std::string& ptx, const target::TargetInfo& target, const CubinOptions& options = {}) {
  Cubin none;
  try {
    if (std::optional<Cubin> cubin = toCubin(ptx, target, options)) return *cubin;
    std::cout << "no ptxas here: PTX was not assembled\n";
  } catch (const CompileError& e) {
    ADD_FAILURE() << e.diagnostic.message << "\n" << ptx;
  }
  return none;
}

inline void expectText(const std::string& ptx, std::initializer_list<const char*> parts) {
  for (const char* part : parts) EXPECT_NE(ptx.find(part), std::string::npos) << "no `" << part << "` in\n" << ptx;
}

inline size_t countOf(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

template <class F>
Diagnostic errorOf(F&& work) {
  try {
    work();
  } catch (const CompileError& e) {
    return e.diagnostic;
  }
  ADD_FAILURE() << "no error";
  return {};
}

}  // namespace tandem::codegen::test
