// cvt, mov. PTX names the upper element first.
#include "compiler/codegen/nvidia/asm/convert.h"

namespace tandem::codegen::ptx {
namespace {

llvm::Value* convert(llvm::IRBuilderBase& b, const std::string& name, llvm::Type* result, ValueRange operands) {
  Call call(b);
  std::string text = name + " " + call.out(result);
  for (llvm::Value* v : operands) text += ", " + call.in(v);
  return call.emit(text + ";", Effect::Pure)[0];
}

llvm::Type* pairOf(llvm::Type* type) { return llvm::FixedVectorType::get(type, 2); }
std::string name(Float8 type) { return type == Float8::E4M3 ? "e4m3x2" : "e5m2x2"; }
std::string rounding(bool towardZero) { return towardZero ? "cvt.rz." : "cvt.rn."; }

}  // namespace

llvm::Value* packHalf(llvm::IRBuilderBase& b, llvm::Value* first, llvm::Value* second, bool towardZero) {
  return convert(b, rounding(towardZero) + "f16x2.f32", pairOf(b.getHalfTy()), {second, first});
}

llvm::Value* packBfloat(llvm::IRBuilderBase& b, llvm::Value* first, llvm::Value* second, bool towardZero) {
  return convert(b, rounding(towardZero) + "bf16x2.f32", pairOf(b.getBFloatTy()), {second, first});
}

llvm::Value* packFloat8(llvm::IRBuilderBase& b, Float8 type, llvm::Value* first, llvm::Value* second) {
  return convert(b, "cvt.rn.satfinite." + name(type) + ".f32", b.getInt16Ty(), {second, first});
}

llvm::Value* halfToFloat8(llvm::IRBuilderBase& b, Float8 type, llvm::Value* pair) {
  return convert(b, "cvt.rn.satfinite." + name(type) + ".f16x2", b.getInt16Ty(), {pair});
}

llvm::Value* float8ToHalf(llvm::IRBuilderBase& b, Float8 type, llvm::Value* pair) {
  return convert(b, "cvt.rn.f16x2." + name(type), pairOf(b.getHalfTy()), {pair});
}

llvm::Value* concealed(llvm::IRBuilderBase& b, llvm::Value* word) {
  return convert(b, "mov.b32", b.getInt32Ty(), {word});
}

}  // namespace tandem::codegen::ptx
