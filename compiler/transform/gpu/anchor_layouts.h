// The layouts that instructions want: products by their unit, memory accesses by how they coalesce.
#pragma once
#include "compiler/analysis/axis_info.h"
#include "compiler/dialect/tgpu/tgpu.h"
#include "compiler/layout/linear_layout.h"
#include "compiler/target/target_info.h"

namespace tandem::transform::gpu {

// Neighbouring addresses in neighbouring lanes, as many in one thread as one access can move: `neighbours` along `axis`.
struct Coalescing {
  layout::LinearLayout layout;
  int64_t neighbours = 1;
  unsigned axis = 0;
};
// `whole`: accesses as wide as memory allows, though some threads then have none.
Coalescing coalesced(mlir::Value pointers, mlir::Value mask, const analysis::AxisInfoAnalysis& axes, int numWarps, bool whole = false);
// `best` as far as each warp can have it that keeps the part of the tile it has in `computed`. Nothing: that part has no whole lines of
// memory.
std::optional<layout::LinearLayout> coalescedInWarps(const layout::LinearLayout& computed, const Coalescing& best, int64_t elementBytes);
// `coalesced` for a block whose last dimension is contiguous.
layout::LinearLayout coalescedBlock(mlir::RankedTensorType type, int numWarps);

// Pieces of `vector` elements along `axis`, for copies to shared memory.
layout::LinearLayout copiedBlock(mlir::RankedTensorType type, int64_t vector, unsigned axis, int numWarps);

layout::LinearLayout wgmmaResult(mlir::RankedTensorType type, int numWarps);
layout::LinearLayout wgmmaLhs(mlir::RankedTensorType type, int numWarps);

// A DotPlan says how a `tile.dot` is done, and which layouts it needs.
struct DotPlan {
  bool mma = false;  // mma.sync; else multiply-adds by each thread, of operands in any layout
  layout::LinearLayout result, lhs, rhs;
};
DotPlan planDot(tile::DotOp op, int numWarps, const target::TargetInfo& target);

}  // namespace tandem::transform::gpu
