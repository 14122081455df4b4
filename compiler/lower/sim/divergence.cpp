// This analysis finds the values that differ from thread to thread.
#include "compiler/lower/sim/divergence.h"
#include "compiler/dialect/dist/dist.h"
#include "compiler/dialect/simt/simt.h"
#include "compiler/lower/sim/assembly.h"
#include "compiler/lower/sim/ptx/assembler.h"
#include "compiler/lower/sim/types.h"
#include <llvm/ADT/TypeSwitch.h>

namespace tandem::lower {
using namespace mlir;

Divergence::Divergence(func::FuncOp kernel, Locations& locations) : locations_(locations) {
  do {
    changed_ = false;
    kernel->walk<WalkOrder::PreOrder>([&](Operation* op) { visit(op); });
  } while (changed_);
}

bool Divergence::anyLanes(ValueRange values) const {
  return llvm::any_of(values, [&](Value v) { return isLanes(v); });
}

bool Divergence::isDivergent(Operation* op) const {
  for (Operation* parent = op->getParentOp(); parent; parent = parent->getParentOp()) {
    if (auto branch = dyn_cast<scf::IfOp>(parent); branch && isLanes(branch.getCondition())) return true;
    if (auto loop = dyn_cast<scf::ForOp>(parent); loop && anyLanes(loop->getOperands().take_front(3))) return true;
    if (auto loop = dyn_cast<scf::WhileOp>(parent); loop && isLanes(loop.getConditionOp().getCondition())) return true;
  }
  return false;
}

void Divergence::mark(Value value, Operation* at) {
  if (lanes_.contains(value)) return;
  if (isTile(value.getType())) locations_.fail(at, "thread-dependent-tile", "a tile cannot depend on the thread index");
  if (isTileOrBuffer(value.getType()))
    locations_.fail(at, "thread-dependent-tile", "a shared-memory buffer cannot depend on the thread index");
  lanes_.insert(value);
  changed_ = true;
}

void Divergence::markAll(ValueRange values, Operation* at) {
  for (Value v : values) mark(v, at);
}

void Divergence::markWhere(ValueRange from, ValueRange to, Operation* at) {
  for (auto [source, target] : llvm::zip(from, to))
    if (isLanes(source)) mark(target, at);
}

void Divergence::visit(Operation* op) {
  llvm::TypeSwitch<Operation*>(op)
      .Case<scf::IfOp>([&](auto o) { visitIf(o); })
      .Case<scf::ForOp>([&](auto o) { visitFor(o); })
      .Case<scf::WhileOp>([&](auto o) { visitWhile(o); })
      .Case<scf::ExecuteRegionOp>([&](auto o) { visitExecuteRegion(o); })
      .Case<tile::ReduceOp, tile::ScanOp, tile::MapElementwiseOp>([&](auto o) {
        if (!o->getRegion(0).empty()) visitCombine(o);
      })
      .Case<scf::YieldOp, scf::ConditionOp, tile::YieldOp, func::FuncOp, func::ReturnOp>([](auto) {})
      .Default([&](Operation* o) { visitPlain(o); });
}

void Divergence::visitIf(scf::IfOp op) {
  if (isLanes(op.getCondition())) return markAll(op.getResults(), op);
  if (op.getNumResults() == 0) return;
  markWhere(op.thenYield().getOperands(), op.getResults(), op);
  markWhere(op.elseYield().getOperands(), op.getResults(), op);
}

void Divergence::visitFor(scf::ForOp op) {
  if (anyLanes({op.getLowerBound(), op.getUpperBound(), op.getStep()})) {
    markAll(op.getBody()->getArguments(), op);
    return markAll(op.getResults(), op);
  }
  markWhere(op.getInitArgs(), op.getRegionIterArgs(), op);
  markWhere(op.getYieldedValues(), op.getRegionIterArgs(), op);
  markWhere(op.getRegionIterArgs(), op.getResults(), op);
}

void Divergence::visitWhile(scf::WhileOp op) {
  scf::ConditionOp condition = op.getConditionOp();
  if (isLanes(condition.getCondition())) {
    markAll(op.getBeforeArguments(), op);
    markAll(op.getAfterArguments(), op);
    return markAll(op.getResults(), op);
  }
  markWhere(op.getInits(), op.getBeforeArguments(), op);
  markWhere(op.getYieldOp().getOperands(), op.getBeforeArguments(), op);
  markWhere(condition.getArgs(), op.getAfterArguments(), op);
  markWhere(condition.getArgs(), op.getResults(), op);
}

void Divergence::visitExecuteRegion(scf::ExecuteRegionOp op) {
  for (Block& block : op.getRegion())
    if (auto yield = dyn_cast<scf::YieldOp>(block.getTerminator())) markWhere(yield.getOperands(), op.getResults(), op);
}

// The function's arguments differ by element, which the interpreter runs as lanes; they have nothing to do with
// threads.
void Divergence::visitCombine(Operation* op) {
  Region& region = op->getRegion(0);
  markAll(region.getArguments(), op);
  region.walk([&](Operation* inner) {
    for (Value v : inner->getOperands())
      if (isLanes(v) && !region.isAncestor(v.getParentRegion()))
        locations_.fail(inner, "thread-dependent-tile",
                        "the function of `" + op->getName().getStringRef().str() +
                            "` cannot use a value that depends on the thread index");
  });
}

bool Divergence::differsByThread(Operation* op) const {
  if (op->hasTrait<tile::VariesByThread>()) return true;
  if (auto assembly = dyn_cast<tile::InlineAsmOp>(op)) {
    bool onTiles = llvm::any_of(op->getOperandTypes(), isTile) || llvm::any_of(op->getResultTypes(), isTile);
    if (!onTiles && tandem::lower::differsByThread(parseAssembly(assembly).body)) return true;
  }
  if (auto consume = dyn_cast<dist::ConsumeTokenOp>(op)) return isLanes(consume.getValue());
  bool updates = isa<tile::AtomicRmwOp, tile::AtomicCasOp>(op) && !isTile(op->getOperand(0).getType());
  return anyLanes(op->getOperands()) || (updates && isDivergent(op));
}

void Divergence::visitPlain(Operation* op) {
  if (!differsByThread(op)) return;
  if (isa<tile::BlockStoreOp>(op))
    locations_.fail(op, "thread-dependent-tile", "where a tile is stored cannot depend on the thread index");
  markAll(op->getResults(), op);
}

}  // namespace tandem::lower
