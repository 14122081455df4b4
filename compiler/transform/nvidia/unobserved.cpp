// This analysis follows a tile to the stores it ends in. An op that is not known to keep rows apart is taken to mix
// them.
#include "compiler/transform/nvidia/unobserved.h"
#include "compiler/analysis/mask_bounds.h"
#include "compiler/dialect/tile/tile.h"
#include <llvm/ADT/DenseSet.h>
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

class Follower {
 public:
  Follower(const ScalarExpr& count, const analysis::AxisInfoAnalysis& axes) : count_(count), axes_(axes) {}

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
    if (!count_.isInvariant(parent)) return false;
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
    return llvm::is_contained(store.getBoundaryCheck(), int32_t(dim)) &&
           ScalarExpr::of(store.getShape()[dim]) - ScalarExpr::of(store.getOffsets()[dim]) == count_;
  }

  const ScalarExpr& count_;
  const analysis::AxisInfoAnalysis& axes_;
  SmallVector<std::pair<Value, unsigned>> todo_;
  llvm::DenseSet<std::pair<Value, unsigned>> seen_;
};

}  // namespace

bool isUnobservedFrom(Value tile, unsigned dim, const ScalarExpr& count, const analysis::AxisInfoAnalysis& axes) {
  return Follower(count, axes).reachesNothing(tile, dim);
}

}  // namespace tandem::transform::nvidia
