// These functions find the kernel's arguments that accesses go through, and the ops that may not change places with an
// access that moves.
#pragma once
#include "compiler/remark/remark.h"
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Dialect/SCF/IR/SCF.h>

namespace tandem::transform::gpu {

// The one argument of the kernel that a pointer, or every pointer of a tile, is computed from; null when that is not
// known.
mlir::BlockArgument argumentBehind(mlir::Value pointer);

// Adds those of the arguments that a pointer may be computed from which are known, also through choices.
void addArgumentsBehind(mlir::Value pointer, llvm::SmallVectorImpl<mlir::BlockArgument>& to);

// `load`, which reads through the argument `base`, may run ahead of everything before it and of the loops around it,
// waits left out (waits.h), unless something there may write through `base` or an unknown pointer, or meet with others:
// that op, or null. Other arguments do not overlap `base`.
mlir::Operation* holdsBack(mlir::Operation* load, mlir::BlockArgument base);

// `load`, an op inside `loop`, may be done for later iterations of it ahead of time, unless an op of the loop writes
// memory that it may read, waits, or meets with others: that op, or null.
mlir::Operation* holdsBackIn(mlir::scf::ForOp loop, mlir::Operation* load);

// Says so of an op that one of these has named.
remark::Reason heldBackBy(mlir::Operation* op);

// Returns true if a load through one of `bases` that `op` precedes must not start before `op` is done, waits left out:
// `op` writes through one of them, or it is where the program meets others.
bool holdsUp(mlir::Operation* op, llvm::ArrayRef<mlir::BlockArgument> bases);

// Returns true if an op before `load` or in the loops around it writes through the argument that `load` reads through.
bool isWritten(mlir::Operation* load);

// Returns a write before `load`, or in the loops around it, that may reach the memory of `load`, whose pointer itself has
// been loaded: one through a pointer that comes from the same array of pointers, or from nobody knows where. Null: there
// is none, or the pointer is an argument's.
mlir::Operation* writesWhereLoaded(mlir::Operation* load);

// Returns true if nothing else in the kernel touches memory through the argument `base` of `store` or depends on when
// its writes are done.
bool isOnlyAccess(mlir::Operation* store, mlir::BlockArgument base);

// Returns true if nothing but `stores` touches memory through the argument `base`, or may do so through a pointer from
// elsewhere.
bool areOnlyAccesses(llvm::ArrayRef<mlir::Operation*> stores, mlir::BlockArgument base);

}  // namespace tandem::transform::gpu
