// The layouts that accesses to memory and products of threads want.
#pragma once
#include "compiler/analysis/axis_info.h"
#include "compiler/dialect/tgpu/tgpu.h"
#include "compiler/layout/distributed.h"

namespace tandem::transform::gpu {

// Neighbouring addresses in neighbouring lanes, as many in one thread as one access can move: `neighbours` along
// `axis`.
struct Coalescing {
  layout::LinearLayout layout;
  int64_t neighbours = 1;
  unsigned axis = 0;
};
// `whole`: accesses as wide as memory allows, though some threads then have none. `together`: the layout gives a thread so
// many neighbours instead, in several accesses or narrower ones, as far as the tile has enough for all threads.
Coalescing coalesced(mlir::Value pointers, mlir::Value mask, const analysis::AxisInfoAnalysis& axes,
                     layout::ThreadCounts threads, bool whole = false, int64_t together = 0);
// `best` as far as each warp can have it that keeps the part of the tile it has in `computed`. Nothing: that part has
// no whole lines of memory.
std::optional<layout::LinearLayout> coalescedInWarps(const layout::LinearLayout& computed, const Coalescing& best,
                                                     int64_t elementBytes);
// `coalesced` for a block: along the dimension whose stride is known to be 1, and along the last one where none is or `strides` is
// empty.
Coalescing coalescedBlock(mlir::RankedTensorType type, mlir::ValueRange strides, layout::ThreadCounts threads,
                          int64_t together = 0);

// Returns a tile's dimensions in the order of memory where elements along `axis` are neighbours and the others follow from the last on.
llvm::SmallVector<unsigned> fastestFirst(unsigned rank, unsigned axis);

// Pieces of `vector` elements along `axis`, for copies to shared memory.
layout::LinearLayout copiedBlock(mlir::RankedTensorType type, int64_t vector, unsigned axis,
                                 layout::ThreadCounts threads);

// `copiedBlock` of a matrix along its rows, in which each group of four warps has rows of its own: 64 rows are one group's,
// the next 64 the next one's.
layout::LinearLayout copiedByGroups(mlir::RankedTensorType type, int64_t vector, layout::ThreadCounts threads);

// Results of a product by multiply-adds: each thread has a patch of rows and columns, so that the elements it reads
// serve several results. `together`: neighbours along these are also neighbours in shared memory, so that a thread that has
// four of them reads them at once; other operands are read four neighbours along K at once.
struct Together {
  bool rows = false, columns = true;
};
layout::LinearLayout patches(llvm::ArrayRef<int64_t> shape, layout::ThreadCounts threads, Together together = {});

// An access of a tile whose elements are computed in `computed`: as it lies in the threads where that fills whole sectors,
// else as near as a change inside each warp brings it, for which no warp waits for another.
std::optional<layout::LinearLayout> nearby(const layout::LinearLayout& computed, const Coalescing& best,
                                           int64_t elementBytes);

}  // namespace tandem::transform::gpu
