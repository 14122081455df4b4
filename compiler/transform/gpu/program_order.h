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

}  // namespace tandem::transform::gpu
