// scf.for and scf.while. A loop whose trip count differs by thread runs under a mask until no lane is left.
#include "compiler/lower/sim/function_lowering.h"
#include <mlir/IR/Matchers.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tandem::lower {
using namespace mlir;
using namespace interpreter;

void FunctionLowering::lowerFor(scf::ForOp op) {
  bool masked = divergence_.isLanes(op.getInductionVar());
  auto bound = [&](Value v) { return masked ? useLanes(v) : use(v); };
  Register start = bound(op.getLowerBound()), end = bound(op.getUpperBound()), step = bound(op.getStep());
  assertPositiveStep(op, step);
  Register iv = define(op.getInductionVar());
  Registers carried = defineAll(op.getRegionIterArgs());
  emitMove({start, iv}, false);
  moveAll(useAll(op.getInitArgs()), carried, false);
  if (masked)
    lowerMaskedFor(op, iv, end, step, carried);
  else
    lowerUniformFor(op, iv, end, step, carried);
  for (auto [result, reg] : llvm::zip(op.getResults(), carried)) alias(result, reg);
}

void FunctionLowering::assertPositiveStep(scf::ForOp op, Register step) {
  APInt known;
  if (matchPattern(op.getStep(), m_ConstantInt(&known)) && known.isStrictlyPositive()) return;
  RegisterType type = build_.type(step);
  Register positive = compare(CompareOp::SGt, step, constant(type, 0));
  build_.emit({Op::Assert, 0, Elem::I1}, {positive, kNone}, {},
              imm::Assert{.message = build_.string("the step of a loop must be positive")});
}

void FunctionLowering::lowerUniformFor(scf::ForOp op, Register iv, Register end, Register step,
                                       ArrayRef<Register> carried) {
  Elem elem = build_.type(iv).elem;
  uint32_t top = build_.pc();
  uint32_t test = op.getUnsignedCmp() ? 0 : build_.emitJump(Op::ForTest, {iv, end});
  if (op.getUnsignedCmp()) test = build_.emitJump(Op::Branch, {compare(CompareOp::ULt, iv, end)});
  lowerBlock(*op.getBody());
  moveAll(useAll(op.getYieldedValues()), carried, false);
  build_.emit({Op::Binary, static_cast<uint8_t>(BinaryOp::AddI), elem}, {iv, step}, {iv});
  build_.setTarget(build_.emitJump(Op::Jump), top);
  build_.bindHere(test);
}

void FunctionLowering::lowerMaskedFor(scf::ForOp op, Register iv, Register end, Register step,
                                      ArrayRef<Register> carried) {
  Elem elem = build_.type(iv).elem;
  build_.emit({Op::LoopBegin}, {}, {});
  ++maskDepth_;
  uint32_t top = build_.pc();
  Register more = compare(op.getUnsignedCmp() ? CompareOp::ULt : CompareOp::SLt, iv, end);
  uint32_t test = build_.emitJump(Op::LoopTest, {more});
  lowerBlock(*op.getBody());
  moveAll(useAll(op.getYieldedValues()), carried, true);
  build_.emit({Op::Binary, static_cast<uint8_t>(BinaryOp::AddI), elem}, {iv, step}, {iv});
  build_.setTarget(build_.emitJump(Op::Jump), top);
  build_.bindHere(test);
  --maskDepth_;
  build_.emit({Op::LoopEnd}, {}, {});
}

// The condition runs at least once, so its invariant ops are computed ahead of the loop.
void FunctionLowering::hoistInvariants(scf::WhileOp op) {
  auto isOutside = [&](Value v) { return !op->isAncestor(v.getParentBlock()->getParentOp()); };
  for (Operation& inner : llvm::make_early_inc_range(op.getBeforeBody()->without_terminator())) {
    if (!isPure(&inner) || inner.getNumRegions() || !llvm::all_of(inner.getOperands(), isOutside)) continue;
    inner.moveBefore(op);
    lowerOp(&inner);
  }
}

void FunctionLowering::lowerWhile(scf::WhileOp op) {
  hoistInvariants(op);
  Registers carried = defineAll(op.getBeforeArguments());
  moveAll(useAll(op.getInits()), carried, false);
  if (divergence_.isLanes(op.getConditionOp().getCondition()))
    lowerMaskedWhile(op, carried);
  else
    lowerUniformWhile(op, carried);
}

// A value that the condition hands on keeps its register in the body and after the loop: nothing writes it there.
void FunctionLowering::lowerUniformWhile(scf::WhileOp op, ArrayRef<Register> carried) {
  uint32_t top = build_.pc();
  lowerBlock(*op.getBeforeBody());
  scf::ConditionOp condition = op.getConditionOp();
  for (auto [i, value] : llvm::enumerate(condition.getArgs())) {
    alias(op.getAfterArguments()[i], use(value));
    alias(op.getResult(i), use(value));
  }
  uint32_t exit = build_.emitJump(Op::Branch, {use(condition.getCondition())});
  lowerBlock(*op.getAfterBody());
  moveAll(useAll(op.getYieldOp().getOperands()), carried, false);
  build_.setTarget(build_.emitJump(Op::LoopBack, carried), top);
  build_.bindHere(exit);
}

// Every lane writes the results before the test, so a lane that leaves keeps those of its last round.
void FunctionLowering::lowerMaskedWhile(scf::WhileOp op, ArrayRef<Register> carried) {
  Registers results = defineAll(op.getResults());
  clear(results);
  for (auto [argument, reg] : llvm::zip(op.getAfterArguments(), results)) alias(argument, reg);
  build_.emit({Op::LoopBegin}, {}, {});
  ++maskDepth_;
  uint32_t top = build_.pc();
  lowerBlock(*op.getBeforeBody());
  scf::ConditionOp condition = op.getConditionOp();
  moveAll(useAll(condition.getArgs()), results, true);
  uint32_t test = build_.emitJump(Op::LoopTest, {use(condition.getCondition())});
  lowerBlock(*op.getAfterBody());
  moveAll(useAll(op.getYieldOp().getOperands()), carried, true);
  build_.setTarget(build_.emitJump(Op::LoopBack, carried), top);
  build_.bindHere(test);
  --maskDepth_;
  build_.emit({Op::LoopEnd}, {}, {});
}

}  // namespace tandem::lower
