// Rings of slots in shared memory, and where all buffers lie.
#pragma once
#include "compiler/lower/nvidia/kernel.h"

namespace tandem::lower::nvidia {

// Gives every buffer and ring of the kernel its place, then, in the kernel, makes the barriers ready.
void allocateBuffers(KernelContext& cx, mlir::func::FuncOp kernel);
void initialiseBarriers(KernelContext& cx);
// The counters of a role begin.
void makeCounters(KernelContext& cx, Ring& ring);
void resetCounters(KernelContext& cx);
void advance(KernelContext& cx, Ring& ring, int counter);
// of the slot that the counter is at
llvm::Value* barrierOf(KernelContext& cx, Ring& ring, int64_t barriers, int counter);
// Returns, in bytes, the place in shared memory of the part of `buffer` in the slot that the ring's counter is at
// (without a ring: slot 0).
llvm::Value* slotOffset(KernelContext& cx, mlir::Value buffer, mlir::Value ring, int counter);
// Lets one of the producer's threads do `act` where a whole warpgroup of them runs `op`; a lone producer does it as it is.
void byOneProducer(KernelContext& cx, mlir::Operation* op, llvm::function_ref<void()> act);
// Each thread waits for the stores by TMA that it has issued.
void completeBulkStores(KernelContext& cx);

}  // namespace tandem::lower::nvidia
