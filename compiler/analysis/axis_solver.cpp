// The fixpoint over structured control flow, and the promises of the kernel's author.
#include "compiler/dialect/tile/attributes.h"
#include "compiler/analysis/axis_solver.h"
#include "compiler/analysis/axis_transfer.h"
#include "compiler/dialect/tile/tile.h"
#include <llvm/ADT/TypeSwitch.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/IR/Matchers.h>

namespace tandem::analysis {
using namespace mlir;

// One number a dimension; nothing for another count.
static SmallVector<int64_t, 2> promise(Operation* op, tile::Promise what, unsigned rank) {
  SmallVector<int64_t, 2> numbers(rank, 1);
  DenseI32ArrayAttr given = tile::promiseOf(op, what);
  if (!given || given.size() != rank) return numbers;
  for (auto [number, promised] : llvm::zip_equal(numbers, given.asArrayRef()))
    if (promised > 0) number = powerOfTwoIn(promised);
  return numbers;
}

static AxisInfo withPromises(AxisInfo info, Operation* op) {
  auto divisibility = promise(op, tile::Promise::Divisibility, info.rank());
  auto contiguity = promise(op, tile::Promise::Contiguity, info.rank());
  auto constancy = promise(op, tile::Promise::Constancy, info.rank());
  for (auto [number, dim] : llvm::enumerate(info.dims)) {
    dim.divisibility = std::max(dim.divisibility, divisibility[number]);
    dim.contiguity = std::max(dim.contiguity, contiguity[number]);
    dim.constancy = std::max(dim.constancy, constancy[number]);
  }
  return info;
}

void AxisInfoSolver::run() {
  if (function_.isExternal()) return;
  findPromises();
  setArguments();
  function_->walk<WalkOrder::PreOrder>([&](Operation* op) { visitLater(op); });
  while (!left_.empty()) {
    Operation* op = left_.front();
    left_.pop_front();
    isLeft_.erase(op);
    visit(op);
  }
}

// The value that a condition says to be 0 or more; null where it says something else.
static Value nonNegativeIf(Value condition) {
  using enum arith::CmpIPredicate;
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  if (!compare) return nullptr;
  arith::CmpIPredicate predicate = compare.getPredicate();
  Value value = compare.getLhs(), least = compare.getRhs();
  if (predicate == sle || predicate == slt) std::swap(value, least);
  bool excludes = predicate == sgt || predicate == slt;
  APInt number;
  if (!(excludes || predicate == sge || predicate == sle) || !matchPattern(least, m_ConstantInt(&number)))
    return nullptr;
  return number.getSExtValue() >= (excludes ? -1 : 0) ? value : Value();
}

// Returns the number that all elements of a tile are, or the value itself if it is not known to repeat one.
static Value repeated(Value value) {
  while (Operation* op = value.getDefiningOp())
    if (isa<tile::SplatOp, tile::BroadcastOp, tile::ExpandDimsOp>(op))
      value = op->getOperand(0);
    else
      break;
  return value;
}

// Returns true if `op` stands where `value` is computed, or in loops with a number of iterations there.
static bool isBesideOrInLoops(Operation* op, Value value) {
  while (op->getBlock() != value.getParentBlock()) {
    op = op->getParentOp();
    if (!isa_and_nonnull<scf::ForOp>(op)) return false;
  }
  return true;
}

// Divisors are taken to be positive here as well: also of a loop's quotients, as the numbers of tiles of a persistent program are.
void AxisInfoSolver::findPromises() {
  function_->walk([&](Operation* op) {
    if (auto assume = dyn_cast<tile::AssumeOp>(op)) {
      Value value = nonNegativeIf(assume.getCondition());
      if (value && value.getParentBlock() == op->getBlock()) promised_.insert(value);
    } else if (isa<arith::DivSIOp, arith::RemSIOp>(op)) {
      Value divisor = repeated(op->getOperand(1));
      if (isBesideOrInLoops(op, divisor)) promised_.insert(divisor);
    }
  });
}

void AxisInfoSolver::visitLater(Operation* op) {
  if (isLeft_.insert(op).second) left_.push_back(op);
}

void AxisInfoSolver::setArguments() {
  for (Block& block : function_.getBody()) setUnknown(block.getArguments());
  for (BlockArgument argument : function_.getArguments()) {
    std::optional<int64_t> multiple = tile::multipleOf(argument);
    if (!multiple || *multiple <= 0) continue;
    AxisInfo info = unknownInfo(argument.getType());
    for (DimInfo& dim : info.dims) dim.divisibility = powerOfTwoIn(*multiple);
    set(argument, std::move(info));
  }
}

void AxisInfoSolver::set(Value value, AxisInfo info) {
  info.nonNegative |= promised_.contains(value);
  info = settled(std::move(info), value.getType());
  auto [at, isNew] = known_.try_emplace(value, info);
  if (!isNew && at->second == info) return;
  at->second = std::move(info);
  for (Operation* user : value.getUsers())
    visitLater(user->hasTrait<OpTrait::IsTerminator>() ? user->getParentOp() : user);
}

void AxisInfoSolver::flow(Value source, Value target) {
  auto from = known_.find(source);
  if (from == known_.end()) return;
  auto to = known_.find(target);
  set(target, to == known_.end() ? from->second : joined(to->second, from->second, target.getType()));
}

void AxisInfoSolver::setUnknown(ValueRange values) {
  for (Value value : values) set(value, unknownInfo(value.getType()));
}

bool AxisInfoSolver::allComputed(ValueRange values) const {
  return llvm::all_of(values, [&](Value v) { return known_.contains(v); });
}

void AxisInfoSolver::visit(Operation* op) {
  llvm::TypeSwitch<Operation*>(op)
      .Case<func::FuncOp>([](auto) {})
      .Case<scf::ForOp>([&](auto o) { visitFor(o); })
      .Case<scf::WhileOp>([&](auto o) { visitWhile(o); })
      .Case<scf::IfOp>([&](auto o) { visitIf(o); })
      .Default([&](Operation* o) { visitPlain(o); });
}

AxisInfo AxisInfoSolver::induction(scf::ForOp op) const {
  const AxisInfo &lower = known_.at(op.getLowerBound()), &step = known_.at(op.getStep());
  AxisInfo info = unknownInfo(op.getInductionVar().getType());
  info.dims[0].divisibility = std::min(lower.divisibility(0), step.divisibility(0));
  info.nonNegative = lower.nonNegative;
  return info;
}

void AxisInfoSolver::visitFor(scf::ForOp op) {
  if (allComputed({op.getLowerBound(), op.getStep()})) set(op.getInductionVar(), induction(op));
  for (auto [init, yielded, carried, result] :
       llvm::zip_equal(op.getInitArgs(), op.getYieldedValues(), op.getRegionIterArgs(), op.getResults())) {
    flow(init, carried);
    flow(yielded, carried);
    flow(carried, result);
  }
}

void AxisInfoSolver::visitWhile(scf::WhileOp op) {
  for (auto [init, yielded, carried] :
       llvm::zip_equal(op.getInits(), op.getYieldOp().getOperands(), op.getBeforeArguments())) {
    flow(init, carried);
    flow(yielded, carried);
  }
  for (auto [passed, inside, result] :
       llvm::zip_equal(op.getConditionOp().getArgs(), op.getAfterArguments(), op.getResults())) {
    flow(passed, inside);
    flow(passed, result);
  }
}

void AxisInfoSolver::visitIf(scf::IfOp op) {
  if (op.getNumResults() == 0) return;
  for (auto [first, second, result] :
       llvm::zip_equal(op.thenYield().getOperands(), op.elseYield().getOperands(), op.getResults())) {
    flow(first, result);
    flow(second, result);
  }
}

void AxisInfoSolver::visitPlain(Operation* op) {
  for (Region& region : op->getRegions())
    for (Block& block : region) setUnknown(block.getArguments());
  if (op->getNumResults() == 0 || !allComputed(op->getOperands())) return;
  auto tracked = [](Value v) { return isTracked(v.getType()); };
  if (!llvm::all_of(op->getResults(), tracked) || !llvm::all_of(op->getOperands(), tracked))
    return setUnknown(op->getResults());
  auto of = [&](Value value) -> const AxisInfo& { return known_.at(value); };
  std::optional<AxisInfo> info;
  if (op->getNumOperands() == 2 && of(op->getOperand(0)).constant && of(op->getOperand(1)).constant)
    if (auto value = foldIntegers(op, *of(op->getOperand(0)).constant, *of(op->getOperand(1)).constant))
      info = constantInfo(op->getResult(0).getType(), *value);
  for (auto family : {sumInfo, divisionInfo, choiceInfo, sourceInfo, shapeInfo, pointerInfo})
    if (!info) info = family(op, of);
  if (!info) info = unknownInfo(op->getResult(0).getType());
  if (op->getNumResults() == 1) info = withPromises(std::move(*info), op);
  for (Value result : op->getResults())
    set(result, info->rank() == unknownInfo(result.getType()).rank() ? *info : unknownInfo(result.getType()));
}

}  // namespace tandem::analysis
