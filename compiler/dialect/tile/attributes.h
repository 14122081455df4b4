// Ops of other dialects, kernels and their parameters are described by attributes of the dialect `tile`: one accessor for
// each, and the rules by which a name that is unknown, misplaced or of the wrong type is refused.
#pragma once
#include "compiler/dialect/tile/tile.h"
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Dialect/SCF/IR/SCF.h>

namespace tandem::tile {

// The warps of a thread block that runs the kernel; 0 of one in text that does not say.
int64_t numWarps(mlir::func::FuncOp kernel);
void setNumWarps(mlir::func::FuncOp kernel, int64_t warps);

// How many slots loads ahead of the kernel's, or the loop's, products may have; nothing where the author leaves it open.
std::optional<int64_t> numStages(mlir::Operation* kernelOrLoop);
void setNumStages(mlir::func::FuncOp kernel, int64_t stages);

// The most registers that a thread may have; nothing where the author leaves it open.
std::optional<int64_t> maxRegisters(mlir::func::FuncOp kernel);
void setMaxRegisters(mlir::func::FuncOp kernel, int64_t registers);

// Memory that is reached through different pointers among the kernel's parameters. Unless a launch has promised otherwise it
// may be the same.
using ParameterPair = std::pair<unsigned, unsigned>;
// Whoever launches the kernel sees to it that these pairs alone overlap.
void setOverlapping(mlir::func::FuncOp kernel, llvm::ArrayRef<ParameterPair> pairs);
// Returns true if the two are promised to be apart, and notes that the code is right for such launches only.
bool takeApart(mlir::BlockArgument a, mlir::BlockArgument b);
// Returns true if the launches of this code are those in which the two overlap.
bool overlap(mlir::BlockArgument a, mlir::BlockArgument b);
llvm::SmallVector<ParameterPair> takenApart(mlir::func::FuncOp kernel);

// The hints of `tl.range`, by their names there.
void setLoopHint(mlir::scf::ForOp loop, llvm::StringRef name, mlir::Attribute value);

// The parameter's name and type as the author wrote them; null of a kernel in text that does not say.
mlir::StringAttr nameOf(mlir::BlockArgument parameter);
void describe(mlir::BlockArgument parameter, llvm::StringRef name, llvm::StringRef type);

// A number that the parameter, or the address in it, is a multiple of.
std::optional<int64_t> multipleOf(mlir::BlockArgument parameter);
void setMultipleOf(mlir::BlockArgument parameter, int64_t multiple);

// The author promises these of a value, one number for each dimension (for a scalar one).
enum class Promise {
  Divisibility,  // the first of each run of elements is a multiple of it
  Contiguity,    // so many elements in a row count up by one
  Constancy,     // so many elements in a row are equal
};
constexpr Promise kPromises[] = {Promise::Divisibility, Promise::Contiguity, Promise::Constancy};
mlir::DenseI32ArrayAttr promiseOf(mlir::Operation* op, Promise promise);
void setPromise(mlir::Operation* op, Promise promise, llvm::ArrayRef<int32_t> numbers);
// A promise about runs along the whole of `dim` holds of runs within a part of `size` elements, which the op has become.
void limitPromises(mlir::Operation* op, unsigned dim, int64_t size);

// A division or square root of float32 that is rounded correctly, which GPUs otherwise approximate.
bool isPrecise(mlir::Operation* op);
void setPrecise(mlir::Operation* op);

}  // namespace tandem::tile
