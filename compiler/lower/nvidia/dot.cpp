// tile.dot: by mma.sync, warp by warp, or by multiply-adds of operands in shared memory.
#include "compiler/layout/distributed.h"
#include "compiler/lower/nvidia/kernel_lowering.h"
#include <llvm/ADT/TypeSwitch.h>
#include <map>

namespace tandem::lower::nvidia {
using namespace mlir;
using layout::LinearLayout;
namespace {

ptx::Element elementOf(mlir::Type type) {
  using E = ptx::Element;
  if (type.isF16()) return E::F16;
  if (type.isBF16()) return E::BF16;
  if (type.isF32()) return E::TF32;
  if (isa<Float8E4M3FNType>(type)) return E::E4M3;
  return isa<Float8E5M2Type>(type) ? E::E5M2 : E::S8;
}

// The register of the thread with number 0 that holds a position. The other threads' are the same, since all positions
// move by the same distance.
using RegisterAt = llvm::DenseMap<uint64_t, size_t>;
RegisterAt registersAt(const LinearLayout& layout) {
  RegisterAt out;
  for (int64_t r = 0; r < layout.numRegisters(); ++r) out.try_emplace(layout.apply(r, 0, 0, 0), r);
  return out;
}

// `corner` with its last two coordinates moved.
uint64_t positionAt(const LinearLayout& layout, ArrayRef<int64_t> corner, int64_t row, int64_t column) {
  SmallVector<int64_t> at(corner);
  at[at.size() - 2] += row;
  at[at.size() - 1] += column;
  return layout.position(at);
}

}  // namespace

bool KernelLowering::lowerDot(Operation* op) {
  return llvm::TypeSwitch<Operation*, bool>(op)
      .Case<tile::DotOp>([&](auto o) { return o->hasAttr("tgpu.mma") ? lowerMma(o) : lowerMultiplyAdd(o), true; })
      .Case<tile::DotScaledOp>([&](auto o) { return lowerDotScaled(o), true; })
      .Default([](Operation*) { return false; });
}

void KernelLowering::lowerMma(tile::DotOp op) {
  mlir::Type element = cast<RankedTensorType>(op.getLhs().getType()).getElementType();
  Held lhs{layoutOf(op.getLhs()), use(op.getLhs())}, rhs{layoutOf(op.getRhs()), use(op.getRhs())};
  define(op.getResult(), multiply(lhs, rhs, {layoutOf(op.getResult()), use(op.getAcc())}, elementOf(element)));
}

// The packed words of one instruction's operand that begins at `corner` of the whole one.
Regs KernelLowering::operandWords(const Held& operand, const LinearLayout& instruction, ArrayRef<int64_t> corner,
                                  ptx::Element kind) {
  RegisterAt at = registersAt(operand.layout);
  Regs parts;
  for (int64_t r = 0; r < instruction.numRegisters(); ++r) {
    SmallVector<int64_t> c = instruction.coordinates(instruction.apply(r, 0, 0, 0));
    llvm::Value* element = operand.regs[at.lookup(positionAt(operand.layout, corner, c[0], c[1]))];
    parts.push_back(kind == ptx::Element::TF32 ? ptx::roundToTf32(b_, element) : toBits(element));
  }
  return pack(parts, 32);
}

// acc + lhs · rhs, in layouts dotOperandA, dotOperandB and mmaV2Result of one grid of warps. Four registers of the result are one
// instruction's; an operand's words are made once.
Regs KernelLowering::multiply(const Held& lhs, const Held& rhs, const Held& acc, ptx::Element kind) {
  unsigned bits = ptx::bitsOf(kind);
  int64_t instructionK = 256 / bits, depth = lhs.layout.shape().back();
  LinearLayout a = layout::dotOperandA({16, instructionK}, bits, {}),
               b = layout::dotOperandB({instructionK, 8}, bits, {});
  llvm::Type* type = acc.regs[0]->getType();
  ptx::MmaSync mma{kind, kind,
                   type->isHalfTy()    ? ptx::Accumulator::F16
                   : type->isFloatTy() ? ptx::Accumulator::F32
                                       : ptx::Accumulator::S32};
  Regs out = acc.regs;
  for (int64_t k = 0; k < depth; k += instructionK) {
    std::map<uint64_t, Regs> lhsWords, rhsWords;
    for (size_t r = 0; r < out.size(); r += 4) {
      SmallVector<int64_t> corner = acc.layout.coordinates(acc.layout.apply(r, 0, 0, 0)), left = corner, right = corner;
      left[left.size() - 1] = k;
      right[right.size() - 2] = k;
      Regs &x = lhsWords[lhs.layout.position(left)], &y = rhsWords[rhs.layout.position(right)];
      if (x.empty()) x = operandWords(lhs, a, left, kind);
      if (y.empty()) y = operandWords(rhs, b, right, kind);
      Regs part = multiplyOnce(mma, x, y, Scalars(out).slice(r, 4));
      std::copy(part.begin(), part.end(), out.begin() + r);
    }
  }
  return out;
}

// float16 results go through the instruction in pairs.
Regs KernelLowering::multiplyOnce(const ptx::MmaSync& mma, Scalars lhs, Scalars rhs, Scalars acc) {
  if (mma.accumulator != ptx::Accumulator::F16) return Regs(ptx::mmaSync(b_, mma, lhs, rhs, acc));
  Regs parts;
  for (llvm::Value* v : acc) parts.push_back(toBits(v));
  parts = unpack(Regs(ptx::mmaSync(b_, mma, lhs, rhs, pack(parts, 32))), 16, acc.size());
  for (llvm::Value*& v : parts) v = fromBits(v, b_.getHalfTy());
  return parts;
}

// Both operands in shared memory, row-major, in the type that is summed: floats as float32 (float64 as such), integers
// as int32. A few neighbours along K are taken at a time.
void KernelLowering::lowerMultiplyAdd(tile::DotOp op) {
  LinearLayout result = layoutOf(op.getResult()), lhs = layoutOf(op.getLhs()), rhs = layoutOf(op.getRhs());
  mlir::Type accumulator = cast<RankedTensorType>(op.getAcc().getType()).getElementType();
  mlir::Type wide = accumulator.isF16() ? Float32Type::get(op.getContext()) : accumulator;
  llvm::Type *held = typeOf(accumulator), *sum = typeOf(wide);
  unsigned bits = bitsOf(sum);
  int64_t lhsBytes = lhs.numElements() * bits / 8;
  llvm::Value* lhsBase = scratch(lhsBytes + rhs.numElements() * bits / 8, op.getLoc());
  llvm::Value* rhsBase = b_.CreateGEP(b_.getInt8Ty(), lhsBase, b_.getInt32(lhsBytes));
  blockBarrier();
  storeRowMajor(lhsBase, lhs, widened(op.getLhs(), wide));
  storeRowMajor(rhsBase, rhs, widened(op.getRhs(), wide));
  blockBarrier();

  Regs totals = use(op.getAcc());
  if (held != sum)
    for (llvm::Value*& v : totals) v = b_.CreateFPExt(v, sum);
  // The offsets in shared memory at which the rows and columns of the results begin.
  unsigned rank = result.rank();
  auto without = [&](const LinearLayout& operand, unsigned axis) {
    return result.mapBases(operand.shape(), [&](uint64_t basis) {
      SmallVector<int64_t> at = result.coordinates(basis);
      at[axis] = 0;
      return operand.position(at);
    });
  };
  LinearLayout rows = without(lhs, rank - 1), columns = without(rhs, rank - 2);
  auto addressOf = [&](llvm::Value* base, llvm::Value* element) {
    return b_.CreateGEP(b_.getInt8Ty(), base, b_.CreateMul(element, b_.getInt32(bits / 8)));
  };
  int64_t depth = lhs.shape().back(), width = rhs.shape().back(), step = std::min<int64_t>(depth, 128 / bits);
  size_t vector = vectorLength(result, width, bits, rank - 1);
  repeat(totals, depth / step, [&](llvm::Value* round, Regs& acc) {
    llvm::Value* first = b_.CreateMul(round, b_.getInt32(step));
    std::map<uint64_t, Regs> left, right;
    for (size_t r = 0; r < acc.size(); r += vector) {
      Regs &a = left[rows.apply(r, 0, 0, 0)], &b = right[columns.apply(r, 0, 0, 0)];
      if (a.empty()) a = loadShared(addressOf(lhsBase, b_.CreateAdd(position(rows, r), first)), bits, step);
      for (int64_t k = 0; b.size() < size_t(step) * vector; ++k) {
        llvm::Value* row = b_.CreateMul(b_.CreateAdd(first, b_.getInt32(k)), b_.getInt32(width));
        b.append(loadShared(addressOf(rhsBase, b_.CreateAdd(position(columns, r), row)), bits, vector));
      }
      for (int64_t k = 0; k < step; ++k)
        for (size_t i = 0; i < vector; ++i)
          acc[r + i] = multiplyAdd(fromBits(a[k], sum), fromBits(b[k * vector + i], sum), acc[r + i]);
    }
  });
  if (held != sum)
    for (llvm::Value*& v : totals) v = b_.CreateFPTrunc(v, held);
  define(op.getResult(), totals);
}

llvm::Value* KernelLowering::multiplyAdd(llvm::Value* a, llvm::Value* b, llvm::Value* total) {
  if (total->getType()->isIntegerTy()) return b_.CreateAdd(b_.CreateMul(a, b), total);
  return b_.CreateIntrinsic(llvm::Intrinsic::fma, {total->getType()}, {a, b, total});
}

Regs KernelLowering::widened(mlir::Value tile, mlir::Type wide) {
  mlir::Type element = cast<RankedTensorType>(tile.getType()).getElementType();
  Regs out = use(tile);
  if (element == wide) return out;
  for (llvm::Value*& v : out)
    v = isa<FloatType>(element) ? convertFloat(v, element, wide, false) : b_.CreateSExt(v, typeOf(wide));
  return out;
}

}  // namespace tandem::lower::nvidia
