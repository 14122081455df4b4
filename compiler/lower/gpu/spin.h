// Loops that do nothing but repeat an update of memory until its old value passes a test, as locks are taken, or look at memory until it
// does.
#pragma once
#include "compiler/lower/gpu/kernel.h"

namespace tandem::lower::gpu {

// Returns true if the first thread can run the loop for the program: of its ops only one touches memory, a scalar update or a volatile
// load, and nothing that it computes is used behind it. Barriers in it are met in front of it and behind it.
bool isSpin(KernelContext& cx, mlir::scf::WhileOp loop);

// The first thread runs the loop by `lowerLoop`, between two meetings of all threads. What the update releases, a fence before the loop
// does once: only updates come between the fence and the one that succeeds.
void lowerSpin(KernelContext& cx, mlir::scf::WhileOp loop, llvm::function_ref<void()> lowerLoop);

}  // namespace tandem::lower::gpu
