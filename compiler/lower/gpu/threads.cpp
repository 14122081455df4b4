// This file has a thread's numbers, the positions of a tile that it holds, and barriers among the threads of a role.
#include "compiler/lower/nvidia/kernel_lowering.h"
#include <llvm/IR/IntrinsicsNVPTX.h>

namespace tandem::lower::nvidia {
using layout::Dim;

llvm::Value* KernelLowering::threadId() {
  return b_.CreateIntrinsic(b_.getInt32Ty(), llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x, {});
}

llvm::Value* KernelLowering::laneId() { return b_.CreateAnd(threadId(), 31); }

// It is read from lane 0, so that the hardware knows it is one value for the warp; once, so that code that depends on
// it can leave loops.
llvm::Value* KernelLowering::warpId() {
  if (warpId_) return warpId_;
  llvm::IRBuilderBase::InsertPointGuard guard(b_);
  llvm::BasicBlock& entry = function_->getEntryBlock();
  b_.SetInsertPoint(&entry, entry.getFirstInsertionPt());
  warpId_ = b_.CreateIntrinsic(b_.getInt32Ty(), llvm::Intrinsic::nvvm_shfl_sync_idx_i32,
                               {b_.getInt32(-1), b_.CreateLShr(threadId(), 5), b_.getInt32(0), b_.getInt32(31)});
  return warpId_;
}

llvm::Value* KernelLowering::threadPosition(const LinearLayout& layout) {
  llvm::Value* position = b_.getInt32(0);
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
        part = b_.CreateAnd(id, ((1u << (end - i)) - 1) << i);
        int shift = llvm::countr_zero(bases[i]) - static_cast<int>(i);
        part = shift >= 0 ? b_.CreateShl(part, shift) : b_.CreateLShr(part, -shift);
      } else {
        llvm::Value* bit = b_.CreateTrunc(b_.CreateLShr(id, i), b_.getInt1Ty());
        part = b_.CreateSelect(bit, b_.getInt32(bases[i]), b_.getInt32(0));
      }
      position = b_.CreateXor(position, part);
      i = end;
    }
  };
  addBases(laneId(), layout.bases(Dim::Lane));
  if (!layout.bases(Dim::Warp).empty()) addBases(b_.CreateLShr(threadId(), 5), layout.bases(Dim::Warp));
  return position;
}

llvm::Value* KernelLowering::position(const LinearLayout& layout, size_t reg) {
  return b_.CreateXor(threadPosition(layout), b_.getInt32(layout.apply(reg, 0, 0, 0)));
}

Regs KernelLowering::coordinates(llvm::Value* position, llvm::ArrayRef<int64_t> shape) {
  Regs out(shape.size());
  int shift = 0;
  for (size_t d = shape.size(); d-- > 0;) {
    out[d] = b_.CreateAnd(b_.CreateLShr(position, shift), shape[d] - 1);
    shift += llvm::Log2_64(shape[d]);
  }
  return out;
}

llvm::Value* KernelLowering::isOwner(const LinearLayout& layout) {
  llvm::Value* owner = nullptr;
  auto require = [&](llvm::Value* id, uint64_t free) {
    if (!free) return;
    llvm::Value* first = b_.CreateICmpEQ(b_.CreateAnd(id, free), b_.getInt32(0));
    owner = owner ? b_.CreateAnd(owner, first) : first;
  };
  require(laneId(), layout.freeMask(Dim::Lane));
  uint64_t warps = layout.freeMask(Dim::Warp);
  // Warps beyond those the layout names hold copies.
  int known = 1 << layout.bases(Dim::Warp).size();
  if (known < numWarps_) warps |= (numWarps_ - 1) & ~uint64_t(known - 1);
  require(b_.CreateLShr(threadId(), 5), warps);
  return owner;
}

// Consumers have a barrier of their own, for the producer's warps never join.
void KernelLowering::blockBarrier() { ptx::barrierSync(b_, role_ == 0 ? 0 : 1, 32 * numWarps_); }

const ThreadValues& KernelLowering::threadValues(mlir::Operation* op) {
  if (!threadValues_) threadValues_ = std::make_unique<ThreadValues>(op->getParentOfType<mlir::func::FuncOp>());
  return *threadValues_;
}

void KernelLowering::when(llvm::Value* condition, llvm::function_ref<void()> body) {
  if (!condition) return body();
  llvm::BasicBlock *then = newBlock("then"), *after = newBlock("after");
  b_.CreateCondBr(condition, then, after);
  b_.SetInsertPoint(then);
  body();
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
}

}  // namespace tandem::lower::nvidia
