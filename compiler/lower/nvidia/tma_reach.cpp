// Signs of offsets by what they are made of; multiples by the axis analysis.
#include "compiler/lower/nvidia/tma_reach.h"
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/TypeSwitch.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/IR/Matchers.h>

namespace tandem::lower::nvidia {
using namespace mlir;
namespace {

class Signs {
 public:
  // The launch refuses a tensor map with a negative size.
  explicit Signs(ValueRange sizes) : known_(sizes.begin(), sizes.end()) {}

  bool isNonNegative(Value value) {
    if (known_.contains(value)) return true;
    APInt number;
    if (matchPattern(value, m_ConstantInt(&number))) return number.isNonNegative();
    if (auto argument = dyn_cast<BlockArgument>(value)) return isNonNegativeArgument(argument);
    return isNonNegativeResult(cast<OpResult>(value));
  }

 private:
  bool isNonNegativeArgument(BlockArgument argument) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop) return false;
    if (argument == loop.getInductionVar()) return isNonNegative(loop.getLowerBound());
    return isNonNegativeCarried(loop, argument.getArgNumber() - 1);
  }

  // By induction over the iterations.
  bool isNonNegativeCarried(scf::ForOp loop, unsigned i) {
    if (!isNonNegative(loop.getInitArgs()[i])) return false;
    Value carried = loop.getRegionIterArg(i);
    known_.insert(carried);
    if (isNonNegative(loop.getYieldedValues()[i])) return true;
    known_.erase(carried);
    return false;
  }

  // Nobody divides by a negative number to find a block; sums and products are taken not to overflow.
  bool isNonNegativeResult(OpResult result) {
    Operation* op = result.getOwner();
    auto is = [&](unsigned operand) { return isNonNegative(op->getOperand(operand)); };
    return llvm::TypeSwitch<Operation*, bool>(op)
        .Case<tile::ProgramIdOp, tile::NumProgramsOp>([](auto) { return true; })
        .Case<arith::AddIOp, arith::MulIOp, arith::MinSIOp, arith::OrIOp>([&](auto) { return is(0) && is(1); })
        .Case<arith::MaxSIOp, arith::AndIOp>([&](auto) { return is(0) || is(1); })
        .Case<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp, arith::ExtSIOp, arith::ExtUIOp, arith::ShLIOp, arith::ShRSIOp,
              arith::ShRUIOp>([&](auto) { return is(0); })
        .Case<arith::SelectOp>([&](auto) { return is(1) && is(2); })
        .Case<scf::ForOp>([&](auto loop) { return isNonNegativeCarried(loop, result.getResultNumber()); })
        .Case<scf::IfOp>([&](auto branch) {
          unsigned i = result.getResultNumber();
          return isNonNegative(branch.thenYield()->getOperand(i)) && isNonNegative(branch.elseYield()->getOperand(i));
        })
        .Default([](Operation*) { return false; });
  }

  llvm::DenseSet<Value> known_;
};

}  // namespace

UncertainStart uncertainStart(tile::BlockStoreOp store, analysis::AxisInfoAnalysis& axes) {
  UncertainStart out;
  Signs signs(store.getShape());
  for (Value offset : store.getOffsets())
    if (!signs.isNonNegative(offset)) out.signs.push_back(offset);
  auto tile = cast<RankedTensorType>(store.getValue().getType());
  int64_t multiple = 128 / tile.getElementTypeBitWidth();
  if (axes.of(store.getOffsets().back()).divisibility(0) % multiple != 0) out.multiple = multiple;
  return out;
}

}  // namespace tandem::lower::nvidia
