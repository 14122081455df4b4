#include "compiler/transform/gpu/loads_together.h"
#include "compiler/transform/gpu/bring_into.h"
#include "compiler/transform/gpu/layout_rules.h"
#include <mlir/Dialect/SCF/IR/SCF.h>

namespace tandem::transform::gpu {
using namespace mlir;

LoadsTogether::LoadsTogether(func::FuncOp kernel, const analysis::AxisInfoAnalysis& axes, layout::ThreadCounts threads)
    : axes_(axes), threads_(threads) {
  auto join = [&](Value one, Value other) { groups_.unionSets(one.getAsOpaquePointer(), other.getAsOpaquePointer()); };
  SmallVector<tile::LoadOp> loads;
  kernel.walk([&](Operation* op) {
    if (auto load = dyn_cast<tile::LoadOp>(op); load && isa<RankedTensorType>(load.getType())) {
      loads.push_back(load);
      groups_.insert(load.getResult().getAsOpaquePointer());
    }
    SmallVector<Value> meeting;
    for (OpOperand& operand : op->getOpOperands()) {
      if (!isa<RankedTensorType>(operand.get().getType()) || isCheapTree(operand.get())) continue;
      for (Value tied : tiedTo(operand)) join(operand.get(), tied);
      if (isSameLayout(op)) meeting.push_back(operand.get());
    }
    if (isSameLayout(op))
      llvm::copy_if(op->getResults(), std::back_inserter(meeting),
                    [](Value v) { return isa<RankedTensorType>(v.getType()); });
    for (Value other : meeting) join(meeting.front(), other);
    if (auto loop = dyn_cast<scf::ForOp>(op))
      for (auto [inside, result] : llvm::zip_equal(loop.getRegionIterArgs(), loop.getResults())) join(inside, result);
  });
  for (tile::LoadOp load : loads) {
    Coalescing own = alone(load);
    int64_t& most = most_[keyOf(load, own.axis)];
    most = std::max(most, own.neighbours);
  }
}

Coalescing LoadsTogether::alone(tile::LoadOp load) const {
  return coalesced(load.getPointer(), load.getMask(), axes_, threads_);
}

LoadsTogether::Key LoadsTogether::keyOf(tile::LoadOp load, unsigned axis) const {
  return {groups_.getLeaderValue(load.getResult().getAsOpaquePointer()), axis};
}

Coalescing LoadsTogether::of(tile::LoadOp load) const {
  Coalescing own = alone(load);
  bool isApart = own.neighbours == 1 && axes_.of(load.getPointer()).contiguity(own.axis) > 1;
  if (isApart) return own;
  own.layout =
      coalesced(load.getPointer(), load.getMask(), axes_, threads_, false, most_.lookup(keyOf(load, own.axis))).layout;
  return own;
}

}  // namespace tandem::transform::gpu
