// The producer has a copy of the part of a kernel that must run so that its TMA copies are issued.
#pragma once
#include <llvm/ADT/SetVector.h>
#include <mlir/IR/Block.h>
#include <mlir/IR/Builders.h>
#include <mlir/IR/IRMapping.h>
#include <optional>

namespace tandem::transform::nvidia {

struct Needed {
  llvm::SetVector<mlir::Operation*> ops;
  llvm::DenseSet<mlir::Value> carried;     // results of loops and branches that are needed
  llvm::SetVector<mlir::Operation*> told;  // those of `ops` whose numbers the consumers tell the producer
};

// Returns the ops of `body` that ops in `roots` need: operands, their operands in turn, loops and branches around them.
// Ops that make numbers of tiles, or take them from memory that changes, are told: what they need is not needed. Returns
// nothing if another tile is among them, or control flow that the copy cannot have (one thread runs it), or an op that
// must not happen twice, or if a loop's every iteration would have to be told. The ops of `places` are only passed by.
// `ofThreads`: a group of threads runs the copy, so it may have tiles of which each thread computes its elements alone.
std::optional<Needed> neededFor(mlir::Block& body, llvm::ArrayRef<mlir::Operation*> roots,
                                llvm::ArrayRef<mlir::Operation*> places = {}, bool ofThreads = false);

// Copies the needed ops of `body` to where `builder` is; `copyRoot` makes the op that stands for a root, a place or what
// is told, whose operands are already mapped.
void cloneNeeded(mlir::Block& body, const Needed& needed, mlir::OpBuilder& builder, mlir::IRMapping& mapping,
                 llvm::function_ref<bool(mlir::Operation*, mlir::OpBuilder&, mlir::IRMapping&)> copyRoot);

}  // namespace tandem::transform::nvidia
