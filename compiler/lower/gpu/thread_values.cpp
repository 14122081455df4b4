// This analysis finds thread numbers and the values that follow from them.
#include "compiler/lower/gpu/thread_values.h"
#include "compiler/dialect/tile/tile.h"
#include <llvm/ADT/TypeSwitch.h>
#include <mlir/Dialect/SCF/IR/SCF.h>

namespace tandem::lower::gpu {
using namespace mlir;
namespace {

bool isTile(mlir::Value value) { return isa<RankedTensorType>(value.getType()); }

// The condition under which a region of `op` runs, or runs again.
mlir::ValueRange conditionsOf(Operation* op) {
  if (auto branch = dyn_cast<scf::IfOp>(op)) return branch->getOperands();
  if (auto loop = dyn_cast<scf::ForOp>(op)) return loop->getOperands().take_front(3);
  if (auto loop = dyn_cast<scf::WhileOp>(op)) return loop.getConditionOp()->getOperands().take_front(1);
  return {};
}

}  // namespace

ThreadValues::ThreadValues(func::FuncOp kernel) {
  do {
    changed_ = false;
    kernel->walk<WalkOrder::PreOrder>([&](Operation* op) { visit(op); });
  } while (changed_);
}

bool ThreadValues::anyDiffers(ValueRange values) const {
  return llvm::any_of(values, [&](mlir::Value v) { return differs(v); });
}

bool ThreadValues::isDivergent(Operation* op) const {
  for (Operation* parent = op->getParentOp(); parent; parent = parent->getParentOp())
    if (anyDiffers(conditionsOf(parent))) return true;
  return false;
}

void ThreadValues::markAll(ValueRange values) {
  for (mlir::Value v : values)
    if (!isTile(v) && differing_.insert(v).second) changed_ = true;
}

void ThreadValues::markWhere(ValueRange from, ValueRange to) {
  for (auto [source, target] : llvm::zip(from, to))
    if (differs(source)) markAll(target);
}

void ThreadValues::visit(Operation* op) {
  bool diverges = anyDiffers(conditionsOf(op));
  llvm::TypeSwitch<Operation*>(op)
      .Case<scf::IfOp>([&](auto o) {
        if (diverges) return markAll(o.getResults());
        if (o.getNumResults() == 0) return;
        markWhere(o.thenYield().getOperands(), o.getResults());
        markWhere(o.elseYield().getOperands(), o.getResults());
      })
      .Case<scf::ForOp>([&](auto o) {
        if (diverges) {
          markAll(o.getBody()->getArguments());
          return markAll(o.getResults());
        }
        markWhere(o.getInitArgs(), o.getRegionIterArgs());
        markWhere(o.getYieldedValues(), o.getRegionIterArgs());
        markWhere(o.getRegionIterArgs(), o.getResults());
      })
      .Case<scf::WhileOp>([&](auto o) {
        if (diverges) {
          markAll(o.getBeforeArguments());
          markAll(o.getAfterArguments());
          return markAll(o.getResults());
        }
        markWhere(o.getInits(), o.getBeforeArguments());
        markWhere(o.getYieldOp().getOperands(), o.getBeforeArguments());
        markWhere(o.getConditionOp().getArgs(), o.getAfterArguments());
        markWhere(o.getConditionOp().getArgs(), o.getResults());
      })
      .Case<scf::ExecuteRegionOp>(
          [&](auto o) { markWhere(o.getRegion().front().getTerminator()->getOperands(), o.getResults()); })
      .Case<tile::ReduceOp, tile::ScanOp, tile::MapElementwiseOp>(
          [&](auto o) { markAll(o->getRegion(0).getArguments()); })
      .Case<func::FuncOp>([](auto) {})
      .Default([&](Operation* o) {
        bool updates = isa<tile::AtomicRmwOp, tile::AtomicCasOp>(o) && !isTile(o->getOperand(0));
        if (tile::variesByThread(o) || anyDiffers(o->getOperands()) || (updates && isDivergent(o)))
          markAll(o->getResults());
      });
}

}  // namespace tandem::lower::gpu
