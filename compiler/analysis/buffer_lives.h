// When the buffers of shared memory and the rings of loops are in use: two that never are at once may lie in one place.
#pragma once
#include <llvm/ADT/DenseMap.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <optional>

namespace tandem::analysis {

// From the first op of a kernel that uses it until the last one, by their numbers in the kernel's order.
struct Life {
  unsigned begin = 0, end = 0;
  bool meets(const Life& other) const { return begin <= other.end && other.begin <= end; }
};

class BufferLives {
 public:
  explicit BufferLives(mlir::func::FuncOp kernel);

  // `thing`: a tgpu.alloc without a ring, or a tgpu.copy_ring, for all of its buffers. Between the first store or the rewind, where
  // all threads meet, and the end of the last product that reads it nothing else may lie there. Nothing: others than
  // the block's threads use it, at times of their own.
  std::optional<Life> of(mlir::Value thing) const;
  // While `op` and all ops in it run.
  Life of(mlir::Operation* op) const { return numbers_.find(op)->second; }

 private:
  llvm::DenseMap<mlir::Operation*, Life> numbers_;  // of an op: its own until that of the last op inside
};

}  // namespace tandem::analysis
