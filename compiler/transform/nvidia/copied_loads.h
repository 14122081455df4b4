// The first decision of pipeline-loads: which loads of a loop are copied ahead.
#pragma once
#include "compiler/dialect/tgpu/tgpu.h"
#include "compiler/layout/shared.h"
#include "compiler/remark/remark.h"
#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/SetVector.h>
#include <mlir/Dialect/SCF/IR/SCF.h>

namespace tandem::transform::nvidia {

// Why loads are not copied ahead; an empty reason: they come ahead all the same.
using Reasons = llvm::MapVector<mlir::Operation*, remark::Reason>;

// The part of a loop's body that addresses need: ops, and some of the carried values.
struct Slice {
  llvm::SetVector<mlir::Operation*> ops;
  llvm::SetVector<unsigned> carried;
};

// A buffer that products read and a load's tile is stored to: the products can read the slot itself.
struct Feed {
  tgpu::LocalStoreOp store;
  tgpu::AllocOp buffer;
  bool transposed = false;  // the buffer has the tile's transpose
};

struct CopiedLoad {
  tile::LoadOp load;
  int64_t vector = 1;  // elements in one copy, along `axis`
  unsigned axis = 0;
  // Null, or the number of elements along `axis` that are read; then `others` is what else the mask asks for (null:
  // nothing).
  mlir::Value end, others;
  llvm::SmallVector<Feed> feeds;

  mlir::RankedTensorType type() const;
  // Which elements before `end` are read. Null: all.
  mlir::Value mask() const { return end ? others : tile::LoadOp(load).getMask(); }
  int64_t bytesAtOnce() const { return vector * type().getElementTypeBitWidth() / 8; }
  layout::Swizzle swizzle() const;  // of a slot's rows
  // Returns true if elements that the mask leaves out are something else than zeros.
  bool fillsIn() const;
};

struct CopiedLoads {
  llvm::SmallVector<CopiedLoad> loads;
  Slice slice;  // of all their addresses and masks
};

// Blocks that could be copied become loads through pointers; returns true if there are any.
bool usePointers(mlir::scf::ForOp loop, Reasons& reasons);

// Chooses the loads that nothing in the loop holds back, whose addresses can be computed ahead, and whose elements fill
// whole words. A load that other copies' addresses need stays as it is.
CopiedLoads chooseLoads(mlir::scf::ForOp loop, Reasons& reasons);

// The loads of single numbers from which the loop computes the addresses of tiles, as far as they can be made ahead, with
// what their own addresses need.
Slice chooseIndices(mlir::scf::ForOp loop);

// The loads of which a thread has few registers, as far as they can be made ahead, with what their addresses need.
Slice chooseSmall(mlir::scf::ForOp loop);

// The loads of tiles that cp.async cannot copy, for neighbours in memory fill no words, as far as they can be made ahead and a thread
// has `room` registers for their elements; with what their addresses need. Leaves in `reasons` why each of them is not copied.
Slice chooseNarrow(mlir::scf::ForOp loop, int64_t room, Reasons& reasons);

}  // namespace tandem::transform::nvidia
