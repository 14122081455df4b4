// A wait whose token is used orders the loads that the token reaches, any other wait orders all (M6, M7).
#pragma once
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <llvm/ADT/SetVector.h>

namespace tandem::transform::gpu {

// Returns true if `op` ends when a signal compares true (M6), or when the kernels before this one have ended.
bool isWait(mlir::Operation* op);
// Returns true if everything behind `wait` comes after it, and not only the ops that its token reaches.
bool ordersAll(mlir::Operation* wait);
// Returns true if `op` runs before `access` or in a loop around it, by the order of the outermost ops of the kernel, or
// of its consumers.
bool mayPrecede(mlir::Operation* op, mlir::Operation* access);

// Returns true if a program of the kernel may need others, or other ranks, to have come as far before it goes on. Ops of `harmless` are
// passed over.
bool mayWaitForOthers(mlir::func::FuncOp kernel, const llvm::SetVector<mlir::Operation*>& harmless = {});

// The ops with effects whose operands are computed from `token`; nothing when the token decides whether something runs.
std::optional<llvm::SetVector<mlir::Operation*>> reachedBy(mlir::Value token);

// Tells the author of a load through one of `bases` that goes ahead of `wait`, though it looks as if others write
// there: the kernel ties the buffer to a wait elsewhere, or accesses it on other ranks.
void warnOfOvertaking(mlir::Operation* load, llvm::ArrayRef<mlir::BlockArgument> bases, mlir::Operation* wait);

}  // namespace tandem::transform::gpu
