// An op that is in the chain already is not looked at again.
#include "compiler/transform/gpu/invariants.h"
#include <llvm/ADT/STLExtras.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tandem::transform::gpu {
using namespace mlir;

bool isInvariant(Value value, scf::ForOp loop, SmallVectorImpl<Operation*>& chain, size_t most) {
  Operation* op = value.getDefiningOp();
  if (loop.isDefinedOutsideOfLoop(value) || llvm::is_contained(chain, op)) return true;
  if (!op || op->getBlock() != loop.getBody() || op->getNumRegions() || !isMemoryEffectFree(op)) return false;
  auto goesBefore = [&](Value operand) { return isInvariant(operand, loop, chain, most); };
  if (!llvm::all_of(op->getOperands(), goesBefore) || chain.size() >= most) return false;
  chain.push_back(op);
  return true;
}

}  // namespace tandem::transform::gpu
