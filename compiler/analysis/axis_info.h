// This analysis knows, dimension by dimension, facts of the integers and addresses that a kernel computes: runs of
// consecutive values, runs of equal values, powers of two that divide them. It knows nothing of layouts or of a target.
// Integer arithmetic is taken not to overflow.
#pragma once
#include <cstdint>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallVector.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <memory>
#include <optional>

namespace tandem::analysis {

// One dimension. Every number is a power of two, and runs are aligned: a run of length n begins at an index that n
// divides.
struct DimInfo {
  int64_t contiguity = 1;    // aligned runs of this length hold consecutive values (of pointers: consecutive elements)
  int64_t divisibility = 1;  // divides the first value of each of those runs (of pointers: its address in bytes)
  int64_t constancy = 1;     // aligned runs of this length hold equal values
  bool operator==(const DimInfo&) const = default;
};

// The facts of one value. A scalar is described as a tile of one dimension of size 1.
struct AxisInfo {
  llvm::SmallVector<DimInfo, 2> dims = {DimInfo{}};
  std::optional<int64_t> constant;  // every element has this value
  bool nonNegative = false;         // no element is negative when read as a signed integer

  unsigned rank() const { return dims.size(); }
  int64_t contiguity(unsigned dim) const { return dims[dim].contiguity; }
  int64_t divisibility(unsigned dim) const { return dims[dim].divisibility; }
  int64_t constancy(unsigned dim) const { return dims[dim].constancy; }
  bool operator==(const AxisInfo&) const = default;
};

// The analysis of one function (calls inlined), made once; it must be made again after the function changes. Kernel
// arguments carry known facts in the attribute `tile.multiple_of` (an integer); the author's promises are
// `tile.divisibility`, `tile.contiguity` and `tile.constancy` (arrays with one number a dimension) on the op with
// the value, and `tile.assume` of a value that is 0 or more, in the block that computes it. Divisors are taken to be
// positive.
class AxisInfoAnalysis {
 public:
  explicit AxisInfoAnalysis(mlir::func::FuncOp function);

  // Values that are neither integers nor pointers, and values made after the analysis, have nothing known of them.
  const AxisInfo& of(mlir::Value value) const;

  // Returns the number of elements along `axis` that one access may move: they are consecutive in memory, the first is
  // aligned to all of them together, and `mask` (may be null) is the same for all. It is a power of two, not limited by
  // what a machine can do.
  int64_t maxVectorElements(mlir::Value pointer, mlir::Value mask, int axis) const;

 private:
  llvm::DenseMap<mlir::Value, AxisInfo> known_;
  mutable llvm::DenseMap<mlir::Type, std::unique_ptr<AxisInfo>> unknown_;
};

// Bytes from one element behind a pointer (or a tile of pointers) to the next.
int64_t pointeeBytes(mlir::Type pointerOrTile);

}  // namespace tandem::analysis
