// The producer's copy of a kernel: what must run so that its TMA copies are issued, and nothing else.
#pragma once
#include <llvm/ADT/SetVector.h>
#include <mlir/IR/Block.h>
#include <mlir/IR/Builders.h>
#include <mlir/IR/IRMapping.h>
#include <optional>

namespace tandem::transform::gpu {

struct Needed {
  llvm::SetVector<mlir::Operation*> ops;
  llvm::DenseSet<mlir::Value> carried;  // results of loops and branches that are needed
};

// The ops of `body` that ops in `roots` need: operands, what those need, loops and branches around them. Nothing when a tile is among
// them, or control flow the copy cannot have (one thread runs it), or what must not happen twice. Of `places` it is only needed when they
// are passed.
std::optional<Needed> neededFor(mlir::Block& body, llvm::ArrayRef<mlir::Operation*> roots, llvm::ArrayRef<mlir::Operation*> places = {});

// Copies the needed ops of `body` to where `builder` is; `copyRoot` makes what stands for a root or a place, its operands being
// already mapped.
void cloneNeeded(mlir::Block& body, const Needed& needed, mlir::OpBuilder& builder, mlir::IRMapping& mapping,
                 llvm::function_ref<bool(mlir::Operation*, mlir::OpBuilder&, mlir::IRMapping&)> copyRoot);

}  // namespace tandem::transform::gpu
