// Loads whose elements are computed with each other: `x + y` of types of different sizes, or an index and what it chooses.
#pragma once
#include "compiler/analysis/axis_info.h"
#include "compiler/dialect/tile/tile.h"
#include "compiler/transform/gpu/anchor_layouts.h"
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/EquivalenceClasses.h>

namespace tandem::transform::gpu {

// Each load by itself would give a thread as many neighbours as one access moves: eight of 16 bits, four of 32. Tiles that
// meet would then have to change threads. All loads of one shape that meet give a thread the most that one of them wants,
// and the others take several accesses, whose sectors of memory the nearest cache keeps. Neighbours that a mask or their
// place keeps from moving at once stay in neighbouring lanes, unless each row lies anywhere, and large tiles that meet them do, too.
// What a tile is split into, or joined of, meets the whole: of tiles of different sizes the largest ones' loads decide which share of it
// a thread has, and accesses of the smaller ones are narrower or more. Stores want as many, too, where their places are divided out. A
// thread has a word's neighbours of a tile that goes to shared memory for products, and stores them at once.
class LoadsTogether {
 public:
  // It refers to `axes`.
  LoadsTogether(mlir::func::FuncOp kernel, const analysis::AxisInfoAnalysis& axes, layout::ThreadCounts threads);

  // The layout of a load through pointers or of a block is the common one; `neighbours` are this load's own.
  Coalescing of(mlir::Operation* load) const;

 private:
  // A group of tiles and the dimension along which its loads have neighbours: zero for the last one, else the number of its runs.
  using Key = std::pair<const void*, int64_t>;
  // The most neighbours that an access of the largest tiles wants.
  struct Most {
    int64_t neighbours = 0, elements = 0;
    void add(const Coalescing& access);
  };
  Coalescing coalescedLoad(mlir::Operation* load, int64_t together) const;
  Key keyOf(mlir::Value tile, unsigned axis) const;
  bool staysInLanes(mlir::Operation* load, const Coalescing& own) const;

  const analysis::AxisInfoAnalysis& axes_;
  layout::ThreadCounts threads_;
  llvm::EquivalenceClasses<const void*> groups_;
  llvm::DenseMap<Key, Most> most_;
  llvm::DenseMap<Key, layout::LinearLayout> inLanes_;  // of large tiles, one of which stays in lanes
};

}  // namespace tandem::transform::gpu
