// Layouts spread from values to what is computed from them, and to what they are computed from.
#include "compiler/transform/gpu/layout_assignment.h"
#include <llvm/ADT/bit.h>
#include <mlir/Dialect/SCF/IR/SCF.h>

namespace tandem::transform::gpu {

Value LayoutAssignment::homeOf(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument) return value;
  if (auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()))
    return loop.getResult(argument.getArgNumber() - 1);
  if (auto loop = dyn_cast<scf::WhileOp>(argument.getOwner()->getParentOp()))
    if (argument.getOwner() == loop.getAfterBody()) return loop.getResult(argument.getArgNumber());
  return value;
}

SmallVector<Value> LayoutAssignment::namesOf(Value home) {
  SmallVector<Value> names{home};
  auto result = dyn_cast<OpResult>(home);
  if (!result) return names;
  if (auto loop = dyn_cast<scf::ForOp>(result.getOwner()))
    names.push_back(loop.getRegionIterArg(result.getResultNumber()));
  if (auto loop = dyn_cast<scf::WhileOp>(result.getOwner()))
    names.push_back(loop.getAfterArguments()[result.getResultNumber()]);
  return names;
}

void LayoutAssignment::spread(Queue& queue) {
  while (!queue.empty()) {
    Value home = queue.front();
    queue.pop_front();
    LinearLayout layout = known_.find(home)->second;
    for (Value name : namesOf(home))
      for (OpOperand& use : name.getUses()) spreadToUser(use, layout, queue);
    spreadToSources(home, layout, queue);
  }
}

void LayoutAssignment::spreadToUser(OpOperand& use, const LinearLayout& layout, Queue& queue) {
  Operation* op = use.getOwner();
  bool isCheap = isCheapTree(use.get());  // computed again wherever it is wanted, it decides nothing for others
  for (Value tied : tiedTo(use)) anchor(tied, layout, queue);
  for (OpResult result : op->getResults())
    if (isTile(result) && !isLoop(op) && !(isCheap && !isCheapTree(result)))
      if (auto passed = forward(use, layout, result.getResultNumber());
          passed && !isTooSmall(op, *passed, &queue == &loads_))
        anchor(result, *passed, queue);
  if (isa<tile::StoreOp>(op)) return;
  if (op->getNumResults() == 0 && isSameLayout(op)) access(op, layout);
}

bool LayoutAssignment::isTooSmall(Operation* op, const LinearLayout& layout, bool isLoaded) const {
  if (!isa<tile::BroadcastOp>(op)) return false;
  const bool multiplies = !products_.empty();
  if (multiplies && isLoaded) return true;
  const int64_t fewestThreads = multiplies ? 4 : 2, fewestElements = placesDefaults_ && !multiplies ? 2 : 4;
  int copies = llvm::popcount(layout.freeMask(Dim::Lane)) + llvm::popcount(layout.freeMask(Dim::Warp));
  int64_t held = layout.numRegisters() >> llvm::popcount(layout.freeMask(Dim::Register));
  return held >= fewestElements && (int64_t(1) << copies) >= fewestThreads;
}

bool LayoutAssignment::isLoop(Operation* op) { return isa<scf::ForOp, scf::WhileOp, scf::IfOp>(op); }

void LayoutAssignment::spreadToSources(Value home, const LinearLayout& layout, Queue& queue) {
  if (auto argument = dyn_cast<BlockArgument>(home)) {  // of a while's condition region
    auto loop = cast<scf::WhileOp>(argument.getOwner()->getParentOp());
    anchor(loop.getInits()[argument.getArgNumber()], layout, queue);
    anchor(loop.getYieldOp()->getOperand(argument.getArgNumber()), layout, queue);
    return;
  }
  auto result = cast<OpResult>(home);
  Operation* op = result.getOwner();
  unsigned i = result.getResultNumber();
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    anchor(loop.getInitArgs()[i], layout, queue);
    anchor(loop.getYieldedValues()[i], layout, queue);
  } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    anchor(loop.getConditionOp().getArgs()[i], layout, queue);
  } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
    anchor(branch.thenYield()->getOperand(i), layout, queue);
    anchor(branch.elseYield()->getOperand(i), layout, queue);
  } else if (i == 0 || isSameLayout(op)) {
    for (OpOperand& operand : op->getOpOperands())
      if (isTile(operand.get()) && !required_.count(&operand))
        if (auto wanted = backward(operand, layout)) anchor(operand.get(), *wanted, queue);
  }
}

}  // namespace tandem::transform::gpu
