// Follows scalars back to thread numbers and what threads exchange.
#include "compiler/transform/gpu/thread_dependence.h"
#include "compiler/dialect/simt/simt.h"
#include <llvm/ADT/DenseSet.h>
#include <mlir/Dialect/SCF/IR/SCF.h>

namespace tandem::transform::gpu {
using namespace mlir;
namespace {

bool dependsOnThread(Value value, llvm::DenseSet<Value>& seen) {
  if (isa<RankedTensorType>(value.getType()) || !seen.insert(value).second) return false;
  auto any = [&](ValueRange values) { return llvm::any_of(values, [&](Value v) { return dependsOnThread(v, seen); }); };
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation* parent = argument.getOwner()->getParentOp();
    if (auto loop = dyn_cast<scf::ForOp>(parent)) return any(loop->getOperands()) || any(loop.getYieldedValues());
    if (auto loop = dyn_cast<scf::WhileOp>(parent))
      return any(loop.getInits()) || any(loop.getYieldOp()->getOperands()) || any(loop.getConditionOp()->getOperands());
    return false;
  }
  Operation* op = value.getDefiningOp();
  if (isa<simt::TidOp, simt::ElectOp, simt::ShuffleOp, simt::BallotOp, simt::AtomicRmwOp, simt::AtomicCasOp>(op))
    return true;
  for (Region& region : op->getRegions())
    if (!region.empty() && any(region.front().getTerminator()->getOperands())) return true;
  return any(op->getOperands());
}

}  // namespace

bool dependOnThread(ValueRange values) {
  llvm::DenseSet<Value> seen;
  return llvm::any_of(values, [&](Value v) { return dependsOnThread(v, seen); });
}

bool isDivergent(Operation* op) {
  for (Operation* parent = op->getParentOp(); parent; parent = parent->getParentOp()) {
    if (auto branch = dyn_cast<scf::IfOp>(parent); branch && dependOnThread(branch.getCondition())) return true;
    if (auto loop = dyn_cast<scf::ForOp>(parent); loop && dependOnThread(loop->getOperands().take_front(3))) return true;
    if (auto loop = dyn_cast<scf::WhileOp>(parent); loop && dependOnThread(loop.getConditionOp().getCondition())) return true;
  }
  return false;
}

}  // namespace tandem::transform::gpu
