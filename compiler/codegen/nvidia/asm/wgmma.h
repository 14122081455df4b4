// Matrix products of a warp group (128 threads), asynchronous, with operands in shared memory (sm_90a).
#pragma once
#include "compiler/codegen/nvidia/asm/matrix.h"

namespace tandem::codegen::ptx {

// D = A * B + D for m64 x n x k, k being 32 bytes of elements.
struct Wgmma {
  int n = 64;  // 8 to 256 by 8
  Element a = Element::BF16, b = Element::BF16;
  Accumulator accumulator = Accumulator::F32;
  llvm::Value* descriptorA = nullptr;  // i64; null: `registersA`
  ValueRange registersA{};             // four i32
  llvm::Value* descriptorB = nullptr;
  bool transposeA = false, transposeB = false;  // m-major A (in shared memory), n-major B; 16-bit elements only
  llvm::Value* keep = nullptr;                  // i1: false drops the old D; null: kept
};

// n/2 accumulators of float or i32, n/4 of i32 (pairs of f16). Gives them as one struct (`unpack` takes it apart): a
// struct that is carried through a loop as one value compiles faster than its scalars.
llvm::Value* wgmma(llvm::IRBuilderBase& b, const Wgmma& op, ValueRange accumulators);
Values unpack(llvm::IRBuilderBase& b, llvm::Value* aggregate);

// An i32 and a constant, added here and nowhere before: LLVM would take sums that a loop does not change out of it, and hold each.
llvm::Value* addedHere(llvm::IRBuilderBase& b, llvm::Value* value, uint32_t constant);

// The fence comes before the first product, and after other instructions have touched registers of products.
void wgmmaFence(llvm::IRBuilderBase& b);
void wgmmaCommit(llvm::IRBuilderBase& b);
// Waits until at most `pending` groups are under way. Registers that a pending product writes must pass through here to
// be read: gives `carried` back, after the wait.
Values wgmmaWait(llvm::IRBuilderBase& b, int pending, ValueRange carried = {});

}  // namespace tandem::codegen::ptx
