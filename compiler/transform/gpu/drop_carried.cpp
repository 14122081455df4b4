// Follows each carried value forwards: it must reach nothing but its own successor.
#include "compiler/transform/gpu/drop_carried.h"
#include <llvm/ADT/DenseSet.h>
#include <mlir/Dialect/SCF/IR/SCF.h>

namespace tandem::transform::gpu {
using namespace mlir;

static bool onlyFeeds(Value value, Operation* yield, unsigned index) {
  llvm::DenseSet<Value> seen{value};
  SmallVector<Value> todo{value};
  while (!todo.empty()) {
    for (OpOperand& use : todo.pop_back_val().getUses()) {
      Operation* op = use.getOwner();
      if (op == yield && use.getOperandNumber() == index) continue;
      if (op == yield || op->getNumRegions() || op->hasTrait<OpTrait::IsTerminator>() || !isMemoryEffectFree(op))
        return false;
      for (Value result : op->getResults())
        if (seen.insert(result).second) todo.push_back(result);
    }
  }
  return true;
}

void dropCarried(func::FuncOp kernel) {
  kernel.walk([](scf::ForOp loop) {
    Operation* yield = loop.getBody()->getTerminator();
    for (auto [i, argument] : llvm::enumerate(loop.getRegionIterArgs()))
      if (loop.getResult(i).use_empty() && onlyFeeds(argument, yield, i)) yield->setOperand(i, argument);
  });
}

}  // namespace tandem::transform::gpu
