// The bit arithmetic of the 8-bit floats against LLVM's own numbers: every code, and floats around every place where
// rounding turns.
#include "compiler/lower/gpu/float_format.h"
#include <gtest/gtest.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassManager.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <mlir/IR/MLIRContext.h>

namespace tandem::lower::gpu {
namespace {

using llvm::APFloat;

// A module of functions that return one constant each, once InstCombine has computed it.
class Folder {
 public:
  llvm::IRBuilder<> begin(llvm::Type* result, llvm::Type* operand) {
    auto* f = llvm::Function::Create(llvm::FunctionType::get(result, {operand}, false),
                                     llvm::GlobalValue::ExternalLinkage, "f", module_);
    functions_.push_back(f);
    return llvm::IRBuilder<>(llvm::BasicBlock::Create(context_, "", f));
  }
  // Returns the functions' results, in the order they were begun.
  std::vector<llvm::APInt> fold() {
    llvm::LoopAnalysisManager loops;
    llvm::FunctionAnalysisManager functions;
    llvm::CGSCCAnalysisManager graphs;
    llvm::ModuleAnalysisManager modules;
    llvm::PassBuilder builder;
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(graphs);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, graphs, modules);
    std::vector<llvm::APInt> out;
    for (llvm::Function* f : functions_) {
      llvm::InstCombinePass().run(*f, functions);
      llvm::Value* returned = llvm::cast<llvm::ReturnInst>(f->getEntryBlock().getTerminator())->getReturnValue();
      if (auto* number = llvm::dyn_cast<llvm::ConstantFP>(returned))
        out.push_back(number->getValueAPF().bitcastToAPInt());
      else
        out.push_back(llvm::cast<llvm::ConstantInt>(returned)->getValue());
    }
    return out;
  }
  llvm::LLVMContext& context() { return context_; }

 private:
  llvm::LLVMContext context_;
  llvm::Module module_{"m", context_};
  std::vector<llvm::Function*> functions_;
};

class Formats : public testing::TestWithParam<int> {
 protected:
  mlir::FloatType type() {
    switch (GetParam()) {
      case 0: return mlir::Float8E4M3FNType::get(&context_);
      case 1: return mlir::Float8E5M2Type::get(&context_);
      case 2: return mlir::Float8E4M3FNUZType::get(&context_);
      default: return mlir::Float8E5M2FNUZType::get(&context_);
    }
  }
  const llvm::fltSemantics& semantics() { return type().getFloatSemantics(); }
  Float8Format format() { return *Float8Format::of(type()); }
  float decoded(unsigned code) {
    APFloat number(semantics(), llvm::APInt(8, code));
    bool lost;
    number.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &lost);
    return number.convertToFloat();
  }

  // A value that is too large saturates; only infinity rounded towards zero stays infinite, in formats that have it.
  unsigned encoded(float x, bool towardZero) {
    APFloat number(x);
    bool isInfinite = number.isInfinity(), isNegative = number.isNegative();
    if (number.isNaN()) return format().nan();
    APFloat largest = APFloat::getLargest(semantics());
    bool lost;
    largest.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &lost);
    unsigned sign = isNegative ? 0x80 : 0;
    if (isInfinite && towardZero && format().specials == Specials::Ieee) return sign | format().infinity();
    if (std::fabs(x) >= largest.convertToFloat()) return sign | format().largest();
    number.convert(semantics(), towardZero ? APFloat::rmTowardZero : APFloat::rmNearestTiesToEven, &lost);
    return number.bitcastToAPInt().getZExtValue();
  }

  std::vector<float> interesting() {
    std::vector<float> out = {0.0f, -0.0f, 1e-40f, 1e-30f, 1e30f, INFINITY, -INFINITY, NAN, 3.4e38f};
    for (unsigned code = 0; code < 256; ++code) {
      float x = decoded(code), next = decoded((code + 1) & 0xff), middle = x / 2 + next / 2;
      for (float v : {x, middle})
        if (std::isfinite(v)) out.insert(out.end(), {v, std::nextafter(v, INFINITY), std::nextafter(v, -INFINITY)});
    }
    return out;
  }

  mlir::MLIRContext context_;
};

TEST_P(Formats, DecodesEveryCode) {
  Folder folder;
  for (unsigned code = 0; code < 256; ++code) {
    auto b = folder.begin(llvm::Type::getFloatTy(folder.context()), llvm::Type::getInt8Ty(folder.context()));
    b.CreateRet(decodeFloat8(b, format(), b.getInt8(code)));
  }
  std::vector<llvm::APInt> folded = folder.fold();
  for (unsigned code = 0; code < 256; ++code) {
    float got = llvm::bit_cast<float>(uint32_t(folded[code].getZExtValue())), want = decoded(code);
    if (std::isnan(want))
      EXPECT_TRUE(std::isnan(got)) << code;
    else
      EXPECT_EQ(llvm::bit_cast<uint32_t>(got), llvm::bit_cast<uint32_t>(want)) << code;
  }
}

TEST_P(Formats, EncodesWithOneRounding) {
  for (bool towardZero : {false, true}) {
    Folder folder;
    std::vector<float> numbers = interesting();
    for (float x : numbers) {
      auto b = folder.begin(llvm::Type::getInt8Ty(folder.context()), llvm::Type::getFloatTy(folder.context()));
      b.CreateRet(encodeFloat8(b, format(), llvm::ConstantFP::get(b.getFloatTy(), APFloat(x)), towardZero));
    }
    std::vector<llvm::APInt> folded = folder.fold();
    for (size_t i = 0; i < numbers.size(); ++i)
      EXPECT_EQ(folded[i].getZExtValue(), encoded(numbers[i], towardZero))
          << numbers[i] << (towardZero ? " towards zero" : " to nearest");
  }
}

INSTANTIATE_TEST_SUITE_P(All, Formats, testing::Range(0, 4));

}  // namespace
}  // namespace tandem::lower::gpu
