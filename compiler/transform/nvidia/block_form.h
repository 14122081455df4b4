// A tile of pointers and its mask as a block of a strided tensor that a tensor map can describe. Knows nothing of why
// it is wanted.
#pragma once
#include "compiler/analysis/strides.h"
#include "compiler/dialect/tile/tile.h"
#include "compiler/remark/remark.h"

namespace tandem::transform::nvidia {

// A dimension that only moves the block: one place of it is accessed, and nothing says where it ends.
struct OuterDim {
  analysis::ScalarExpr stride, offset;
};

// A tile of rank 2. Outside the tensor the block reads zeros and drops writes; the launcher makes the map, and reports
// a stride that turns out negative.
struct BlockForm {
  analysis::StridedAccess access;
  llvm::SmallVector<analysis::ScalarExpr, 2>
      extents;                             // by the tile's dimensions, as `offsets` and `strides` in `access` are
  llvm::SmallVector<int64_t, 2> divisors;  // powers of two that divide the extents
  llvm::SmallVector<bool, 2> wraps;        // behind the extent come other places of it, not zeros
  bool isFlipped = false;                  // the first dimension is the contiguous one
  bool isMade = false;                     // more than arguments decide its bounds: the kernel makes the map
  llvm::SmallVector<OuterDim, 3> outer;    // the offset that programs add to the base
  analysis::ScalarExpr shift;              // the offset that arguments add to it, in elements

  // The tile as it lies in memory; as a block of the whole tensor, with an index for each outer dimension.
  mlir::RankedTensorType inMemory(mlir::RankedTensorType tile) const;
  mlir::RankedTensorType block(mlir::RankedTensorType tile) const;
  llvm::SmallVector<int32_t, 5> allDims() const;
};

// Returns nothing unless the access provably touches the elements of a block (apart from `wraps`, and of fewer of them
// where dimensions are `alsoBelow` other bounds and the form is not `isMade`), arguments alone decide base and strides,
// and all are aligned as TMA wants it. Where nothing bounds a place, the program stays below 2^31 there. `why` then says
// what is missing.
std::optional<BlockForm> blockForm(mlir::Value pointer, mlir::Value mask, const analysis::AxisInfoAnalysis& axes,
                                   remark::Reason& why);
std::optional<BlockForm> blockForm(tile::BlockLoadOp load, const analysis::AxisInfoAnalysis& axes, remark::Reason& why);

// The operands of tile.block_load and tile.block_store, contiguous dimension last.
struct BlockOperands {
  mlir::Value base;
  llvm::SmallVector<mlir::Value, 5> shape, strides, offsets;
};
BlockOperands buildOperands(const BlockForm& form, mlir::OpBuilder& builder, mlir::Location where);

}  // namespace tandem::transform::nvidia
