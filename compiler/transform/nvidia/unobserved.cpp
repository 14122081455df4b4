// This analysis follows a tile to the stores it ends in. An op that is not known to keep rows apart is taken to mix
// them.
#include "compiler/transform/nvidia/unobserved.h"
#include "compiler/analysis/mask_bounds.h"
#include "compiler/dialect/tile/tile.h"
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/TypeSwitch.h>
#include <mlir/Dialect/SCF/IR/SCF.h>

namespace tandem::transform::nvidia {
using namespace mlir;
using analysis::ScalarExpr;
namespace {

ArrayRef<int64_t> shapeOf(Value tile) { return cast<RankedTensorType>(tile.getType()).getShape(); }

bool keepsPlaces(Operation* op, Value operand) {
  if (!op->hasTrait<OpTrait::Elementwise>() &&
      !isa<tile::FpToFpOp, tile::BitcastOp, tile::ExternElementwiseOp, tile::MulHiUIOp>(op))
    return false;
  return isMemoryEffectFree(op) && op->getNumResults() == 1 && isa<RankedTensorType>(op->getResult(0).getType()) &&
         shapeOf(op->getResult(0)) == shapeOf(operand);
}

// Returns true if both are computed alike, in places of their own, from the same values.
bool areAlike(Value a, Value b) {
  llvm::SetVector<std::pair<Value, Value>> pairs;
  pairs.insert({a, b});
  for (size_t i = 0; i < pairs.size(); ++i) {
    auto [x, y] = pairs[i];
    if (x == y) continue;
    Operation *left = x.getDefiningOp(), *right = y.getDefiningOp();
    bool areSame = left && right && isMemoryEffectFree(left) && !left->getNumRegions() &&
                   left->getName() == right->getName() && left->getAttrDictionary() == right->getAttrDictionary() &&
                   left->getResultTypes() == right->getResultTypes() && left->getNumResults() == 1 &&
                   left->getNumOperands() == right->getNumOperands();
    if (!areSame) return false;
    for (auto [of_x, of_y] : llvm::zip(left->getOperands(), right->getOperands())) pairs.insert({of_x, of_y});
  }
  return true;
}

// Returns true if the value is the same in each run of the regions of `loop`, wherever it is computed.
bool isInvariant(Value v, Operation* loop) {
  llvm::SetVector<Value> values;
  values.insert(v);
  for (size_t i = 0; i < values.size(); ++i) {
    Value value = values[i];
    if (!loop->isAncestor(value.getParentBlock()->getParentOp())) continue;
    Operation* op = value.getDefiningOp();
    if (!op || !isMemoryEffectFree(op) || op->getNumRegions()) return false;
    values.insert_range(op->getOperands());
  }
  return true;
}

class Follower {
 public:
  // The count may be that of a block's rows in its tensor.
  Follower(const ScalarExpr& count, const analysis::AxisInfoAnalysis& axes, tile::BlockLoadOp block = {})
      : count_(count), axes_(axes), block_(block) {}

  bool reachesNothing(Value tile, unsigned dim) {
    push(tile, dim);
    while (!todo_.empty()) {
      auto [value, at] = todo_.pop_back_val();
      for (OpOperand& use : value.getUses())
        if (!follow(use, at)) return false;
    }
    return true;
  }

 private:
  bool push(Value tile, unsigned dim) {
    if (seen_.insert({tile, dim}).second) todo_.push_back({tile, dim});
    return true;
  }

  bool follow(OpOperand& use, unsigned dim) {
    Operation* op = use.getOwner();
    Value tile = use.get();
    return llvm::TypeSwitch<Operation*, bool>(op)
        .Case<tile::DotOp>([&](auto o) { return followDot(o, use, dim); })
        .Case<tile::PermuteOp>(
            [&](auto o) { return push(o.getResult(), llvm::find(o.getOrder(), int32_t(dim)) - o.getOrder().begin()); })
        .Case<tile::ExpandDimsOp>([&](auto o) { return push(o.getResult(), dim + (dim >= unsigned(o.getAxis()))); })
        .Case<tile::BroadcastOp>(
            [&](auto o) { return shapeOf(o.getResult())[dim] == shapeOf(tile)[dim] && push(o.getResult(), dim); })
        .Case<tile::StoreOp, tile::AtomicRmwOp>(
            [&](auto o) { return tile == o.getValue() && isLeftOut(o.getMask(), dim); })
        .Case<tile::BlockStoreOp>([&](auto o) { return isLeftOut(o, dim); })
        .Case<scf::ForOp>(
            [&](auto o) { return push(o.getTiedLoopRegionIterArg(&use), dim) && push(o.getTiedLoopResult(&use), dim); })
        .Case<scf::YieldOp>([&](auto) { return followYield(use, dim); })
        .Default([&](Operation*) { return keepsPlaces(op, tile) && push(op->getResult(0), dim); });
  }

  bool followDot(tile::DotOp dot, OpOperand& use, unsigned dim) {
    unsigned rank = shapeOf(dot.getResult()).size();
    if (use.getOperandNumber() == dot.getLhsMutable().getOperandNumber() && dim != rank - 2) return false;
    if (use.getOperandNumber() == dot.getRhsMutable().getOperandNumber() && dim != rank - 1) return false;
    return push(dot.getResult(), dim);
  }

  // Behind the iteration or the branch, a value computed inside is another one or gone.
  bool followYield(OpOperand& use, unsigned dim) {
    Operation* parent = use.getOwner()->getParentOp();
    bool isSame = block_ ? isInvariant(block_.getShape()[0], parent) && isInvariant(block_.getOffsets()[0], parent)
                         : count_.isInvariant(parent);
    if (!isSame) return false;
    if (isa<scf::IfOp>(parent)) return push(parent->getResult(use.getOperandNumber()), dim);
    auto loop = dyn_cast<scf::ForOp>(parent);
    return loop && push(loop.getRegionIterArg(use.getOperandNumber()), dim) &&
           push(loop.getResult(use.getOperandNumber()), dim);
  }

  bool isLeftOut(Value mask, unsigned dim) {
    analysis::AffineReader reader(&axes_);
    std::optional<analysis::MaskReading> reading = mask ? readMask(mask, reader, axes_) : std::nullopt;
    if (!reading) return false;
    return llvm::any_of(takenApart(reading->bounds, reader, axes_), [&](const analysis::MaskBound& bound) {
      return bound.dim == dim && !bound.isLower && bound.limit - bound.offset == count_;
    });
  }

  bool isLeftOut(tile::BlockStoreOp store, unsigned dim) {
    Value size = store.getShape()[dim], offset = store.getOffsets()[dim];
    bool endsThere = ScalarExpr::of(size) - ScalarExpr::of(offset) == count_ ||
                     (block_ && areAlike(size, block_.getShape()[0]) && areAlike(offset, block_.getOffsets()[0]));
    return endsThere && llvm::is_contained(store.getBoundaryCheck(), int32_t(dim));
  }

  const ScalarExpr& count_;
  const analysis::AxisInfoAnalysis& axes_;
  tile::BlockLoadOp block_;
  SmallVector<std::pair<Value, unsigned>> todo_;
  llvm::DenseSet<std::pair<Value, unsigned>> seen_;
};

}  // namespace

bool isUnobservedFrom(Value tile, unsigned dim, const ScalarExpr& count, const analysis::AxisInfoAnalysis& axes) {
  return Follower(count, axes).reachesNothing(tile, dim);
}

bool areUnobservedBehindTensor(tile::BlockLoadOp load, const analysis::AxisInfoAnalysis& axes) {
  ScalarExpr count = ScalarExpr::of(load.getShape()[0]) - ScalarExpr::of(load.getOffsets()[0]);
  return Follower(count, axes, load).reachesNothing(load.getResult(), 0);
}

}  // namespace tandem::transform::nvidia
