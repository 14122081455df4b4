// An order of programs in which those come first whose memory arrives first, or has the longest way to go.
#pragma once
#include "compiler/remark/remark.h"
#include <llvm/ADT/SetVector.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tandem::transform::gpu {

struct ProgramOrder {
  remark::Source remarks;
  unsigned distance;  // from this rank to the one whose share comes first
  llvm::StringRef how;
};

// Turns the axes of the launch, and the loops that deal tiles out to programs, behind the values `decided`.
void turnPrograms(mlir::func::FuncOp kernel, const llvm::SetVector<mlir::Value>& decided, const ProgramOrder& order);

// Gives the programs the numbers that a `dist.ordered` in the kernel says, which goes: if they may run in any order. Fails if its order
// is no argument of the kernel.
mlir::LogicalResult orderPrograms(mlir::func::FuncOp kernel, bool anyOrder, const remark::Source& remarks);
// Takes it out of the kernel.
void dropOrders(mlir::func::FuncOp kernel);

// This program's place in the launch, i32: along the first axis, then the next.
mlir::Value placeInLaunch(mlir::OpBuilder& builder, mlir::Location where);

}  // namespace tandem::transform::gpu
