// A block runs its own program, or another one, chosen such that longer programs start first.
#include "compiler/lower/gpu/kernel.h"

namespace tandem::lower::gpu {

// Blocks start in the order of their numbers, the first axis fastest. Along the axis `longestFirst` programs get
// longer. The other axes make up one number, `lane`; a group has as many lanes as a round of blocks needs, or as four
// rounds need where blocks share a multiprocessor (docs/performance/attention.md). Groups follow one another, so that
// data that a lane's programs share stays in L2; in a group the longest programs of all its lanes start first.
void KernelContext::orderPrograms() {
  const int programs = blocksPerMultiprocessor == 1 ? 128 : 512 * blocksPerMultiprocessor;  // of a group
  llvm::IRBuilderBase::InsertPointGuard guard(b);
  b.SetInsertPoint(&function->getEntryBlock(), function->getEntryBlock().getFirstInsertionPt());
  int longest = longestFirst, first = longest == 0 ? 1 : 0, second = longest == 2 ? 1 : 2;
  llvm::Value *length = emit.numBlocks(longest), *width = emit.numBlocks(first), *one = b.getInt32(1);
  llvm::Value* lanes = b.CreateMul(width, emit.numBlocks(second));
  llvm::Value* number = b.CreateMul(emit.numBlocks(1), emit.blockId(2));
  number = b.CreateAdd(emit.blockId(0), b.CreateMul(emit.numBlocks(0), b.CreateAdd(emit.blockId(1), number)));

  // The quotient of positive numbers, rounded up.
  auto parts = [&](llvm::Value* x, llvm::Value* y) { return b.CreateAdd(b.CreateUDiv(b.CreateSub(x, one), y), one); };
  llvm::Value* groups = parts(lanes, parts(b.getInt32(programs), length));
  llvm::Value* lanesOfGroup = parts(lanes, groups);
  llvm::Value* ofGroup = b.CreateMul(lanesOfGroup, length);
  llvm::Value* firstLane = b.CreateMul(b.CreateUDiv(number, ofGroup), lanesOfGroup);
  llvm::Value* inGroup = b.CreateURem(number, ofGroup);
  llvm::Value* here = b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, lanesOfGroup, b.CreateSub(lanes, firstLane));
  llvm::Value* lane = b.CreateAdd(firstLane, b.CreateURem(inGroup, here));
  llvm::Value* place = b.CreateSub(b.CreateSub(length, one), b.CreateUDiv(inGroup, here));

  // Programs that 32 bits cannot number keep their blocks' places.
  llvm::Value* all = b.CreateMul(b.CreateZExt(lanes, b.getInt64Ty()), b.CreateZExt(length, b.getInt64Ty()));
  llvm::Value* fits = b.CreateICmpULE(all, b.getInt64(UINT32_MAX));
  programs_[longest] = b.CreateSelect(fits, place, emit.blockId(longest));
  programs_[first] = b.CreateSelect(fits, b.CreateURem(lane, width), emit.blockId(first));
  programs_[second] = b.CreateSelect(fits, b.CreateUDiv(lane, width), emit.blockId(second));
}

llvm::Value* KernelContext::programId(int axis) {
  if (longestFirst < 0) return emit.blockId(axis);
  if (!programs_[0]) orderPrograms();
  return programs_[axis];
}

}  // namespace tandem::lower::gpu
