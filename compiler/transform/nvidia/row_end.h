// A mask as the end of rows and what else it asks for.
#pragma once
#include "compiler/dialect/tile/tile.h"
#include <mlir/IR/Builders.h>
#include <optional>

namespace tandem::transform::nvidia {

// Elements before the bound minus the first index are inside, if all of `others` hold too.
struct RowEnd {
  mlir::Value first, bound;               // scalar integers of one type; `first` null: 0
  llvm::SmallVector<mlir::Value> others;  // tiles of the mask's type

  // The number of elements along the axis that are inside, as i64; may be negative, or more than there are.
  mlir::Value build(mlir::OpBuilder& builder, mlir::Location where) const;
};

// Returns nothing if no part of the mask says that consecutive indices along `axis` are less than a scalar.
std::optional<RowEnd> rowEnd(mlir::Value mask, unsigned axis);

// Null: there are no conditions.
mlir::Value allOf(llvm::ArrayRef<mlir::Value> conditions, mlir::OpBuilder& builder, mlir::Location where);

}  // namespace tandem::transform::nvidia
