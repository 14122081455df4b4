// Signals in the place of work.
#include "compiler/transform/gpu/counting.h"
#include "compiler/dialect/dist/dist.h"
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tandem::transform::gpu {
using namespace mlir;
namespace {

Value constant(OpBuilder& builder, Location where, int64_t value) {
  return arith::ConstantIntOp::create(builder, where, value, 64);
}

// The loops around an op, the innermost first, before the outermost of which the word and the numbers of all their iterations are known.
SmallVector<scf::ForOp> countedLoops(Operation* op, Value word) {
  SmallVector<scf::ForOp> loops;
  while (auto loop = dyn_cast<scf::ForOp>(op->getParentOp())) {
    if (!loop.isDefinedOutsideOfLoop(word)) break;
    bool known = llvm::all_of(loops, [&](scf::ForOp inner) {
      return llvm::all_of(ArrayRef<Value>{inner.getLowerBound(), inner.getUpperBound(), inner.getStep()},
                          [&](Value bound) { return loop.isDefinedOutsideOfLoop(bound); });
    });
    if (!known) break;
    loops.push_back(loop);
    op = loop;
  }
  return loops;
}

Value iterationsOf(OpBuilder& builder, scf::ForOp loop) {
  Location where = loop.getLoc();
  auto wide = [&](Value value) -> Value {
    if (value.getType().isInteger(64)) return value;
    return arith::ExtSIOp::create(builder, where, builder.getI64Type(), value);
  };
  Value way = arith::SubIOp::create(builder, where, wide(loop.getUpperBound()), wide(loop.getLowerBound()));
  way = arith::MaxSIOp::create(builder, where, way, constant(builder, where, 0));
  return arith::CeilDivSIOp::create(builder, where, way, wide(loop.getStep()));
}

// Returns true if another product's result is among what an operand is computed from, in its own block.
bool isOfProduct(Value operand) {
  SmallVector<Value> left = {operand};
  llvm::DenseSet<Operation*> seen;
  while (!left.empty()) {
    Operation* op = left.pop_back_val().getDefiningOp();
    if (!op || op->getBlock() != operand.getParentBlock() || !seen.insert(op).second) continue;
    if (isa<tile::DotOp>(op)) return true;
    if (!op->getNumRegions() && isMemoryEffectFree(op)) left.append(op->operand_begin(), op->operand_end());
  }
  return false;
}

// Multiplications and additions of the product, and what keeps the tensor cores from them: an element between two products, as of
// attention, takes as long as so many of a product. With heads of 128 attention multiplies at 0.84 of a single product's rate on an H200.
int64_t operationsOf(tile::DotOp dot) {
  constexpr int64_t kBetweenProducts = 96;
  auto left = cast<RankedTensorType>(dot.getLhs().getType()),
       result = cast<RankedTensorType>(dot.getResult().getType());
  int64_t operations = 2 * result.getNumElements() * left.getShape().back();
  for (Value operand : {dot.getLhs(), dot.getRhs()})
    if (isOfProduct(operand))
      operations += kBetweenProducts * cast<RankedTensorType>(operand.getType()).getNumElements();
  return operations;
}

}  // namespace

bool areFixed(SmallVector<Value> left) {
  llvm::DenseSet<Value> seen;
  while (!left.empty()) {
    Value value = left.pop_back_val();
    if (!seen.insert(value).second) continue;
    auto argument = dyn_cast<BlockArgument>(value);
    Operation* op = argument ? argument.getOwner()->getParentOp() : value.getDefiningOp();
    if (isa<func::FuncOp>(op)) continue;
    unsigned index = argument ? 0 : cast<OpResult>(value).getResultNumber();
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      left.append({loop.getLowerBound(), loop.getUpperBound(), loop.getStep()});
      BlockArgument carried = argument ? argument : loop.getRegionIterArg(index);
      if (carried == loop.getInductionVar()) continue;
      left.append({loop.getTiedLoopInit(carried)->get(), loop.getTiedLoopYieldedValue(carried)->get()});
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      left.append({branch.getCondition(), branch.thenYield().getOperand(index), branch.elseYield().getOperand(index)});
    } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      left.push_back(loop.getConditionOp().getCondition());
      if (argument && argument.getOwner() == loop.getBeforeBody())
        left.append({loop.getInits()[argument.getArgNumber()], loop.getYieldOp().getOperand(argument.getArgNumber())});
      else
        left.push_back(loop.getConditionOp()
                           .getArgs()[argument ? argument.getArgNumber() : cast<OpResult>(value).getResultNumber()]);
    } else if (op->getNumRegions() || !isMemoryEffectFree(op)) {
      return false;
    } else {
      left.append(op->operand_begin(), op->operand_end());
    }
  }
  return true;
}

bool runsFixed(Operation* op) {
  for (Operation* parent = op->getParentOp(); !isa<func::FuncOp>(parent); parent = parent->getParentOp()) {
    SmallVector<Value> control;
    if (auto loop = dyn_cast<scf::ForOp>(parent))
      control = {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()};
    else if (auto branch = dyn_cast<scf::IfOp>(parent))
      control = {branch.getCondition()};
    else if (auto loop = dyn_cast<scf::WhileOp>(parent))
      control = {loop.getConditionOp().getCondition()};
    else
      return false;
    if (!areFixed(control)) return false;
  }
  return true;
}

void countProducts(func::FuncOp kernel, Value word, Signals& signals) {
  kernel.walk([&](tile::DotOp dot) {
    if (!runsFixed(dot)) return;
    SmallVector<scf::ForOp> loops = countedLoops(dot, word);
    Location where = dot.getLoc();
    OpBuilder builder(loops.empty() ? dot.getOperation() : loops.back().getOperation());
    Value operations = constant(builder, where, operationsOf(dot));
    for (scf::ForOp loop : loops)
      operations = arith::MulIOp::create(builder, where, operations, iterationsOf(builder, loop));
    Value rank = dist::RankOp::create(builder, where, Value());
    signals.insert(dist::NotifyOp::create(builder, where, word, rank, operations, dist::SignalKind::Add,
                                          dist::CommScope::IntraNode));
  });
}

void keepOnly(const Signals& signals, func::FuncOp kernel) {
  SmallVector<Operation*> others;
  kernel.walk([&](Operation* op) {
    bool stays = op->getNumRegions() || signals.contains(op) || isMemoryEffectFree(op) ||
                 hasSingleEffect<MemoryEffects::Read>(op);
    if (!stays && !op->hasTrait<OpTrait::IsTerminator>()) others.push_back(op);
  });
  for (Operation* op : others) {
    OpBuilder builder(op);
    for (Value result : op->getResults()) {
      TypedAttr nothing = builder.getZeroAttr(result.getType());
      if (nothing) result.replaceAllUsesWith(arith::ConstantOp::create(builder, op->getLoc(), nothing));
    }
    if (op->use_empty()) op->erase();
  }
}

}  // namespace tandem::transform::gpu
