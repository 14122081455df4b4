// This analysis follows scalars back to thread numbers and values that threads exchange.
#include "compiler/transform/gpu/thread_dependence.h"
#include "compiler/dialect/tile/tile.h"
#include <mlir/Dialect/SCF/IR/SCF.h>

namespace tandem::transform::gpu {
using namespace mlir;
namespace {

bool varies(Operation* op) { return op && tile::variesByThread(op); }

void addSources(BlockArgument argument, SmallVectorImpl<Value>& to) {
  Operation* parent = argument.getOwner()->getParentOp();
  if (auto loop = dyn_cast<scf::ForOp>(parent)) {
    llvm::append_range(to, loop->getOperands());
    llvm::append_range(to, loop.getYieldedValues());
  }
  if (auto loop = dyn_cast<scf::WhileOp>(parent)) {
    llvm::append_range(to, loop.getInits());
    llvm::append_range(to, loop.getYieldOp()->getOperands());
    llvm::append_range(to, loop.getConditionOp()->getOperands());
  }
}

// Adds the values from which `value` is computed.
void addSources(Value value, SmallVectorImpl<Value>& to) {
  if (auto argument = dyn_cast<BlockArgument>(value)) return addSources(argument, to);
  Operation* op = value.getDefiningOp();
  for (Region& region : op->getRegions())
    if (!region.empty()) llvm::append_range(to, region.front().getTerminator()->getOperands());
  llvm::append_range(to, op->getOperands());
}

}  // namespace

bool ThreadDependence::anyOf(ValueRange values) {
  SmallVector<Value> left(values);
  llvm::DenseSet<Value> seen;
  while (!left.empty()) {
    Value value = left.pop_back_val();
    if (isa<RankedTensorType>(value.getType()) || independent_.contains(value) || !seen.insert(value).second) continue;
    if (dependent_.contains(value) || varies(value.getDefiningOp())) {
      if (values.size() == 1) dependent_.insert(values.front());
      return true;
    }
    addSources(value, left);
  }
  independent_.insert(seen.begin(), seen.end());
  return false;
}

bool dependOnThread(ValueRange values) { return ThreadDependence().anyOf(values); }

bool isPerThread(func::FuncOp kernel) {
  return kernel
      .walk([](Operation* op) { return tile::variesByThread(op) ? WalkResult::interrupt() : WalkResult::advance(); })
      .wasInterrupted();
}

bool isDivergent(Operation* op) {
  for (Operation* parent = op->getParentOp(); parent; parent = parent->getParentOp()) {
    if (auto branch = dyn_cast<scf::IfOp>(parent); branch && dependOnThread(branch.getCondition())) return true;
    if (auto loop = dyn_cast<scf::ForOp>(parent); loop && dependOnThread(loop->getOperands().take_front(3)))
      return true;
    if (auto loop = dyn_cast<scf::WhileOp>(parent); loop && dependOnThread(loop.getConditionOp().getCondition()))
      return true;
  }
  return false;
}

}  // namespace tandem::transform::gpu
