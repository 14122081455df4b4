// tile.dot_scaled: the operands are decoded and scaled, exactly, into bfloat16 (tf32 where float16 takes part), then
// multiplied by mma.sync.
#include "compiler/layout/distributed.h"
#include "compiler/lower/nvidia/kernel_lowering.h"

namespace tandem::lower::nvidia {
using namespace mlir;
using layout::Dim;
using layout::LinearLayout;

// Eight magnitudes in halves, four bits each.
llvm::Value* KernelLowering::decodeE2M1(llvm::Value* nibble) {
  llvm::Value* shift = b_.CreateShl(b_.CreateAnd(nibble, b_.getInt32(7)), 2);
  llvm::Value* halves = b_.CreateAnd(b_.CreateLShr(b_.getInt32(0xC8643210), shift), b_.getInt32(15));
  llvm::Value* magnitude =
      b_.CreateFMul(b_.CreateUIToFP(halves, b_.getFloatTy()), llvm::ConstantFP::get(b_.getFloatTy(), 0.5));
  llvm::Value* sign = b_.CreateShl(b_.CreateAnd(nibble, b_.getInt32(8)), 28);
  return b_.CreateBitCast(b_.CreateOr(b_.CreateBitCast(magnitude, b_.getInt32Ty()), sign), b_.getFloatTy());
}

// A number of e4m3, or 2^(byte - 127), of which 255 is NaN.
llvm::Value* KernelLowering::decodeScale(llvm::Value* byte, mlir::Type type) {
  if (!type.isInteger()) return convertFloat(byte, type, Float32Type::get(type.getContext()), false);
  llvm::Value* exponent = b_.CreateZExt(byte, b_.getInt32Ty());
  llvm::Value* bits = b_.CreateShl(exponent, 23);
  bits = b_.CreateSelect(b_.CreateICmpEQ(exponent, b_.getInt32(0)), b_.getInt32(0x00400000), bits);
  bits = b_.CreateSelect(b_.CreateICmpEQ(exponent, b_.getInt32(255)), b_.getInt32(0x7fc00000), bits);
  return b_.CreateBitCast(bits, b_.getFloatTy());
}

// The operand as floats. Packed pairs come apart into neighbouring registers, along dimension `pairs`.
KernelLowering::Held KernelLowering::decodeOperand(mlir::Value operand, tile::MicroScale format, unsigned pairs) {
  MLIRContext* context = operand.getContext();
  Held in{layoutOf(operand), use(operand)}, out{in.layout, {}};
  if (format != tile::MicroScale::E2M1) {
    mlir::Type types[] = {nullptr, Float8E4M3FNType::get(context), Float8E5M2Type::get(context),
                          BFloat16Type::get(context), Float16Type::get(context)};
    for (llvm::Value* v : in.regs)
      out.regs.push_back(convertFloat(v, types[static_cast<int>(format)], Float32Type::get(context), false));
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
    llvm::Value* byte = b_.CreateZExt(v, b_.getInt32Ty());
    out.regs.push_back(decodeE2M1(b_.CreateAnd(byte, b_.getInt32(15))));
    out.regs.push_back(decodeE2M1(b_.CreateLShr(byte, 4)));
  }
  return out;
}

// Scales are [.., M or N, K / 32]; `depth` is the operand's dimension that is K.
void KernelLowering::applyScales(Held& operand, mlir::Value scales, unsigned depth, Operation* op) {
  if (!scales) return;
  LinearLayout held = layoutOf(scales), frame(held.shape());
  unsigned rank = frame.rank(), rows = depth == rank - 1 ? rank - 2 : rank - 1;
  LinearLayout wanted = operand.layout.mapBases(held.shape(), [&](uint64_t basis) {
    SmallVector<int64_t> at = operand.layout.coordinates(basis), to = at;
    to[rank - 2] = at[rows];
    to[rank - 1] = at[depth] / tile::elementsPerScale(scales);
    return frame.position(to);
  });
  // Registers that share a scale take it from one register.
  LinearLayout distinct = wanted.withoutZeroBases(Dim::Register);
  Regs bytes = convertLayout(use(scales), held, distinct, b_.getInt8Ty(), op->getLoc());
  llvm::DenseMap<uint64_t, llvm::Value*> factors;
  for (auto [r, byte] : llvm::enumerate(bytes))
    factors[distinct.apply(r, 0, 0, 0)] = decodeScale(byte, getElementTypeOrSelf(scales.getType()));
  for (auto [r, v] : llvm::enumerate(operand.regs)) v = b_.CreateFMul(v, factors.lookup(wanted.apply(r, 0, 0, 0)));
}

// The 8 bits of a bfloat16's significand may be too few for a number of the format times its scale; this says whether they hold it.
static bool fitsBfloat16(tile::MicroScale format, mlir::Value scale) {
  bool scaleHasFraction = scale && !getElementTypeOrSelf(scale.getType()).isInteger();
  return format != tile::MicroScale::Fp16 && !(format == tile::MicroScale::Bf16 && scaleHasFraction);
}

void KernelLowering::lowerDotScaled(tile::DotScaledOp op) {
  unsigned rank = cast<RankedTensorType>(op.getAcc().getType()).getRank(), m = rank - 2, n = rank - 1;
  Held lhs = decodeOperand(op.getLhs(), op.getLhsFormat(), op.getLhsKPack() ? n : m);
  Held rhs = decodeOperand(op.getRhs(), op.getRhsFormat(), op.getRhsKPack() ? m : n);
  applyScales(lhs, op.getLhsScale(), n, op);
  applyScales(rhs, op.getRhsScale(), m, op);

  bool isBf16 = fitsBfloat16(op.getLhsFormat(), op.getLhsScale()) && fitsBfloat16(op.getRhsFormat(), op.getRhsScale());
  LinearLayout result = layoutOf(op.getResult());
  int64_t rows = result.shape()[m], columns = result.shape()[n], depth = lhs.layout.shape()[n];
  if (rows < 16 || columns < 8 || depth < 16)
    places_.fail(op.getLoc(), "unsupported",
                 "a scaled product of " + std::to_string(rows) + "x" + std::to_string(depth) + " and " +
                     std::to_string(depth) + "x" + std::to_string(columns) + ": at least 16x16 and 16x8 on " +
                     target_.name());
  layout::WarpGrid grid;
  grid.m = std::min<int64_t>(numWarps_, rows / 16);
  grid.n = numWarps_ / grid.m;
  unsigned bits = isBf16 ? 16 : 32;
  auto bring = [&](Held& operand, const LinearLayout& to) {
    llvm::Type* type = isBf16 ? b_.getBFloatTy() : b_.getFloatTy();
    if (isBf16)
      for (llvm::Value*& v : operand.regs) v = b_.CreateFPTrunc(v, type);
    operand = {to, convertLayout(operand.regs, operand.layout, to, type, op.getLoc())};
  };
  bring(lhs, layout::dotOperandA(lhs.layout.shape(), bits, grid));
  bring(rhs, layout::dotOperandB(rhs.layout.shape(), bits, grid));
  LinearLayout product = layout::mmaV2Result(result.shape(), grid);
  Held acc{product, convertLayout(use(op.getAcc()), layoutOf(op.getAcc()), product, b_.getFloatTy(), op.getLoc())};
  Regs out = multiply(lhs, rhs, acc, isBf16 ? ptx::Element::BF16 : ptx::Element::TF32);
  define(op.getResult(), convertLayout(out, product, result, b_.getFloatTy(), op.getLoc()));
}

}  // namespace tandem::lower::nvidia
