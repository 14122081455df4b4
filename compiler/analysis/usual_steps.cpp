// Steps are found from operands to results; each value is looked at once.
#include "compiler/analysis/usual_steps.h"
#include "compiler/analysis/axis_info.h"
#include "compiler/dialect/tgpu/tgpu.h"
#include "compiler/dialect/tile/tile.h"
#include <llvm/ADT/TypeSwitch.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>

namespace tandem::analysis {
using namespace mlir;
namespace {

using Step = std::optional<int64_t>;

class Steps {
 public:
  explicit Steps(const AxisInfoAnalysis& axes) : axes_(axes) {}

  Step of(Value v, unsigned dim) {
    if (!isa<RankedTensorType>(v.getType()) || axes_.of(v).constant) return 0;
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
        .Case<tile::MakeRangeOp>([](auto) { return 1; })
        .Case<tile::SplatOp>([](auto) { return 0; })
        .Case<tile::ExpandDimsOp>([&](auto o) {
          unsigned axis = o.getAxis();
          return dim == axis ? Step(0) : of(o.getSource(), dim - (dim > axis));
        })
        .Case<tile::BroadcastOp>([&](auto o) {
          bool spreads = cast<RankedTensorType>(o.getSource().getType()).getDimSize(dim) == 1;
          return spreads ? Step(0) : of(o.getSource(), dim);
        })
        .Case<tile::PermuteOp>([&](auto o) { return of(o.getSource(), o.getOrder()[dim]); })
        .Case<arith::AddIOp, tile::AddPtrOp>([&](auto) { return sum(operand(0), operand(1), 1); })
        .Case<arith::SubIOp>([&](auto) { return sum(operand(0), operand(1), -1); })
        .Case<arith::MulIOp>([&](auto o) { return product(o, dim); })
        .Case<arith::RemSIOp, arith::RemUIOp>([&](auto) { return operand(1) == 0 ? operand(0) : Step(); })
        .Case<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp>([&](auto) {
          Step dividend = operand(0);
          return operand(1) == 0 && dividend && *dividend >= 0 && *dividend <= 1 ? Step(0) : Step();
        })
        .Case<arith::MaxSIOp, arith::MinSIOp, arith::MaxUIOp, arith::MinUIOp>(
            [&](auto) { return either(operand(0), operand(1)); })
        .Case<arith::SelectOp>([&](auto) { return either(operand(1), operand(2)); })
        .Case<arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, arith::IndexCastOp, tgpu::ConvertLayoutOp>(
            [&](auto) { return operand(0); })
        .Default([](auto) { return Step(); });
  }

  static Step sum(Step a, Step b, int64_t sign) { return a && b ? Step(*a + sign * *b) : Step(); }

  // The one that moves: the other one is a limit, or stands in where there is nothing.
  static Step either(Step a, Step b) { return a == b || b == 0 ? a : a == 0 ? b : Step(); }

  Step product(arith::MulIOp op, unsigned dim) {
    Step a = of(op.getLhs(), dim), b = of(op.getRhs(), dim);
    if (a == 0 && b == 0) return 0;
    std::optional<int64_t> x = axes_.of(op.getLhs()).constant, y = axes_.of(op.getRhs()).constant;
    return x && b ? Step(*x * *b) : y && a ? Step(*y * *a) : Step();
  }

  const AxisInfoAnalysis& axes_;
  llvm::DenseMap<std::pair<Value, unsigned>, Step> known_;
};

}  // namespace

std::optional<int64_t> usualStep(Value tile, unsigned dim, const AxisInfoAnalysis& axes) {
  return Steps(axes).of(tile, dim);
}

}  // namespace tandem::analysis
