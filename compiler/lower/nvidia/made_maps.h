// Tensor maps that the kernel makes, of values that no launcher knows.
#pragma once
#include "compiler/lower/nvidia/kernel.h"

namespace tandem::lower::nvidia {

// Notes that `op` goes by a map that threads make: each of `makers` threads its own.
void addMadeMap(KernelContext& cx, mlir::Operation* op, MadeMap map);
// Gives the maps their places in shared memory.
void placeMadeMaps(KernelContext& cx);
// At the kernel's begin and end all threads of the block come here: the block takes a place in global memory for its
// maps, and gives it back.
void takeMadeMaps(KernelContext& cx);
void giveMadeMaps(KernelContext& cx);

// The map's address, as a copy wants it, of the thread that is number `maker` of those that make it.
llvm::Value* madeMap(KernelContext& cx, mlir::Operation* op, llvm::Value* maker);
// Returns a coordinate in the place of `at`: outside of everything if the tensor has no elements, which a map cannot say.
llvm::Value* unlessEmpty(KernelContext& cx, mlir::Operation* op, llvm::Value* at);

// Where values are known before `loop`, maps of the loads inside are made there, and of the stores behind it, for these
// would wait; otherwise where the copy starts.
void makeMapsBefore(KernelContext& cx, mlir::scf::ForOp loop);
llvm::Value* mapOfLoad(KernelContext& cx, tgpu::TmaLoadOp load);
void makeMapOfStore(KernelContext& cx, tile::BlockStoreOp store);

}  // namespace tandem::lower::nvidia
