// The third decision of pipeline-loads: how many slots fit.
#pragma once
#include "compiler/target/target_info.h"
#include "compiler/transform/nvidia/copied_loads.h"
#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tandem::transform::nvidia {

// The shared memory that one slot takes: a tile of each load.
int64_t bytesInSlot(llvm::ArrayRef<CopiedLoad> loads);
// The part of a block's shared memory that is left when an eighth is kept for exchanges between threads.
inline int64_t roomOf(int64_t sharedBytes) { return sharedBytes - sharedBytes / 8; }
// Exchanges that get less go in several rounds; so much of their room may be a slot's without which there is one alone.
inline int64_t spareOf(int64_t sharedBytes) { return sharedBytes / 8 - 10 * 1024; }
// The most shared memory that an op of `kernel` cannot do without, in bytes, to exchange tiles between threads; `loads` lie in slots.
int64_t bytesExchanged(mlir::func::FuncOp kernel, const target::TargetInfo& target,
                       llvm::ArrayRef<CopiedLoad> loads = {});
// The shared memory that `kernel` has for slots, when the buffers are gone that slots of `loads` replace: without what is
// kept for exchanges, and what some ops cannot do without. With `loop` the room while it runs: what is not in
// use then lies in one place with its slots.
int64_t roomForSlots(mlir::func::FuncOp kernel, llvm::ArrayRef<CopiedLoad> loads, const target::TargetInfo& target,
                     mlir::scf::ForOp loop = nullptr);

}  // namespace tandem::transform::nvidia
