// shfl, redux, vote, activemask, bar.warp
#include "compiler/codegen/nvidia/asm/warp.h"

namespace tandem::codegen::ptx {
namespace {

std::string maskOperand(Call& call, llvm::Value* mask) { return mask ? call.immediateOrIn(mask) : "-1"; }

llvm::Value* shuffle32(llvm::IRBuilderBase& b, Shuffle mode, llvm::Value* value, llvm::Value* lane, int width,
                       llvm::Value* mask) {
  static constexpr const char* names[] = {"bfly", "up", "down", "idx"};
  // Bits 8-12: which lane bits name the segment; bits 0-4: the last lane of a segment (for `up`, the first).
  int clamp = ((32 - width) << 8) | (mode == Shuffle::Up ? 0 : 31);
  Call call(b);
  std::string text = "shfl.sync." + std::string(names[int(mode)]) + ".b32 " + call.out(b.getInt32Ty()) + ", ";
  text += call.in(value) + ", ";
  text += call.immediateOrIn(lane) + ", " + std::to_string(clamp) + ", ";
  return call.emit(text + maskOperand(call, mask) + ";", Effect::Collective)[0];
}

llvm::Value* one(llvm::IRBuilderBase& b, const std::string& name, llvm::Type* result, llvm::Value* value,
                 llvm::Value* mask) {
  Call call(b);
  std::string text = name + " " + call.out(result) + ", ";
  text += call.in(value) + ", ";
  return call.emit(text + maskOperand(call, mask) + ";", Effect::Collective)[0];
}

}  // namespace

llvm::Value* shuffle(llvm::IRBuilderBase& b, Shuffle mode, llvm::Value* value, llvm::Value* lane, int width,
                     llvm::Value* mask) {
  llvm::Type* type = value->getType();
  if (type->isPointerTy())
    return b.CreateIntToPtr(shuffle(b, mode, b.CreatePtrToInt(value, b.getInt64Ty()), lane, width, mask), type);
  unsigned bits = type->getPrimitiveSizeInBits();
  llvm::Value* plain = b.CreateBitCast(value, b.getIntNTy(bits));
  llvm::Value* moved = nullptr;
  if (bits <= 32) {
    moved =
        b.CreateTrunc(shuffle32(b, mode, b.CreateZExt(plain, b.getInt32Ty()), lane, width, mask), b.getIntNTy(bits));
  } else {
    llvm::Value* low = shuffle32(b, mode, b.CreateTrunc(plain, b.getInt32Ty()), lane, width, mask);
    llvm::Value* high = shuffle32(b, mode, b.CreateTrunc(b.CreateLShr(plain, 32), b.getInt32Ty()), lane, width, mask);
    moved = b.CreateOr(b.CreateZExt(low, b.getInt64Ty()), b.CreateShl(b.CreateZExt(high, b.getInt64Ty()), 32));
  }
  return b.CreateBitCast(moved, type);
}

llvm::Value* reduceWarp(llvm::IRBuilderBase& b, WarpReduction op, llvm::Value* value, llvm::Value* mask) {
  static constexpr const char* names[] = {"add.s32", "min.s32", "max.s32", "min.u32",
                                          "max.u32", "and.b32", "or.b32",  "xor.b32"};
  return one(b, std::string("redux.sync.") + names[int(op)], b.getInt32Ty(), value, mask);
}

llvm::Value* ballot(llvm::IRBuilderBase& b, llvm::Value* predicate, llvm::Value* mask) {
  return one(b, "vote.sync.ballot.b32", b.getInt32Ty(), predicate, mask);
}

llvm::Value* activeMask(llvm::IRBuilderBase& b) {
  Call call(b);
  std::string result = call.out(b.getInt32Ty());
  return call.emit("activemask.b32 " + result + ";", Effect::Acts)[0];
}

void syncWarp(llvm::IRBuilderBase& b, llvm::Value* mask) {
  Call call(b);
  call.emit("bar.warp.sync " + maskOperand(call, mask) + ";", Effect::Acts);
}

}  // namespace tandem::codegen::ptx
