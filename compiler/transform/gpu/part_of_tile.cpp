// Follows a tile to the ranges that it is computed of, and copies the ops in between with smaller types.
#include "compiler/transform/gpu/part_of_tile.h"
#include "compiler/dialect/tile/attributes.h"
#include "compiler/transform/gpu/layout_rules.h"
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tandem::transform::gpu {
using namespace mlir;

bool isElementwise(Operation* op) {
  return isSameLayout(op) && isMemoryEffectFree(op) && op->getNumResults() == 1 && !op->getNumRegions() &&
         !isa<tile::InlineAsmOp>(op);
}

// Returns true if all positions along the dimension have the same source.
static bool isRepeated(tile::BroadcastOp wider, unsigned dim) {
  return cast<RankedTensorType>(wider.getSource().getType()).getDimSize(dim) == 1;
}

bool PartOfTile::take(Value tile, unsigned dim) {
  Operation* op = tile.getDefiningOp();
  if (!op || !isTaken_(op)) return false;
  if (auto [at, isNew] = dims_.insert({op, dim}); !isNew) return at->second == dim;
  if (isa<tile::MakeRangeOp, tile::SplatOp>(op)) return true;
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) return isa<SplatElementsAttr>(constant.getValue());
  if (auto wider = dyn_cast<tile::BroadcastOp>(op)) return isRepeated(wider, dim) || take(wider.getSource(), dim);
  if (auto higher = dyn_cast<tile::ExpandDimsOp>(op))
    return unsigned(higher.getAxis()) != dim && take(higher.getSource(), dim - (unsigned(higher.getAxis()) < dim));
  return (isa<tile::LoadOp>(op) || isElementwise(op)) && takeOperands(op, dim);
}

bool PartOfTile::takeOperands(Operation* op, unsigned dim) {
  return llvm::all_of(op->getOperands(), [&](Value v) { return !isa<RankedTensorType>(v.getType()) || take(v, dim); });
}

Value PartOfTile::make(Value tile, int64_t divisor, OpBuilder& builder, Positions positions, IRMapping& made) const {
  Operation* op = tile.getDefiningOp();
  if (!op || !dims_.contains(op)) return tile;
  if (Value already = made.lookupOrNull(tile)) return already;
  auto whole = cast<RankedTensorType>(tile.getType());
  SmallVector<int64_t> shape(whole.getShape());
  unsigned dim = dims_.lookup(op);
  auto wider = dyn_cast<tile::BroadcastOp>(op);
  bool isWhole = wider && isRepeated(wider, dim);  // though a part of the source may be made along another dimension
  if (!isWhole)
    for (Value operand : op->getOperands()) make(operand, divisor, builder, positions, made);
  shape[dim] /= divisor;
  auto type = RankedTensorType::get(shape, whole.getElementType());
  if (auto range = dyn_cast<tile::MakeRangeOp>(op)) {
    made.map(tile, positions(range, type));
    return made.lookup(tile);
  }
  Operation* copy = builder.clone(*op, made);
  if (isWhole) copy->setOperands(op->getOperands());
  copy->getResult(0).setType(type);
  tile::limitPromises(copy, dim, shape[dim]);
  if (auto constant = dyn_cast<arith::ConstantOp>(copy))
    constant.setValueAttr(cast<DenseElementsAttr>(constant.getValue()).resizeSplat(type));
  return copy->getResult(0);
}

}  // namespace tandem::transform::gpu
