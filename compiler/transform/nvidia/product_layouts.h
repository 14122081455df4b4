// The layouts that matrix units want of a product's operands and result.
#pragma once
#include "compiler/dialect/tile/tile.h"
#include "compiler/layout/linear_layout.h"
#include "compiler/target/target_info.h"

namespace tandem::transform::nvidia {

// The columns that one instruction computes.
int64_t wgmmaColumns(mlir::RankedTensorType type, int numWarps);
// How many warpgroups share the columns.
int64_t groupsAlongColumns(mlir::RankedTensorType type, int numWarps);
layout::LinearLayout wgmmaResult(mlir::RankedTensorType type, int numWarps);
layout::LinearLayout wgmmaLhs(mlir::RankedTensorType type, int numWarps);

// A DotPlan says how a `tile.dot` is done, and which layouts it needs.
struct DotPlan {
  bool mma = false;  // mma.sync; else multiply-adds by each thread, of operands in any layout
  layout::LinearLayout result, lhs, rhs;
};
DotPlan planDot(tile::DotOp op, int numWarps, const target::TargetInfo& target);

}  // namespace tandem::transform::nvidia
