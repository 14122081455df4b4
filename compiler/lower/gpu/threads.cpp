// This file has a thread's numbers, and the positions of a tile that it holds.
#include "compiler/lower/gpu/kernel.h"

namespace tandem::lower::gpu {
using layout::Dim;

llvm::Value* KernelContext::laneId() { return b.CreateAnd(threadId(), warpSize() - 1); }

llvm::Value* KernelContext::ownWarp() { return b.CreateLShr(threadId(), llvm::Log2_32(warpSize())); }

llvm::Value* KernelContext::warpId() {
  if (warpId_) return warpId_;
  llvm::IRBuilderBase::InsertPointGuard guard(b);
  llvm::BasicBlock& entry = function->getEntryBlock();
  b.SetInsertPoint(&entry, entry.getFirstInsertionPt());
  return warpId_ = emit.uniformWarpId();
}

void KernelContext::asThreads(int first, int warps, llvm::function_ref<void()> body) {
  std::tuple own(firstThread, numWarps, warpId_);
  std::tie(firstThread, numWarps, warpId_) = std::tuple(first, warps, nullptr);
  body();
  std::tie(firstThread, numWarps, warpId_) = own;
}

llvm::Value* KernelContext::threadPosition(const LinearLayout& layout) {
  llvm::Value* position = b.getInt32(0);
  auto addBases = [&](llvm::Value* id, llvm::ArrayRef<uint64_t> bases) {
    for (size_t i = 0; i < bases.size();) {
      if (!bases[i]) {
        ++i;
        continue;
      }
      // A run of bases that are consecutive bits is one mask and one shift.
      size_t end = i + 1;
      while (llvm::has_single_bit(bases[i]) && end < bases.size() && bases[end] == bases[end - 1] * 2) ++end;
      llvm::Value* part;
      if (llvm::has_single_bit(bases[i])) {
        part = b.CreateAnd(id, ((1u << (end - i)) - 1) << i);
        int shift = llvm::countr_zero(bases[i]) - static_cast<int>(i);
        part = shift >= 0 ? b.CreateShl(part, shift) : b.CreateLShr(part, -shift);
      } else {
        llvm::Value* bit = b.CreateTrunc(b.CreateLShr(id, i), b.getInt1Ty());
        part = b.CreateSelect(bit, b.getInt32(bases[i]), b.getInt32(0));
      }
      position = b.CreateXor(position, part);
      i = end;
    }
  };
  addBases(laneId(), layout.bases(Dim::Lane));
  if (!layout.bases(Dim::Warp).empty()) addBases(ownWarp(), layout.bases(Dim::Warp));
  return position;
}

llvm::Value* KernelContext::position(const LinearLayout& layout, size_t reg) {
  return b.CreateXor(threadPosition(layout), b.getInt32(layout.apply(reg, 0, 0, 0)));
}

Regs KernelContext::coordinates(llvm::Value* position, llvm::ArrayRef<int64_t> shape) {
  Regs out(shape.size());
  int shift = 0;
  for (size_t d = shape.size(); d-- > 0;) {
    out[d] = b.CreateAnd(b.CreateLShr(position, shift), shape[d] - 1);
    shift += llvm::Log2_64(shape[d]);
  }
  return out;
}

llvm::Value* KernelContext::isOwner(const LinearLayout& layout) {
  llvm::Value* owner = nullptr;
  auto require = [&](llvm::Value* id, uint64_t free) {
    if (!free) return;
    llvm::Value* first = b.CreateICmpEQ(b.CreateAnd(id, free), b.getInt32(0));
    owner = owner ? b.CreateAnd(owner, first) : first;
  };
  require(laneId(), layout.freeMask(Dim::Lane));
  uint64_t warps = layout.freeMask(Dim::Warp);
  // Warps beyond those the layout names hold copies.
  int known = 1 << layout.bases(Dim::Warp).size();
  if (known < numWarps) warps |= (numWarps - 1) & ~uint64_t(known - 1);
  require(ownWarp(), warps);
  return owner;
}

const ThreadValues& KernelContext::threadValues(mlir::Operation* op) {
  if (!threadValues_) threadValues_ = std::make_unique<ThreadValues>(op->getParentOfType<mlir::func::FuncOp>());
  return *threadValues_;
}

void KernelContext::when(llvm::Value* condition, llvm::function_ref<void()> body) {
  if (!condition) return body();
  llvm::BasicBlock *then = newBlock("then"), *after = newBlock("after");
  b.CreateCondBr(condition, then, after);
  b.SetInsertPoint(then);
  body();
  b.CreateBr(after);
  b.SetInsertPoint(after);
}

}  // namespace tandem::lower::gpu
