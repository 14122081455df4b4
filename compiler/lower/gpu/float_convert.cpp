// Conversions between float formats: exact on the way to float32, one rounding on the way out, two elements in one instruction where the
// target has one. 8-bit floats are held as bytes.
#include "compiler/lower/gpu/float_format.h"
#include "compiler/lower/nvidia/kernel_lowering.h"
#include <llvm/IR/IntrinsicsNVPTX.h>

namespace tandem::lower::nvidia {
using namespace mlir;
namespace {

std::optional<ptx::Float8> instructionFormat(mlir::Type type) {
  if (isa<Float8E4M3FNType>(type)) return ptx::Float8::E4M3;
  if (isa<Float8E5M2Type>(type)) return ptx::Float8::E5M2;
  return std::nullopt;
}

// E5M2 is the upper half of a float16.
llvm::Value* e5m2ToHalf(llvm::IRBuilder<>& b, llvm::Value* code) {
  return b.CreateBitCast(b.CreateShl(b.CreateZExt(code, b.getInt16Ty()), 8), b.getHalfTy());
}

// Two bytes as one word, and the reverse.
llvm::Value* joinBytes(llvm::IRBuilder<>& b, llvm::Value* first, llvm::Value* second) {
  llvm::Value* pair = llvm::PoisonValue::get(llvm::FixedVectorType::get(b.getInt8Ty(), 2));
  pair = b.CreateInsertElement(pair, first, uint64_t(0));
  return b.CreateBitCast(b.CreateInsertElement(pair, second, uint64_t(1)), b.getInt16Ty());
}

llvm::Value* joinHalves(llvm::IRBuilder<>& b, llvm::Value* first, llvm::Value* second) {
  llvm::Value* pair = llvm::PoisonValue::get(llvm::FixedVectorType::get(first->getType(), 2));
  return b.CreateInsertElement(b.CreateInsertElement(pair, first, uint64_t(0)), second, uint64_t(1));
}

// Calls `convert` with two elements at a time; of a last one alone with itself.
template <class Convert> Regs inPairs(llvm::IRBuilder<>& b, Scalars values, Convert convert) {
  Regs out;
  for (size_t i = 0; i < values.size(); i += 2) {
    llvm::Value* pair = convert(values[i], values[std::min(i + 1, values.size() - 1)]);
    out.push_back(b.CreateExtractElement(pair, uint64_t(0)));
    if (i + 1 < values.size()) out.push_back(b.CreateExtractElement(pair, uint64_t(1)));
  }
  return out;
}

// The float of which every narrower format rounds as the double would: the last bit says whether anything was cut off.
llvm::Value* roundToOdd(llvm::IRBuilder<>& b, llvm::Value* x) {
  llvm::Value* cut = b.CreateIntrinsic(b.getFloatTy(), llvm::Intrinsic::nvvm_d2f_rz, {x});
  llvm::Value* isInexact = b.CreateFCmpONE(b.CreateFPExt(cut, b.getDoubleTy()), x);
  llvm::Value* bits = b.CreateOr(b.CreateBitCast(cut, b.getInt32Ty()), b.CreateZExt(isInexact, b.getInt32Ty()));
  return b.CreateBitCast(bits, b.getFloatTy());
}

}  // namespace

// 8-bit floats to float16, exactly.
Regs KernelLowering::float8ToHalf(Scalars values, mlir::Type from) {
  Regs out;
  if (isa<Float8E5M2Type>(from)) {
    for (llvm::Value* v : values) out.push_back(e5m2ToHalf(b_, v));
    return out;
  }
  if (isa<Float8E4M3FNType>(from) && target_.hasFp8Convert())
    return inPairs(b_, values, [&](llvm::Value* first, llvm::Value* second) {
      return ptx::float8ToHalf(b_, ptx::Float8::E4M3, joinBytes(b_, first, second));
    });
  for (llvm::Value* v : values) out.push_back(b_.CreateFPTrunc(decodeFloat8(b_, *Float8Format::of(from), v), b_.getHalfTy()));
  return out;
}

// Converts to float32; float32 and float64 stay.
Regs KernelLowering::toFloats(Scalars values, mlir::Type from) {
  Regs out(values.begin(), values.end());
  if (from.isF32() || from.isF64()) return out;
  if (auto format = Float8Format::of(from)) {
    bool direct = instructionFormat(from) && (isa<Float8E5M2Type>(from) || target_.hasFp8Convert());
    if (!direct) {
      for (llvm::Value*& v : out) v = decodeFloat8(b_, *format, v);
      return out;
    }
    out = float8ToHalf(values, from);
  }
  for (llvm::Value*& v : out) v = b_.CreateFPExt(v, b_.getFloatTy());
  return out;
}

// Converts from float32 or float64.
Regs KernelLowering::fromFloats(Scalars values, mlir::Type to, bool towardZero) {
  Regs out(values.begin(), values.end());
  bool isDouble = values[0]->getType()->isDoubleTy();
  if (to.isF64()) {
    for (llvm::Value*& v : out) v = isDouble ? v : b_.CreateFPExt(v, b_.getDoubleTy());
    return out;
  }
  if (to.isF32()) {
    auto narrow = [&](llvm::Value* v) -> llvm::Value* {
      if (!isDouble) return v;
      return towardZero ? b_.CreateIntrinsic(b_.getFloatTy(), llvm::Intrinsic::nvvm_d2f_rz, {v}) : b_.CreateFPTrunc(v, b_.getFloatTy());
    };
    for (llvm::Value*& v : out) v = narrow(v);
    return out;
  }
  if (isDouble)
    for (llvm::Value*& v : out) v = roundToOdd(b_, v);
  if (to.isF16()) return inPairs(b_, out, [&](auto* a, auto* c) { return ptx::packHalf(b_, a, c, towardZero); });
  if (to.isBF16()) return inPairs(b_, out, [&](auto* a, auto* c) { return ptx::packBfloat(b_, a, c, towardZero); });
  auto pairType = llvm::FixedVectorType::get(b_.getInt8Ty(), 2);
  if (auto format = instructionFormat(to); format && target_.hasFp8Convert() && !towardZero)
    return inPairs(b_, out, [&](auto* a, auto* c) { return b_.CreateBitCast(ptx::packFloat8(b_, *format, a, c), pairType); });
  for (llvm::Value*& v : out) v = encodeFloat8(b_, *Float8Format::of(to), v, towardZero);
  return out;
}

Regs KernelLowering::convertFloats(Scalars values, mlir::Type from, mlir::Type to, bool towardZero) {
  if (from == to) return Regs(values.begin(), values.end());
  if (to.isF16() && Float8Format::of(from)) return float8ToHalf(values, from);
  if (from.isF16() && instructionFormat(to) && target_.hasFp8Convert() && !towardZero) {
    auto pairType = llvm::FixedVectorType::get(b_.getInt8Ty(), 2);
    return inPairs(b_, values, [&](auto* a, auto* c) {
      return b_.CreateBitCast(ptx::halfToFloat8(b_, *instructionFormat(to), joinHalves(b_, a, c)), pairType);
    });
  }
  return fromFloats(toFloats(values, from), to, towardZero);
}

llvm::Value* KernelLowering::convertFloat(llvm::Value* value, mlir::Type from, mlir::Type to, bool towardZero) {
  return convertFloats({value}, from, to, towardZero)[0];
}

llvm::Value* KernelLowering::toFloat(llvm::Value* value, mlir::Type from) { return toFloats({value}, from)[0]; }
llvm::Value* KernelLowering::fromFloat(llvm::Value* value, mlir::Type to) { return fromFloats({value}, to, false)[0]; }

// An op on floats narrower than float32: its operands widened, its result rounded where it is such a float too.
llvm::Value* KernelLowering::throughFloat(Operation* op, Scalars operands, llvm::function_ref<llvm::Value*(Scalars)> compute) {
  Regs wide;
  for (auto [value, operand] : llvm::zip(operands, op->getOperands())) {
    mlir::Type type = getElementTypeOrSelf(operand.getType());
    wide.push_back(isa<FloatType>(type) ? toFloat(value, type) : value);
  }
  llvm::Value* result = compute(wide);
  mlir::Type type = getElementTypeOrSelf(op->getResult(0).getType());
  return result && isa<FloatType>(type) ? fromFloat(result, type) : result;
}

bool KernelLowering::lowerFloatConvert(Operation* op) {
  mlir::Type from = getElementTypeOrSelf(op->getOperand(0).getType()), to = getElementTypeOrSelf(op->getResult(0).getType());
  auto isKnown = [](mlir::Type t) { return t.isF64() || t.isF32() || t.isF16() || t.isBF16() || Float8Format::of(t); };
  if (!isKnown(from) || !isKnown(to)) failUnsupported(op);
  bool towardZero = false;
  if (auto convert = dyn_cast<tile::FpToFpOp>(op)) towardZero = convert.getRounding() == tile::Rounding::Rtz;
  if (auto truncation = dyn_cast<arith::TruncFOp>(op)) {
    auto mode = truncation.getRoundingmode().value_or(arith::RoundingMode::to_nearest_even);
    towardZero = mode == arith::RoundingMode::toward_zero;
    if (!towardZero && mode != arith::RoundingMode::to_nearest_even) failUnsupported(op);
  }
  define(op->getResult(0), convertFloats(Regs(use(op->getOperand(0))), from, to, towardZero));
  return true;
}

}  // namespace tandem::lower::nvidia
