// ex2, lg2, sqrt, rsqrt, sin, cos, tanh
#include "compiler/codegen/nvidia/asm/math.h"

namespace tandem::codegen::ptx {
namespace {

std::string typeName(llvm::Type* type) {
  std::string scalar = type->getScalarType()->isFloatTy() ? "f32" : type->getScalarType()->isHalfTy() ? "f16" : "bf16";
  return "." + scalar + (type->isVectorTy() ? "x2" : "");
}

}  // namespace

llvm::Value* approximate(llvm::IRBuilderBase& b, Approximate function, llvm::Value* x, bool flush) {
  static constexpr const char* names[] = {"ex2", "lg2", "sqrt", "rsqrt", "sin", "cos", "tanh"};
  llvm::Type* type = x->getType();
  // ex2 of bf16 exists with .ftz only.
  bool bfloat = type->getScalarType()->isBFloatTy();
  bool flushes = function != Approximate::Tanh && (type->isFloatTy() ? flush : bfloat);
  Call call(b);
  std::string text = std::string(names[int(function)]) + ".approx" + (flushes ? ".ftz" : "") + typeName(type) + " " +
                     call.out(type) + ", ";
  return call.emit(text + call.in(x) + ";", Effect::Pure)[0];
}

}  // namespace tandem::codegen::ptx
