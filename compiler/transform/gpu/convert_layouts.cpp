// Conversions where an operand has another layout than is needed, out of loops where they can go.
#include "compiler/dialect/tgpu/layouts.h"
#include "compiler/transform/gpu/invariants.h"
#include "compiler/transform/gpu/layout_assignment.h"
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/IR/Iterators.h>

namespace tandem::transform::gpu {

void LayoutAssignment::insertConversions() {
  SmallVector<Operation*> ops;
  kernel_.walk<WalkOrder::PreOrder>([&](Operation* op) { ops.push_back(op); });
  for (auto& [value, layout] : known_) tgpu::setLayout(value, layout);
  for (Operation* op : ops) {
    if (op->getParentOp() && isa<tile::ReduceOp, tile::ScanOp, tile::MapElementwiseOp>(op->getParentOp())) continue;
    for (OpOperand& operand : op->getOpOperands())
      if (isTile(operand.get())) bringInto(operand);
  }
}

void LayoutAssignment::bringInto(OpOperand& operand) {
  std::optional<LinearLayout> wanted = needed(operand);
  if (!wanted || *wanted == tgpu::layoutOf(operand.get())) return;
  operand.set(change_.bring(operand.get(), *wanted, operand.getOwner()));
}

std::optional<LinearLayout> LayoutAssignment::needed(OpOperand& operand) {
  if (auto it = required_.find(&operand); it != required_.end()) return it->second;
  Operation* op = operand.getOwner();
  if (SmallVector<Value> tied = tiedTo(operand); !tied.empty()) return tgpu::layoutOf(tied.front());
  if (auto o = dyn_cast<tile::ScanOp>(op)) return tgpu::layoutOf(o.getResult(0));
  if (isa<tile::ReduceOp>(op)) return tgpu::layoutOf(op->getOperand(0));
  for (OpResult result : op->getResults())
    if (isTile(result)) return backward(operand, tgpu::layoutOf(result));
  if (!isSameLayout(op)) return std::nullopt;
  for (Value other : op->getOperands())
    if (isTile(other)) return tgpu::layoutOf(other);
  return std::nullopt;
}

void LayoutAssignment::hoistConversions() {
  kernel_.walk([](tgpu::ConvertLayoutOp convert) {
    while (auto loop = dyn_cast<scf::ForOp>(convert->getParentOp())) {
      SmallVector<Operation*> chain;
      if (!isInvariant(convert.getResult(), loop, chain, kMostHoisted)) return;
      for (Operation* op : chain) op->moveBefore(loop);
    }
  });
}

void LayoutAssignment::hoistDivisions() {
  for (auto [again, first] : change_.divisions())
    while (auto loop = dyn_cast<scf::ForOp>(again->getParentOp())) {
      SmallVector<Operation*> chain;
      if (loop->isAncestor(first) || !isInvariant(again->getResult(0), loop, chain, kMostHoisted)) break;
      for (Operation* op : chain) op->moveBefore(loop);
    }
}

void LayoutAssignment::dropUnused() {
  kernel_.walk<WalkOrder::PostOrder, ReverseIterator>([](Operation* op) {
    if (isOpTriviallyDead(op)) op->erase();
  });
}

}  // namespace tandem::transform::gpu
