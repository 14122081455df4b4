// tile.gather and tile.histogram: through the block's shared memory.
#include "compiler/lower/nvidia/kernel_lowering.h"
#include <llvm/ADT/TypeSwitch.h>

namespace tandem::lower::nvidia {
using namespace mlir;
using layout::LinearLayout;

bool KernelLowering::lowerGather(Operation* op) {
  return llvm::TypeSwitch<Operation*, bool>(op)
      .Case<tile::GatherOp>([&](auto o) { return lowerGatherAlong(o), true; })
      .Case<tile::HistogramOp>([&](auto o) { return lowerHistogram(o), true; })
      .Default([](Operation*) { return false; });
}

// A tile in row-major order.
void KernelLowering::storeRowMajor(llvm::Value* base, const LinearLayout& layout, const Regs& regs) {
  unsigned bits = bitsOf(regs[0]->getType());
  LinearLayout placed = layout::offsetsOf(layout, layout::plainOffsets(layout.shape()));
  when(isOwner(layout), [&] {
    for (const auto& group : layout::vectorGroups(placed, layout::widestVector(placed, bits))) {
      Regs parts;
      for (unsigned r : group) parts.push_back(toBits(regs[r]));
      storeShared(b_.CreateGEP(b_.getInt8Ty(), base, b_.CreateMul(position(placed, group[0]), b_.getInt32(bits / 8))),
                  parts);
    }
  });
}

// An index outside stays inside the tile's own memory.
void KernelLowering::lowerGatherAlong(tile::GatherOp op) {
  LinearLayout source = layoutOf(op.getSource()), result = layoutOf(op.getResult());
  llvm::Type* element = typeOf(op.getSource().getType());
  unsigned bits = bitsOf(element), axis = op.getAxis();
  llvm::Value* base = scratch(source.numElements() * bits / 8, op.getLoc());
  blockBarrier();
  storeRowMajor(base, source, use(op.getSource()));
  blockBarrier();
  Regs out;
  for (int64_t r = 0; r < result.numRegisters(); ++r) {
    Regs at = coordinates(position(result, r), result.shape());
    llvm::Value* index = b_.CreateZExtOrTrunc(use(op.getIndices())[r], b_.getInt32Ty());
    at[axis] = b_.CreateAnd(index, b_.getInt32(source.shape()[axis] - 1));
    llvm::Value* offset = b_.getInt32(0);
    for (unsigned d = 0; d < at.size(); ++d) offset = b_.CreateOr(offset, b_.CreateShl(at[d], source.axisShift(d)));
    llvm::Value* address = b_.CreateGEP(b_.getInt8Ty(), base, b_.CreateMul(offset, b_.getInt32(bits / 8)));
    out.push_back(fromBits(loadShared(address, bits, 1)[0], element));
  }
  define(op.getResult(), out);
}

// Counters in shared memory: cleared, counted up atomically by the owners of the values, read.
void KernelLowering::lowerHistogram(tile::HistogramOp op) {
  LinearLayout source = layoutOf(op.getSource()), result = layoutOf(op.getResult());
  int64_t bins = result.numElements(), threads = 32 * numWarps_;
  llvm::Value* base = scratch(4 * bins, op.getLoc());
  auto addressOf = [&](llvm::Value* bin) { return b_.CreateGEP(b_.getInt32Ty(), base, bin); };
  Regs mask;
  if (op.getMask())
    mask = convertLayout(use(op.getMask()), layoutOf(op.getMask()), source, b_.getInt1Ty(), op.getLoc());
  blockBarrier();
  for (int64_t first = 0; first < bins; first += threads) {
    llvm::Value* bin = b_.CreateAdd(threadId(), b_.getInt32(first));
    when(bins - first < threads ? b_.CreateICmpULT(bin, b_.getInt32(bins)) : nullptr,
         [&] { storeShared(addressOf(bin), {b_.getInt32(0)}); });
  }
  blockBarrier();
  llvm::Value* owner = isOwner(source);
  uint64_t copies = source.freeMask(layout::Dim::Register);
  for (auto [r, value] : llvm::enumerate(use(op.getSource()))) {
    if (r & copies) continue;
    // A negative value is larger than any bin as an unsigned one.
    bool isBool = value->getType()->isIntegerTy(1);
    llvm::Value* wide = isBool ? b_.CreateZExt(value, b_.getInt64Ty()) : b_.CreateSExt(value, b_.getInt64Ty());
    llvm::Value* counted = b_.CreateICmpULT(wide, b_.getInt64(bins));
    if (owner) counted = b_.CreateAnd(counted, owner);
    if (!mask.empty()) counted = b_.CreateAnd(counted, mask[r]);
    ptx::AtomicOptions options{ptx::Order::Relaxed, ptx::Scope::Block, ptx::Space::Shared, counted};
    ptx::reduceInto(b_, ptx::AtomicOp::Add, ptx::AtomicType::U32, addressOf(b_.CreateTrunc(wide, b_.getInt32Ty())),
                    b_.getInt32(1), options);
  }
  blockBarrier();
  Regs out;
  for (int64_t r = 0; r < result.numRegisters(); ++r)
    out.push_back(loadShared(addressOf(position(result, r)), 32, 1)[0]);
  define(op.getResult(), out);
}

}  // namespace tandem::lower::nvidia
