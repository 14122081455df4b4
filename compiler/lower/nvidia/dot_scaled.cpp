// tile.dot_scaled: the operands are decoded and scaled, exactly, into bfloat16 (tf32 where float16 takes part), then
// multiplied by mma.sync.
#include "compiler/layout/distributed.h"
#include "compiler/lower/gpu/convert.h"
#include "compiler/lower/gpu/float_convert.h"
#include "compiler/lower/nvidia/mma.h"

namespace tandem::lower::nvidia {
using namespace mlir;
using layout::Dim;

// Eight magnitudes in halves, four bits each.
static llvm::Value* decodeE2M1(KernelContext& cx, llvm::Value* nibble) {
  llvm::Value* shift = cx.b.CreateShl(cx.b.CreateAnd(nibble, cx.b.getInt32(7)), 2);
  llvm::Value* halves = cx.b.CreateAnd(cx.b.CreateLShr(cx.b.getInt32(0xC8643210), shift), cx.b.getInt32(15));
  llvm::Value* magnitude =
      cx.b.CreateFMul(cx.b.CreateUIToFP(halves, cx.b.getFloatTy()), llvm::ConstantFP::get(cx.b.getFloatTy(), 0.5));
  llvm::Value* sign = cx.b.CreateShl(cx.b.CreateAnd(nibble, cx.b.getInt32(8)), 28);
  return cx.b.CreateBitCast(cx.b.CreateOr(cx.b.CreateBitCast(magnitude, cx.b.getInt32Ty()), sign), cx.b.getFloatTy());
}

// A number of e4m3, or 2^(byte - 127), of which 255 is NaN.
static llvm::Value* decodeScale(KernelContext& cx, llvm::Value* byte, mlir::Type type) {
  if (!type.isInteger()) return convertFloat(cx, byte, type, Float32Type::get(type.getContext()), false);
  llvm::Value* exponent = cx.b.CreateZExt(byte, cx.b.getInt32Ty());
  llvm::Value* bits = cx.b.CreateShl(exponent, 23);
  bits = cx.b.CreateSelect(cx.b.CreateICmpEQ(exponent, cx.b.getInt32(0)), cx.b.getInt32(0x00400000), bits);
  bits = cx.b.CreateSelect(cx.b.CreateICmpEQ(exponent, cx.b.getInt32(255)), cx.b.getInt32(0x7fc00000), bits);
  return cx.b.CreateBitCast(bits, cx.b.getFloatTy());
}

// The operand as floats. Packed pairs come apart into neighbouring registers, along dimension `pairs`.
static Held decodeOperand(KernelContext& cx, mlir::Value operand, tile::MicroScale format, unsigned pairs) {
  MLIRContext* context = operand.getContext();
  Held in{cx.layoutOf(operand), cx.use(operand)}, out{in.layout, {}};
  if (format != tile::MicroScale::E2M1) {
    mlir::Type types[] = {nullptr, Float8E4M3FNType::get(context), Float8E5M2Type::get(context),
                          BFloat16Type::get(context), Float16Type::get(context)};
    for (llvm::Value* v : in.regs)
      out.regs.push_back(convertFloat(cx, v, types[static_cast<int>(format)], Float32Type::get(context), false));
    return out;
  }
  SmallVector<int64_t> shape(in.layout.shape());
  shape[pairs] *= 2;
  LinearLayout frame(shape);
  out.layout = in.layout.mapBases(shape, [&](uint64_t basis) {
    SmallVector<int64_t> at = in.layout.coordinates(basis);
    at[pairs] *= 2;
    return frame.position(at);
  });
  SmallVector<int64_t> next(shape.size(), 0);
  next[pairs] = 1;
  layout::Bases& registers = out.layout.mutableBases(Dim::Register);
  registers.insert(registers.begin(), frame.position(next));
  for (llvm::Value* v : in.regs) {
    llvm::Value* byte = cx.b.CreateZExt(v, cx.b.getInt32Ty());
    out.regs.push_back(decodeE2M1(cx, cx.b.CreateAnd(byte, cx.b.getInt32(15))));
    out.regs.push_back(decodeE2M1(cx, cx.b.CreateLShr(byte, 4)));
  }
  return out;
}

// Scales are [.., M or N, K / 32]; `depth` is the operand's dimension that is K.
static void applyScales(KernelContext& cx, Held& operand, mlir::Value scales, unsigned depth, Operation* op) {
  if (!scales) return;
  LinearLayout held = cx.layoutOf(scales), frame(held.shape());
  unsigned rank = frame.rank(), rows = depth == rank - 1 ? rank - 2 : rank - 1;
  LinearLayout wanted = operand.layout.mapBases(held.shape(), [&](uint64_t basis) {
    SmallVector<int64_t> at = operand.layout.coordinates(basis), to = at;
    to[rank - 2] = at[rows];
    to[rank - 1] = at[depth] / tile::elementsPerScale(scales);
    return frame.position(to);
  });
  // Registers that share a scale take it from one register.
  LinearLayout distinct = wanted.withoutZeroBases(Dim::Register);
  Regs bytes = convertLayout(cx, cx.use(scales), held, distinct, cx.b.getInt8Ty(), op->getLoc());
  llvm::DenseMap<uint64_t, llvm::Value*> factors;
  for (auto [r, byte] : llvm::enumerate(bytes))
    factors[distinct.apply(r, 0, 0, 0)] = decodeScale(cx, byte, getElementTypeOrSelf(scales.getType()));
  for (auto [r, v] : llvm::enumerate(operand.regs)) v = cx.b.CreateFMul(v, factors.lookup(wanted.apply(r, 0, 0, 0)));
}

// The 8 bits of a bfloat16's significand may be too few for a number of the format times its scale; this says whether
// they hold it.
static bool fitsBfloat16(tile::MicroScale format, mlir::Value scale) {
  bool scaleHasFraction = scale && !getElementTypeOrSelf(scale.getType()).isInteger();
  return format != tile::MicroScale::Fp16 && !(format == tile::MicroScale::Bf16 && scaleHasFraction);
}

void lowerDotScaled(KernelContext& cx, tile::DotScaledOp op) {
  unsigned rank = cast<RankedTensorType>(op.getAcc().getType()).getRank(), m = rank - 2, n = rank - 1;
  Held lhs = decodeOperand(cx, op.getLhs(), op.getLhsFormat(), op.getLhsKPack() ? n : m);
  Held rhs = decodeOperand(cx, op.getRhs(), op.getRhsFormat(), op.getRhsKPack() ? m : n);
  applyScales(cx, lhs, op.getLhsScale(), n, op);
  applyScales(cx, rhs, op.getRhsScale(), m, op);

  bool isBf16 = fitsBfloat16(op.getLhsFormat(), op.getLhsScale()) && fitsBfloat16(op.getRhsFormat(), op.getRhsScale());
  LinearLayout result = cx.layoutOf(op.getResult());
  int64_t rows = result.shape()[m], columns = result.shape()[n], depth = lhs.layout.shape()[n];
  if (rows < 16 || columns < 8 || depth < 16)
    cx.places.fail(op.getLoc(), "unsupported",
                   "a scaled product of " + std::to_string(rows) + "x" + std::to_string(depth) + " and " +
                       std::to_string(depth) + "x" + std::to_string(columns) + ": at least 16x16 and 16x8 on " +
                       cx.target.name());
  layout::WarpGrid grid;
  grid.m = std::min<int64_t>(cx.numWarps, rows / 16);
  grid.n = cx.numWarps / grid.m;
  unsigned bits = isBf16 ? 16 : 32;
  auto bring = [&](Held& operand, const LinearLayout& to) {
    llvm::Type* type = isBf16 ? cx.b.getBFloatTy() : cx.b.getFloatTy();
    if (isBf16)
      for (llvm::Value*& v : operand.regs) v = cx.b.CreateFPTrunc(v, type);
    operand = {to, convertLayout(cx, operand.regs, operand.layout, to, type, op.getLoc())};
  };
  bring(lhs, layout::dotOperandA(lhs.layout.shape(), bits, grid));
  bring(rhs, layout::dotOperandB(rhs.layout.shape(), bits, grid));
  LinearLayout product = layout::mmaV2Result(result.shape(), grid);
  Held acc{product,
           convertLayout(cx, cx.use(op.getAcc()), cx.layoutOf(op.getAcc()), product, cx.b.getFloatTy(), op.getLoc())};
  Regs out = multiply(cx, lhs, rhs, acc, isBf16 ? ptx::Element::BF16 : ptx::Element::TF32);
  cx.define(op.getResult(), convertLayout(cx, out, product, result, cx.b.getFloatTy(), op.getLoc()));
}

}  // namespace tandem::lower::nvidia
