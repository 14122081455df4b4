// Takes a conjunction of comparisons apart.
#include "compiler/transform/nvidia/row_end.h"
#include <mlir/Dialect/Arith/IR/Arith.h>

namespace tandem::transform::nvidia {
using namespace mlir;
namespace {

void addConditions(Value mask, SmallVectorImpl<Value>& to) {
  auto both = mask.getDefiningOp<arith::AndIOp>();
  if (!both) return to.push_back(mask);
  addConditions(both.getLhs(), to);
  addConditions(both.getRhs(), to);
}

// Looks through ops that only spread a tile, and follows the dimension `axis` to where it comes from; nothing if the
// tile is the same along it.
Value spreadFrom(Value tile, std::optional<unsigned>& axis) {
  while (axis) {
    if (auto spread = tile.getDefiningOp<tile::BroadcastOp>()) {
      tile = spread.getSource();
      if (cast<RankedTensorType>(tile.getType()).getDimSize(*axis) == 1) axis = std::nullopt;
    } else if (auto expand = tile.getDefiningOp<tile::ExpandDimsOp>()) {
      tile = expand.getSource();
      if (*axis == expand.getAxis())
        axis = std::nullopt;
      else if (*axis > expand.getAxis())
        --*axis;
    } else if (auto wide = tile.getDefiningOp<arith::ExtSIOp>()) {
      tile = wide.getIn();
    } else {
      break;
    }
  }
  return tile;
}

// The scalar that every element of a tile is; null: they differ.
Value scalarOf(Value tile) {
  for (Operation* op = tile.getDefiningOp(); op; op = tile.getDefiningOp()) {
    if (auto splat = dyn_cast<tile::SplatOp>(op)) return splat.getOperand();
    if (!isa<tile::BroadcastOp, tile::ExpandDimsOp, arith::ExtSIOp>(op)) return nullptr;
    tile = op->getOperand(0);
  }
  return nullptr;
}

// Returns true, and sets `first` unless it is 0, if `tile` has consecutive numbers along `axis`.
bool isConsecutive(Value tile, unsigned axis, Value& first) {
  std::optional<unsigned> at = axis;
  tile = spreadFrom(tile, at);
  if (!at) return false;
  if (auto range = tile.getDefiningOp<tile::MakeRangeOp>()) return range.getStart() == 0;
  auto sum = tile.getDefiningOp<arith::AddIOp>();
  if (!sum || first) return false;
  for (auto [numbers, start] : {std::pair(sum.getLhs(), sum.getRhs()), std::pair(sum.getRhs(), sum.getLhs())}) {
    first = scalarOf(start);
    Value none;
    if (first && isConsecutive(numbers, *at, none) && !none) return true;
  }
  return false;
}

std::optional<RowEnd> endIn(Value condition, unsigned axis) {
  std::optional<unsigned> at = axis;
  auto compare = spreadFrom(condition, at).getDefiningOp<arith::CmpIOp>();
  if (!at || !compare || compare.getPredicate() != arith::CmpIPredicate::slt) return std::nullopt;
  RowEnd row;
  row.bound = scalarOf(compare.getRhs());
  if (!row.bound || !isConsecutive(compare.getLhs(), *at, row.first)) return std::nullopt;
  return row;
}

}  // namespace

Value RowEnd::build(OpBuilder& builder, Location where) const {
  auto wide = [&](Value v) {
    return v.getType().isInteger(64) ? v : Value(arith::ExtSIOp::create(builder, where, builder.getI64Type(), v));
  };
  return first ? Value(arith::SubIOp::create(builder, where, wide(bound), wide(first))) : wide(bound);
}

std::optional<RowEnd> rowEnd(Value mask, unsigned axis) {
  SmallVector<Value> conditions;
  addConditions(mask, conditions);
  for (Value& condition : conditions) {
    std::optional<RowEnd> row = condition.getType() == mask.getType() ? endIn(condition, axis) : std::nullopt;
    if (!row) continue;
    for (Value& other : conditions)
      if (&other != &condition) row->others.push_back(other);
    return row;
  }
  return std::nullopt;
}

Value allOf(ArrayRef<Value> conditions, OpBuilder& builder, Location where) {
  Value all;
  for (Value condition : conditions)
    all = all ? Value(arith::AndIOp::create(builder, where, all, condition)) : condition;
  return all;
}

}  // namespace tandem::transform::nvidia
