// Which of a kernel's parameters point to memory that it writes.
#pragma once
#include <llvm/ADT/SmallVector.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <optional>

namespace tandem::analysis {

// The numbers of the kernel's arguments, in order, through which it may write: by stores, atomic updates, copies. Nothing
// where a pointer that it writes through comes from memory or from a number, or an inline instruction takes a pointer.
std::optional<llvm::SmallVector<unsigned>> writtenParameters(mlir::func::FuncOp kernel);

}  // namespace tandem::analysis
