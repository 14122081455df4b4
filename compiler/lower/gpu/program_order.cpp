// A block runs its own program, or another one, chosen such that longer programs start first.
#include "compiler/lower/nvidia/kernel_lowering.h"

namespace tandem::lower::nvidia {

// Blocks start in the order of their numbers, the first axis fastest. Along the axis `longestFirst_` programs get
// longer. The other axes make up one number, `lane`; a group has as many lanes as a round of blocks needs, or as four
// rounds need where blocks share a multiprocessor (docs/performance/attention.md). Groups follow one another, so that
// data that a lane's programs share stays in L2; in a group the longest programs of all its lanes start first.
void KernelLowering::orderPrograms() {
  const int programs = blocksPerMultiprocessor_ == 1 ? 128 : 512 * blocksPerMultiprocessor_;  // of a group
  llvm::IRBuilderBase::InsertPointGuard guard(b_);
  b_.SetInsertPoint(&function_->getEntryBlock(), function_->getEntryBlock().getFirstInsertionPt());
  int longest = longestFirst_, first = longest == 0 ? 1 : 0, second = longest == 2 ? 1 : 2;
  llvm::Value *length = numPrograms(longest), *width = numPrograms(first), *one = b_.getInt32(1);
  llvm::Value* lanes = b_.CreateMul(width, numPrograms(second));
  llvm::Value* number = b_.CreateMul(numPrograms(1), blockId(2));
  number = b_.CreateAdd(blockId(0), b_.CreateMul(numPrograms(0), b_.CreateAdd(blockId(1), number)));

  // The quotient of positive numbers, rounded up.
  auto parts = [&](llvm::Value* x, llvm::Value* y) { return b_.CreateAdd(b_.CreateUDiv(b_.CreateSub(x, one), y), one); };
  llvm::Value* groups = parts(lanes, parts(b_.getInt32(programs), length));
  llvm::Value* lanesOfGroup = parts(lanes, groups);
  llvm::Value* ofGroup = b_.CreateMul(lanesOfGroup, length);
  llvm::Value* firstLane = b_.CreateMul(b_.CreateUDiv(number, ofGroup), lanesOfGroup);
  llvm::Value* inGroup = b_.CreateURem(number, ofGroup);
  llvm::Value* here = b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, lanesOfGroup, b_.CreateSub(lanes, firstLane));
  llvm::Value* lane = b_.CreateAdd(firstLane, b_.CreateURem(inGroup, here));
  llvm::Value* place = b_.CreateSub(b_.CreateSub(length, one), b_.CreateUDiv(inGroup, here));

  // Programs that 32 bits cannot number keep their blocks' places.
  llvm::Value* all = b_.CreateMul(b_.CreateZExt(lanes, b_.getInt64Ty()), b_.CreateZExt(length, b_.getInt64Ty()));
  llvm::Value* fits = b_.CreateICmpULE(all, b_.getInt64(UINT32_MAX));
  programs_[longest] = b_.CreateSelect(fits, place, blockId(longest));
  programs_[first] = b_.CreateSelect(fits, b_.CreateURem(lane, width), blockId(first));
  programs_[second] = b_.CreateSelect(fits, b_.CreateUDiv(lane, width), blockId(second));
}

llvm::Value* KernelLowering::programId(int axis) {
  if (longestFirst_ < 0) return blockId(axis);
  if (!programs_[0]) orderPrograms();
  return programs_[axis];
}

}  // namespace tandem::lower::nvidia
