// scf.if and scf.execute_region. A condition that differs by thread narrows the mask and runs both branches.
#include "compiler/lower/sim/function_lowering.h"
#include <llvm/ADT/TypeSwitch.h>

namespace tandem::lower {
using namespace mlir;
using namespace interpreter;

bool FunctionLowering::lowerControl(Operation* op) {
  return llvm::TypeSwitch<Operation*, bool>(op)
      .Case<scf::IfOp>([&](auto o) { return lowerIf(o), true; })
      .Case<scf::ForOp>([&](auto o) { return lowerFor(o), true; })
      .Case<scf::WhileOp>([&](auto o) { return lowerWhile(o), true; })
      .Case<scf::ExecuteRegionOp>([&](auto o) { return lowerExecuteRegion(o), true; })
      .Default([](Operation*) { return false; });
}

void FunctionLowering::lowerIf(scf::IfOp op) {
  Registers results = defineAll(op.getResults());
  if (divergence_.isLanes(op.getCondition()))
    lowerMaskedIf(op, results);
  else
    lowerUniformIf(op, results);
}

void FunctionLowering::lowerBranchBody(mlir::Region& region, ArrayRef<Register> results, bool masked) {
  if (region.empty()) return;
  lowerBlock(region.front());
  moveAll(useAll(region.front().getTerminator()->getOperands()), results, masked);
}

void FunctionLowering::lowerUniformIf(scf::IfOp op, ArrayRef<Register> results) {
  uint32_t branch = build_.emitJump(Op::Branch, {use(op.getCondition())});
  lowerBranchBody(op.getThenRegion(), results, false);
  if (op.getElseRegion().empty()) return build_.bindHere(branch);
  uint32_t overElse = build_.emitJump(Op::Jump);
  build_.bindHere(branch);
  lowerBranchBody(op.getElseRegion(), results, false);
  build_.bindHere(overElse);
}

void FunctionLowering::lowerMaskedIf(scf::IfOp op, ArrayRef<Register> results) {
  clear(results);
  uint32_t begin = build_.emitJump(Op::IfBegin, {use(op.getCondition())});
  ++maskDepth_;
  lowerBranchBody(op.getThenRegion(), results, true);
  build_.bindHere(begin);
  uint32_t otherwise = build_.emitJump(Op::IfElse);
  lowerBranchBody(op.getElseRegion(), results, true);
  build_.bindHere(otherwise);
  --maskDepth_;
  build_.emit({Op::IfEnd}, {}, {});
}

void FunctionLowering::lowerExecuteRegion(scf::ExecuteRegionOp op) {
  if (!op.getRegion().hasOneBlock()) failUnsupported(op);
  Block& block = op.getRegion().front();
  lowerBlock(block);
  for (auto [result, yielded] : llvm::zip(op.getResults(), block.getTerminator()->getOperands()))
    alias(result, use(yielded));
}

}  // namespace tandem::lower
