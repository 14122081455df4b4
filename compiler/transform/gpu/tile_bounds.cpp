// Arithmetic of tiles becomes arithmetic on the ends of intervals.
#include "compiler/transform/gpu/tile_bounds.h"
#include <llvm/ADT/TypeSwitch.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/IR/Dominance.h>

namespace tandem::transform::gpu {
using namespace mlir;
using analysis::DimAccess;
using analysis::ScalarExpr;
using analysis::StridedAccess;
namespace {

constexpr int64_t kAnySize = int64_t(1) << 40;  // the bound decides where the dimension ends

bool isTile(Value value) { return isa<RankedTensorType>(value.getType()); }

// Numbers from 0 on that the text of the kernel gives.
bool isCount(Value value) {
  while (value.getDefiningOp<tile::SplatOp>() || value.getDefiningOp<tile::ExpandDimsOp>() ||
         value.getDefiningOp<tile::BroadcastOp>())
    value = value.getDefiningOp()->getOperand(0);
  llvm::APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant))) return !constant.isNegative();
  auto range = value.getDefiningOp<tile::MakeRangeOp>();
  return range && int32_t(range.getStart()) >= 0;
}

// Returns true if the bounds of the result follow from those of one operand, as the other is a count.
bool isOfBits(Operation* op) {
  if (isa<arith::ShLIOp, arith::ShRSIOp>(op)) return isCount(op->getOperand(1));
  return isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op) && llvm::any_of(op->getOperands(), isCount);
}

// The two values of which a choice, or a branch, gives one; nothing of another op.
std::optional<std::pair<Value, Value>> choicesOf(Value value) {
  if (auto choice = value.getDefiningOp<arith::SelectOp>())
    return std::pair(choice.getTrueValue(), choice.getFalseValue());
  auto branch = value.getDefiningOp<scf::IfOp>();
  if (!branch) return std::nullopt;
  unsigned index = cast<OpResult>(value).getResultNumber();
  return std::pair(branch.thenYield().getOperand(index), branch.elseYield().getOperand(index));
}

// The values with which the ops behind a tile begin: scalars, which are all known at the access, and one pointer.
struct Leaves {
  Operation* access;
  llvm::SetVector<Value> scalars = {};
  Value base = {};
  Operation* unknown = nullptr;  // the first op that is none of those that Bounds knows
  llvm::DenseSet<Value> seen = {};

  bool collect(Value value) {
    if (!seen.insert(value).second) return true;
    if (!isTile(value)) {
      if (auto add = value.getDefiningOp<tile::AddPtrOp>())
        return collect(add.getPointer()) && collect(add.getOffset());
      bool isPointer = isa<tile::PtrType>(value.getType());
      if (auto choices = isPointer ? choicesOf(value) : std::nullopt)
        return collectBoth(value.getDefiningOp(), *choices);
      if (value.getParentRegion()->isAncestor(access->getParentRegion())) {
        if (!isPointer) return scalars.insert(value), true;
        bool isOnly = !base || base == value;
        base = value;
        return isOnly;
      }
      // Else it is computed in a branch.
    }
    Operation* op = value.getDefiningOp();
    if (!op) return stopAt(value.getParentBlock()->getParentOp());
    if (isa<tile::MakeRangeOp>(op)) return true;
    if (auto constant = dyn_cast<arith::ConstantOp>(op); constant && isa<SplatElementsAttr>(constant.getValue()))
      return true;
    if (auto choices = choicesOf(value)) return collectBoth(op, *choices);
    if (!isa<tile::SplatOp, tile::ExpandDimsOp, tile::BroadcastOp, tile::ReshapeOp, tile::PermuteOp, tile::AddPtrOp,
             arith::ExtSIOp, arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::DivSIOp, arith::RemSIOp,
             arith::MinSIOp, arith::MaxSIOp>(op) &&
        !isOfBits(op))
      return stopAt(op);
    return llvm::all_of(op->getOperands(), [&](Value operand) { return collect(operand); });
  }

  // Stops at a choice between places of two matrices.
  bool collectBoth(Operation* choice, std::pair<Value, Value> values) {
    if (collect(values.first) && collect(values.second)) return true;
    return unknown ? false : stopAt(choice);
  }

  bool stopAt(Operation* op) {
    unknown = op;
    return false;
  }
};

class Bounds {
 public:
  struct Interval {
    Value low, high;
    bool isPoint() const { return low == high; }
  };

  // `scalars` are known at the builder.
  Bounds(OpBuilder& builder, Location where, const llvm::SetVector<Value>& scalars)
      : builder_(builder), where_(where), scalars_(scalars) {}

  // Nothing where a divisor, or what shifts, is not the same at all places.
  std::optional<Interval> of(Value value) {
    if (scalars_.contains(value)) return point(wide(value));
    Operation* op = value.getDefiningOp();
    std::optional<std::pair<Value, Value>> choices = choicesOf(value);
    if (isa<tile::PtrType>(value.getType()) && !isa_and_nonnull<tile::AddPtrOp>(op) && !choices)
      return point(number(0));
    if (auto range = dyn_cast<tile::MakeRangeOp>(op))
      return Interval{number(int32_t(range.getStart())), number(int32_t(range.getEnd()) - 1)};
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      return point(number(cast<SplatElementsAttr>(constant.getValue()).getSplatValue<APInt>().getSExtValue()));
    if (choices) {
      auto one = of(choices->first), other = of(choices->second);
      if (!one || !other) return std::nullopt;
      return Interval{least(one->low, other->low), most(one->high, other->high)};
    }
    std::optional<Interval> a = of(op->getOperand(0));
    if (!a || op->getNumOperands() == 1) return a;
    std::optional<Interval> b = of(op->getOperand(1));
    if (!b) return std::nullopt;
    if (isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op) && !isCount(op->getOperand(1))) std::swap(a, b);
    return llvm::TypeSwitch<Operation*, std::optional<Interval>>(op)
        .Case<tile::AddPtrOp, arith::AddIOp>([&](auto) { return Interval{sum(a->low, b->low), sum(a->high, b->high)}; })
        .Case([&](arith::SubIOp) { return Interval{difference(a->low, b->high), difference(a->high, b->low)}; })
        .Case([&](arith::MulIOp) { return product(*a, *b); })
        .Case([&](arith::MinSIOp) { return Interval{least(a->low, b->low), least(a->high, b->high)}; })
        .Case([&](arith::MaxSIOp) { return Interval{most(a->low, b->low), most(a->high, b->high)}; })
        .Case([&](arith::AndIOp) { return Interval{number(0), b->high}; })
        .Case([&](arith::OrIOp) { return Interval{a->low, sum(a->high, b->high)}; })
        .Case([&](arith::XOrIOp) { return Interval{difference(a->low, b->high), sum(a->high, b->high)}; })
        .Case<arith::ShLIOp, arith::ShRSIOp>([&](auto shift) -> std::optional<Interval> {
          if (!b->isPoint()) return std::nullopt;
          auto shifted = [&](Value x) { return decltype(shift)::create(builder_, where_, x, b->low); };
          return Interval{shifted(a->low), shifted(a->high)};
        })
        .Case([&](arith::DivSIOp) { return b->isPoint() ? std::optional(quotient(*a, b->low)) : std::nullopt; })
        .Case([&](arith::RemSIOp) { return b->isPoint() ? std::optional(remainder(*a, b->low)) : std::nullopt; });
  }

 private:
  static Interval point(Value value) { return {value, value}; }
  Value number(int64_t value) { return arith::ConstantIntOp::create(builder_, where_, value, 64); }
  Value sum(Value a, Value b) { return arith::AddIOp::create(builder_, where_, a, b); }
  Value difference(Value a, Value b) { return arith::SubIOp::create(builder_, where_, a, b); }
  Value least(Value a, Value b) { return arith::MinSIOp::create(builder_, where_, a, b); }
  Value most(Value a, Value b) { return arith::MaxSIOp::create(builder_, where_, a, b); }

  Value wide(Value value) { return ScalarExpr::symbol(value).build(builder_, where_, builder_.getI64Type()); }

  Interval product(Interval a, Interval b) {
    Value low, high;
    for (Value x : {a.low, a.high})
      for (Value y : {b.low, b.high}) {
        Value both = arith::MulIOp::create(builder_, where_, x, y);
        low = low ? least(low, both) : both;
        high = high ? most(high, both) : both;
      }
    return {low, high};
  }

  // A divisor's size, at least 1: where it is 0 the kernel does not come to the access.
  Value sizeOf(Value divisor) { return most(most(divisor, difference(number(0), divisor)), number(1)); }

  // Rounds towards zero, so that quotients by a positive divisor are in the order of what is divided.
  Interval quotient(Interval a, Value divisor) {
    Value size = sizeOf(divisor);
    Value low = arith::DivSIOp::create(builder_, where_, a.low, size),
          high = arith::DivSIOp::create(builder_, where_, a.high, size);
    Value turns = arith::CmpIOp::create(builder_, where_, arith::CmpIPredicate::slt, divisor, number(0));
    auto turned = [&](Value one, Value other) -> Value {
      return arith::SelectOp::create(builder_, where_, turns, difference(number(0), other), one);
    };
    return {turned(low, high), turned(high, low)};
  }

  // Has the sign of what is divided.
  Interval remainder(Interval a, Value divisor) {
    Value last = difference(sizeOf(divisor), number(1));
    return {most(least(a.low, number(0)), difference(number(0), last)), least(most(a.high, number(0)), last)};
  }

  OpBuilder& builder_;
  Location where_;
  const llvm::SetVector<Value>& scalars_;
};

// Behind the last of the scalars, all of which come before the access.
void setBehind(OpBuilder& builder, const llvm::SetVector<Value>& scalars, func::FuncOp kernel) {
  DominanceInfo order(kernel);
  builder.setInsertionPointToStart(&kernel.getBody().front());
  Value last;
  for (Value scalar : scalars) {
    if (last &&
        !order.dominates(last, scalar.getDefiningOp() ? scalar.getDefiningOp() : &scalar.getParentBlock()->front()))
      continue;
    last = scalar;
    builder.setInsertionPointAfterValue(scalar);
  }
}

}  // namespace

std::optional<StridedAccess> boundsOf(Value pointer, Operation* access) {
  Leaves leaves{access};
  if (!leaves.collect(pointer) || !leaves.base) return std::nullopt;
  OpBuilder builder(access);
  setBehind(builder, leaves.scalars, access->getParentOfType<func::FuncOp>());
  std::optional<Bounds::Interval> places = Bounds(builder, access->getLoc(), leaves.scalars).of(pointer);
  if (!places) return std::nullopt;
  DimAccess dim;
  dim.size = kAnySize;
  dim.stride = 1;
  dim.offset = ScalarExpr::of(places->low);
  dim.bound = ScalarExpr::of(places->high) + 1;
  return StridedAccess{leaves.base, {}, {dim}, {}};
}

Operation* unfollowed(Value pointer, Operation* access) {
  Leaves leaves{access};
  leaves.collect(pointer);
  return leaves.unknown;
}

}  // namespace tandem::transform::gpu
