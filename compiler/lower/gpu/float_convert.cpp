// Conversions between float formats: exact on the way to float32, one rounding on the way out, two elements in one
// instruction where the target has one. 8-bit floats are held as bytes.
#include "compiler/lower/gpu/float_convert.h"
#include "compiler/lower/gpu/float_format.h"

namespace tandem::lower::gpu {
using namespace mlir;
namespace {

std::optional<codegen::Float8> instructionFormat(mlir::Type type) {
  if (isa<Float8E4M3FNType>(type)) return codegen::Float8::E4M3;
  if (isa<Float8E5M2Type>(type)) return codegen::Float8::E5M2;
  return std::nullopt;
}

// E5M2 is the upper half of a float16.
llvm::Value* e5m2ToHalf(llvm::IRBuilder<>& b, llvm::Value* code) {
  return b.CreateBitCast(b.CreateShl(b.CreateZExt(code, b.getInt16Ty()), 8), b.getHalfTy());
}

// A byte of a word of four: the word as bytes, and the byte's place there.
struct ByteOfWord {
  llvm::Value *bytes = nullptr, *word = nullptr;
  int place = 0;
};

ByteOfWord takenFrom(llvm::Value* byte) {
  auto* taken = dyn_cast<llvm::ExtractElementInst>(byte);
  auto* place = taken ? dyn_cast<llvm::ConstantInt>(taken->getIndexOperand()) : nullptr;
  if (!place || cast<llvm::FixedVectorType>(taken->getVectorOperandType())->getNumElements() != 4) return {};
  auto* bytes = dyn_cast<llvm::BitCastInst>(taken->getVectorOperand());
  if (!bytes) return {};
  return {bytes, bytes->getOperand(0), int(place->getZExtValue())};
}

// Two bytes as one word. Those at like places of two words are one half of four that an instruction takes from both: their neighbours are
// the other half, for whoever joins these.
llvm::Value* joinBytes(llvm::IRBuilder<>& b, llvm::Value* first, llvm::Value* second) {
  ByteOfWord from = takenFrom(first), other = takenFrom(second);
  if (from.word && other.word && from.word != other.word && from.place % 2 == other.place % 2) {
    int half = from.place % 2, x = from.place - half, y = 4 + other.place - half;
    llvm::Value* four = b.CreateShuffleVector(from.bytes, other.bytes, {x, y, x + 1, y + 1});
    return b.CreateExtractElement(b.CreateBitCast(four, llvm::FixedVectorType::get(b.getInt16Ty(), 2)), uint64_t(half));
  }
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
llvm::Value* roundToOdd(KernelContext& cx, llvm::Value* x) {
  llvm::IRBuilder<>& b = cx.b;
  llvm::Value* cut = cx.emit.doubleToFloat(x);
  llvm::Value* isInexact = b.CreateFCmpONE(b.CreateFPExt(cut, b.getDoubleTy()), x);
  llvm::Value* bits = b.CreateOr(b.CreateBitCast(cut, b.getInt32Ty()), b.CreateZExt(isInexact, b.getInt32Ty()));
  return b.CreateBitCast(bits, b.getFloatTy());
}

}  // namespace

// 8-bit floats to float16, exactly.
static Regs float8ToHalf(KernelContext& cx, Scalars values, mlir::Type from) {
  Regs out;
  if (isa<Float8E5M2Type>(from)) {
    for (llvm::Value* v : values) out.push_back(e5m2ToHalf(cx.b, v));
    return out;
  }
  if (isa<Float8E4M3FNType>(from) && cx.target.hasFp8Convert())
    return inPairs(cx.b, values, [&](llvm::Value* first, llvm::Value* second) {
      return cx.emit.float8ToHalf(codegen::Float8::E4M3, joinBytes(cx.b, first, second));
    });
  for (llvm::Value* v : values)
    out.push_back(cx.b.CreateFPTrunc(decodeFloat8(cx.b, *Float8Format::of(from), v), cx.b.getHalfTy()));
  return out;
}

// Converts to float32; float32 and float64 stay.
static Regs toFloats(KernelContext& cx, Scalars values, mlir::Type from) {
  Regs out(values.begin(), values.end());
  if (from.isF32() || from.isF64()) return out;
  if (auto format = Float8Format::of(from)) {
    bool direct = instructionFormat(from) && (isa<Float8E5M2Type>(from) || cx.target.hasFp8Convert());
    if (!direct) {
      for (llvm::Value*& v : out) v = decodeFloat8(cx.b, *format, v);
      return out;
    }
    out = float8ToHalf(cx, values, from);
  }
  for (llvm::Value*& v : out) v = cx.b.CreateFPExt(v, cx.b.getFloatTy());
  return out;
}

// Converts from float32 or float64.
static Regs fromFloats(KernelContext& cx, Scalars values, mlir::Type to, bool towardZero) {
  Regs out(values.begin(), values.end());
  bool isDouble = values[0]->getType()->isDoubleTy();
  if (to.isF64()) {
    for (llvm::Value*& v : out) v = isDouble ? v : cx.b.CreateFPExt(v, cx.b.getDoubleTy());
    return out;
  }
  if (to.isF32()) {
    auto narrow = [&](llvm::Value* v) -> llvm::Value* {
      if (!isDouble) return v;
      return towardZero ? cx.emit.doubleToFloat(v) : cx.b.CreateFPTrunc(v, cx.b.getFloatTy());
    };
    for (llvm::Value*& v : out) v = narrow(v);
    return out;
  }
  if (isDouble)
    for (llvm::Value*& v : out) v = roundToOdd(cx, v);
  if (to.isF16())
    return inPairs(cx.b, out, [&](auto* a, auto* c) { return cx.emit.packFloats(cx.b.getHalfTy(), a, c, towardZero); });
  if (to.isBF16())
    return inPairs(cx.b, out,
                   [&](auto* a, auto* c) { return cx.emit.packFloats(cx.b.getBFloatTy(), a, c, towardZero); });
  auto pairType = llvm::FixedVectorType::get(cx.b.getInt8Ty(), 2);
  if (auto format = instructionFormat(to); format && cx.target.hasFp8Convert() && !towardZero)
    return inPairs(cx.b, out,
                   [&](auto* a, auto* c) { return cx.b.CreateBitCast(cx.emit.packFloat8(*format, a, c), pairType); });
  for (llvm::Value*& v : out) v = encodeFloat8(cx.b, *Float8Format::of(to), v, towardZero);
  return out;
}

// Numbers known at compile time, to a type that LLVM has; else nothing. Conversions are instructions that LLVM does not
// look into.
static Regs convertKnown(Scalars values, llvm::Type* to, bool towardZero) {
  Regs out;
  for (llvm::Value* value : values) {
    auto known = llvm::dyn_cast<llvm::ConstantFP>(value);
    if (!known || !to->isFloatingPointTy()) return {};
    llvm::APFloat number = known->getValueAPF();
    bool isInexact;
    number.convert(to->getFltSemantics(), towardZero ? llvm::APFloat::rmTowardZero : llvm::APFloat::rmNearestTiesToEven,
                   &isInexact);
    out.push_back(llvm::ConstantFP::get(to, number));
  }
  return out;
}

Regs convertFloats(KernelContext& cx, Scalars values, mlir::Type from, mlir::Type to, bool towardZero) {
  if (from == to) return Regs(values.begin(), values.end());
  if (Regs known = convertKnown(values, cx.typeOf(to), towardZero); !known.empty()) return known;
  if (to.isF16() && Float8Format::of(from)) return float8ToHalf(cx, values, from);
  if (from.isF16() && instructionFormat(to) && cx.target.hasFp8Convert() && !towardZero) {
    auto pairType = llvm::FixedVectorType::get(cx.b.getInt8Ty(), 2);
    return inPairs(cx.b, values, [&](auto* a, auto* c) {
      return cx.b.CreateBitCast(cx.emit.halfToFloat8(*instructionFormat(to), joinHalves(cx.b, a, c)), pairType);
    });
  }
  return fromFloats(cx, toFloats(cx, values, from), to, towardZero);
}

llvm::Value* convertFloat(KernelContext& cx, llvm::Value* value, mlir::Type from, mlir::Type to, bool towardZero) {
  return convertFloats(cx, {value}, from, to, towardZero)[0];
}

llvm::Value* toFloat(KernelContext& cx, llvm::Value* value, mlir::Type from) { return toFloats(cx, {value}, from)[0]; }

llvm::Value* fromFloat(KernelContext& cx, llvm::Value* value, mlir::Type to) {
  return fromFloats(cx, {value}, to, false)[0];
}

// An op on floats narrower than float32: its operands widened, its result rounded where it is such a float too.
llvm::Value* throughFloat(KernelContext& cx, Operation* op, Scalars operands,
                          llvm::function_ref<llvm::Value*(Scalars)> compute) {
  Regs wide;
  for (auto [value, operand] : llvm::zip(operands, op->getOperands())) {
    mlir::Type type = getElementTypeOrSelf(operand.getType());
    wide.push_back(isa<FloatType>(type) ? toFloat(cx, value, type) : value);
  }
  llvm::Value* result = compute(wide);
  mlir::Type type = getElementTypeOrSelf(op->getResult(0).getType());
  return result && isa<FloatType>(type) ? fromFloat(cx, result, type) : result;
}

void lowerFloatConvert(KernelContext& cx, Operation* op) {
  mlir::Type from = getElementTypeOrSelf(op->getOperand(0).getType()),
             to = getElementTypeOrSelf(op->getResult(0).getType());
  auto isKnown = [](mlir::Type t) { return t.isF64() || t.isF32() || t.isF16() || t.isBF16() || Float8Format::of(t); };
  if (!isKnown(from) || !isKnown(to)) cx.failUnsupported(op);
  bool towardZero = false;
  if (auto convert = dyn_cast<tile::FpToFpOp>(op)) towardZero = convert.getRounding() == tile::Rounding::Rtz;
  if (auto truncation = dyn_cast<arith::TruncFOp>(op)) {
    auto mode = truncation.getRoundingmode().value_or(arith::RoundingMode::to_nearest_even);
    towardZero = mode == arith::RoundingMode::toward_zero;
    if (!towardZero && mode != arith::RoundingMode::to_nearest_even) cx.failUnsupported(op);
  }
  cx.define(op->getResult(0), convertFloats(cx, Regs(cx.use(op->getOperand(0))), from, to, towardZero));
}

}  // namespace tandem::lower::gpu
