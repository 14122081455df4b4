// tile.dot by multiply-adds of operands in shared memory.
#include "compiler/lower/gpu/dot.h"
#include "compiler/lower/gpu/float_convert.h"
#include "compiler/lower/gpu/memory.h"
#include "compiler/lower/gpu/shared.h"
#include <map>

namespace tandem::lower::gpu {
using namespace mlir;

static llvm::Value* multiplyAdd(KernelContext& cx, llvm::Value* a, llvm::Value* b, llvm::Value* total) {
  if (total->getType()->isIntegerTy()) return cx.b.CreateAdd(cx.b.CreateMul(a, b), total);
  return cx.b.CreateIntrinsic(llvm::Intrinsic::fma, {total->getType()}, {a, b, total});
}

static Regs widened(KernelContext& cx, mlir::Value tile, mlir::Type wide) {
  mlir::Type element = cast<RankedTensorType>(tile.getType()).getElementType();
  Regs out = cx.use(tile);
  if (element == wide) return out;
  for (llvm::Value*& v : out)
    v = isa<FloatType>(element) ? convertFloat(cx, v, element, wide, false) : cx.b.CreateSExt(v, cx.typeOf(wide));
  return out;
}

// Both operands in shared memory, row-major, in the type that is summed: floats as float32 (float64 as such), integers
// as int32. A few neighbours along K are taken at a time.
void lowerMultiplyAdd(KernelContext& cx, tile::DotOp op) {
  LinearLayout result = cx.layoutOf(op.getResult()), lhs = cx.layoutOf(op.getLhs()), rhs = cx.layoutOf(op.getRhs());
  mlir::Type accumulator = cast<RankedTensorType>(op.getAcc().getType()).getElementType();
  mlir::Type wide = accumulator.isF16() ? Float32Type::get(op.getContext()) : accumulator;
  llvm::Type *held = cx.typeOf(accumulator), *sum = cx.typeOf(wide);
  unsigned bits = cx.bitsOf(sum);
  int64_t lhsBytes = lhs.numElements() * bits / 8;
  llvm::Value* lhsBase = cx.meetBeforeScratch(lhsBytes + rhs.numElements() * bits / 8, op.getLoc());
  llvm::Value* rhsBase = cx.b.CreateGEP(cx.b.getInt8Ty(), lhsBase, cx.b.getInt32(lhsBytes));
  storeRowMajor(cx, lhsBase, lhs, widened(cx, op.getLhs(), wide));
  storeRowMajor(cx, rhsBase, rhs, widened(cx, op.getRhs(), wide));
  cx.emit.blockBarrier();

  Regs totals = cx.use(op.getAcc());
  if (held != sum)
    for (llvm::Value*& v : totals) v = cx.b.CreateFPExt(v, sum);
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
    return cx.b.CreateGEP(cx.b.getInt8Ty(), base, cx.b.CreateMul(element, cx.b.getInt32(bits / 8)));
  };
  int64_t depth = lhs.shape().back(), width = rhs.shape().back(), step = std::min<int64_t>(depth, 128 / bits);
  size_t vector = vectorLength(result, width, bits, rank - 1);
  cx.repeat(totals, depth / step, [&](llvm::Value* round, Regs& acc) {
    llvm::Value* first = cx.b.CreateMul(round, cx.b.getInt32(step));
    std::map<uint64_t, Regs> left, right;
    for (size_t r = 0; r < acc.size(); r += vector) {
      Regs &a = left[rows.apply(r, 0, 0, 0)], &b = right[columns.apply(r, 0, 0, 0)];
      if (a.empty()) a = cx.loadShared(addressOf(lhsBase, cx.b.CreateAdd(cx.position(rows, r), first)), bits, step);
      for (int64_t k = 0; b.size() < size_t(step) * vector; ++k) {
        llvm::Value* row = cx.b.CreateMul(cx.b.CreateAdd(first, cx.b.getInt32(k)), cx.b.getInt32(width));
        b.append(cx.loadShared(addressOf(rhsBase, cx.b.CreateAdd(cx.position(columns, r), row)), bits, vector));
      }
      for (int64_t k = 0; k < step; ++k)
        for (size_t i = 0; i < vector; ++i)
          acc[r + i] = multiplyAdd(cx, cx.fromBits(a[k], sum), cx.fromBits(b[k * vector + i], sum), acc[r + i]);
    }
  });
  if (held != sum)
    for (llvm::Value*& v : totals) v = cx.b.CreateFPTrunc(v, held);
  cx.define(op.getResult(), totals);
}

void registerDot(Lowerings& table) {
  table.on<tile::DotOp>([](KernelContext& cx, auto o) { lowerMultiplyAdd(cx, o); });
}

}  // namespace tandem::lower::gpu
