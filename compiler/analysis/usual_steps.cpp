// Steps are found from operands to results; each value is looked at once.
#include "compiler/analysis/usual_steps.h"
#include "compiler/analysis/axis_info.h"
#include "compiler/dialect/tgpu/tgpu.h"
#include "compiler/dialect/tile/tile.h"
#include <llvm/ADT/TypeSwitch.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <numeric>

namespace tandem::analysis {
using namespace mlir;
namespace {

using Step = std::optional<UsualStep>;

constexpr UsualStep kNone{};

class Steps {
 public:
  Steps(const AxisInfoAnalysis& axes, bool loaded) : axes_(axes), loaded_(loaded) {}

  Step of(Value v, unsigned dim) {
    if (!isa<RankedTensorType>(v.getType()) || axes_.of(v).constant) return kNone;
    auto [known, isNew] = known_.try_emplace({v, dim});
    if (!isNew) return known->second;
    Step step = find(v, dim);
    return known_[{v, dim}] = step;
  }

 private:
  // A loop's tiles are taken as they are at first.
  Step find(Value v, unsigned dim) {
    Operation* op = v.getDefiningOp();
    if (!op) {
      auto argument = cast<BlockArgument>(v);
      auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
      return loop ? of(loop.getTiedLoopInit(argument)->get(), dim) : Step();
    }
    auto operand = [&](unsigned i) { return of(op->getOperand(i), dim); };
    return llvm::TypeSwitch<Operation*, Step>(op)
        .Case<tile::MakeRangeOp>([](auto) { return UsualStep{1}; })
        .Case<tile::SplatOp>([](auto) { return kNone; })
        .Case<tile::LoadOp, tgpu::LocalLoadOp>([&](auto) { return loaded_ ? Step(UsualStep{1, false}) : Step(); })
        .Case<tile::ExpandDimsOp>([&](auto o) {
          unsigned axis = o.getAxis();
          return dim == axis ? Step(kNone) : of(o.getSource(), dim - (dim > axis));
        })
        .Case<tile::BroadcastOp>([&](auto o) {
          bool spreads = cast<RankedTensorType>(o.getSource().getType()).getDimSize(dim) == 1;
          return spreads ? Step(kNone) : of(o.getSource(), dim);
        })
        .Case<tile::PermuteOp>([&](auto o) { return of(o.getSource(), o.getOrder()[dim]); })
        .Case<arith::AddIOp, tile::AddPtrOp>([&](auto) { return sum(operand(0), operand(1), 1); })
        .Case<arith::SubIOp>([&](auto) { return sum(operand(0), operand(1), -1); })
        .Case<arith::MulIOp>([&](auto o) { return product(o, dim); })
        .Case<arith::RemSIOp, arith::RemUIOp>([&](auto) { return operand(1) == kNone ? operand(0) : Step(); })
        .Case<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp>([&](auto) {
          Step dividend = operand(0);
          return operand(1) == kNone && (dividend == kNone || dividend == UsualStep{1}) ? Step(kNone) : Step();
        })
        .Case<arith::MaxSIOp, arith::MinSIOp, arith::MaxUIOp, arith::MinUIOp>(
            [&](auto) { return either(operand(0), operand(1)); })
        .Case<arith::SelectOp>([&](auto) { return either(operand(1), operand(2)); })
        .Case<arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, arith::IndexCastOp, tgpu::ConvertLayoutOp>(
            [&](auto) { return operand(0); })
        .Default([](auto) { return Step(); });
  }

  static Step sum(Step a, Step b, int64_t sign) {
    if (!a || !b) return std::nullopt;
    if (a->isExact && b->isExact) return UsualStep{a->size + sign * b->size};
    return UsualStep{std::gcd(a->size, b->size), false};
  }

  // The one that moves: the other one is a limit, or stands in where there is nothing.
  static Step either(Step a, Step b) { return a == b || b == kNone ? a : a == kNone ? b : Step(); }

  Step product(arith::MulIOp op, unsigned dim) {
    Step a = of(op.getLhs(), dim), b = of(op.getRhs(), dim);
    return b == kNone ? multiple(a, op.getRhs(), dim) : a == kNone ? multiple(b, op.getLhs(), dim) : Step();
  }

  Step multiple(Step step, Value factor, unsigned dim) {
    if (!step || step == kNone) return step;
    const AxisInfo& known = axes_.of(factor);
    if (known.constant) return UsualStep{step->size * *known.constant, step->isExact};
    return UsualStep{std::abs(step->size) * known.divisibility(dim), false};
  }

  const AxisInfoAnalysis& axes_;
  bool loaded_;
  llvm::DenseMap<std::pair<Value, unsigned>, Step> known_;
};

}  // namespace

std::optional<UsualStep> usualStep(Value tile, unsigned dim, const AxisInfoAnalysis& axes, bool loaded) {
  return Steps(axes, loaded).of(tile, dim);
}

}  // namespace tandem::analysis
