// Bit arithmetic of the 8-bit floats. It gives the same results as the conversion instructions and the simulator.
#include "compiler/lower/gpu/float_format.h"
#include "tandem/element_types.h"
#include <bit>
#include <llvm/ADT/TypeSwitch.h>

namespace tandem::lower::gpu {

std::optional<Float8Format> Float8Format::of(mlir::Type type) {
  using Maybe = std::optional<Float8Format>;
  return llvm::TypeSwitch<mlir::Type, Maybe>(type)
#define TANDEM_ROW(dtype, scalar, elem, mlirType, word, tl, framework, bits, mantissa, bias, specials, dlpack) \
  .Case<mlir::mlirType##Type>(                                                                                 \
      [](auto) { return Float8Format{bits - 1 - mantissa, mantissa, bias, Specials::specials}; })
      TANDEM_FLOAT8_TYPES(TANDEM_ROW) TANDEM_FNUZ_TYPES(TANDEM_ROW)
#undef TANDEM_ROW
          .Default([](mlir::Type) { return std::nullopt; });
}

llvm::Value* decodeFloat8(llvm::IRBuilder<>& b, const Float8Format& format, llvm::Value* code) {
  llvm::Value* bits = b.CreateZExt(code, b.getInt32Ty());
  llvm::Value* magnitude = b.CreateAnd(bits, 0x7f);
  llvm::Value* sign = b.CreateShl(b.CreateAnd(bits, 0x80), 24);
  // Subnormals are a count of the format's smallest step, so that no subnormal float is needed.
  float step = std::bit_cast<float>(uint32_t(128 - format.bias - int(format.mantissaBits)) << 23);
  llvm::Value* small =
      b.CreateFMul(b.CreateUIToFP(magnitude, b.getFloatTy()), llvm::ConstantFP::get(b.getFloatTy(), step));
  llvm::Value* normal =
      b.CreateAdd(b.CreateShl(magnitude, 23 - format.mantissaBits), b.getInt32(uint32_t(127 - format.bias) << 23));
  llvm::Value* isSmall = b.CreateICmpULT(magnitude, b.getInt32(1u << format.mantissaBits));
  llvm::Value* value = b.CreateSelect(isSmall, b.CreateBitCast(small, b.getInt32Ty()), normal);
  auto where = [&](llvm::Value* condition, uint32_t special) {
    value = b.CreateSelect(condition, b.getInt32(special), value);
  };
  if (format.specials == Specials::Ieee) {
    where(b.CreateICmpEQ(magnitude, b.getInt32(format.infinity())), 0x7f800000);
    where(b.CreateICmpUGT(magnitude, b.getInt32(format.infinity())), 0x7fc00000);
  } else if (format.specials == Specials::Fn) {
    where(b.CreateICmpEQ(magnitude, b.getInt32(0x7f)), 0x7fc00000);
  } else {
    where(b.CreateICmpEQ(bits, b.getInt32(0x80)), 0x7fc00000);
  }
  return b.CreateBitCast(b.CreateOr(value, sign), b.getFloatTy());
}

llvm::Value* encodeFloat8(llvm::IRBuilder<>& b, const Float8Format& format, llvm::Value* x, bool towardZero) {
  unsigned mantissa = format.mantissaBits, drop = 23 - mantissa;
  llvm::Value* bits = b.CreateBitCast(x, b.getInt32Ty());
  llvm::Value* size = b.CreateAnd(bits, 0x7fffffff);
  // Below the least normal number the code counts the format's smallest step.
  float steps = std::bit_cast<float>(uint32_t(126 + format.bias + int(mantissa)) << 23);
  llvm::Value* scaled =
      b.CreateFMul(b.CreateBitCast(size, b.getFloatTy()), llvm::ConstantFP::get(b.getFloatTy(), steps));
  llvm::Value *rounded = size, *small;
  if (towardZero) {
    small = b.CreateIntrinsic(llvm::Intrinsic::fptoui_sat, {b.getInt32Ty(), b.getFloatTy()}, {scaled});
  } else {
    llvm::Value* odd = b.CreateAnd(b.CreateLShr(size, drop), 1);
    rounded = b.CreateAdd(size, b.CreateAdd(odd, b.getInt32((1u << (drop - 1)) - 1)));
    // Adding 2^23 rounds to an integer, which is then in the low bits.
    llvm::Value* sum = b.CreateFAdd(scaled, llvm::ConstantFP::get(b.getFloatTy(), 8388608.0));
    small = b.CreateSub(b.CreateBitCast(sum, b.getInt32Ty()), b.getInt32(0x4b000000));
  }
  llvm::Value* normal = b.CreateSub(b.CreateLShr(rounded, drop), b.getInt32(uint32_t(127 - format.bias) << mantissa));
  llvm::Value* isSmall = b.CreateICmpULT(size, b.getInt32(uint32_t(128 - format.bias) << 23));
  llvm::Value* code = b.CreateSelect(isSmall, small, normal);
  code = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, code, b.getInt32(format.largest()));
  if (format.specials == Specials::Ieee && towardZero)
    code = b.CreateSelect(b.CreateICmpEQ(size, b.getInt32(0x7f800000)), b.getInt32(format.infinity()), code);
  llvm::Value* sign = b.CreateAnd(b.CreateLShr(bits, 24), 0x80);
  if (format.specials == Specials::Fnuz)
    sign = b.CreateSelect(b.CreateICmpEQ(code, b.getInt32(0)), b.getInt32(0), sign);
  llvm::Value* isNan = b.CreateICmpUGT(size, b.getInt32(0x7f800000));
  return b.CreateTrunc(b.CreateSelect(isNan, b.getInt32(format.nan()), b.CreateOr(code, sign)), b.getInt8Ty());
}

}  // namespace tandem::lower::gpu
