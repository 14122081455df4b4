// Waits behind loops whose last products are still under way.
#include "compiler/transform/nvidia/carried_sums.h"
#include "compiler/dialect/tgpu/tgpu.h"
#include <mlir/Dialect/Arith/IR/Arith.h>

namespace tandem::transform::nvidia {
using namespace mlir;

unsigned carriedIndex(Value sum, scf::ForOp loop) {
  return cast<BlockArgument>(sum).getArgNumber() - loop.getNumInductionVars();
}

bool onlyAdds(Value sum, Value result, scf::ForOp loop) {
  auto carried = dyn_cast<BlockArgument>(sum);
  if (!carried || carried.getOwner() != loop.getBody() || carried == loop.getInductionVar() || !carried.hasOneUse() || !result.hasOneUse())
    return false;
  OpOperand& use = *result.getUses().begin();
  return isa<scf::YieldOp>(use.getOwner()) && use.getOwner()->getBlock() == loop.getBody() &&
         use.getOperandNumber() == carriedIndex(sum, loop);
}

OpBuilder awaitSums(scf::ForOp loop, ArrayRef<unsigned> sums) {
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  auto isLess = loop.getUnsignedCmp() ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt;
  Value runs = arith::CmpIOp::create(builder, loc, isLess, loop.getLowerBound(), loop.getUpperBound());
  auto branch = scf::IfOp::create(builder, loc, loop.getResultTypes(), runs, true);
  loop.replaceAllUsesWith(branch.getResults());
  OpBuilder otherwise = OpBuilder::atBlockEnd(branch.elseBlock()), then = OpBuilder::atBlockEnd(branch.thenBlock());
  scf::YieldOp::create(otherwise, loc, loop.getInitArgs());
  loop->moveBefore(branch.thenBlock(), branch.thenBlock()->end());
  SmallVector<Value> results(loop.getResults());
  for (unsigned i : sums) results[i] = tgpu::WgmmaWaitOp::create(then, loc, results[i], then.getI32IntegerAttr(0));
  auto yield = scf::YieldOp::create(then, loc, results);
  return OpBuilder(yield);
}

}  // namespace tandem::transform::nvidia
