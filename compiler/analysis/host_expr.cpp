// Integer and pointer arithmetic over kernel arguments, as a postfix expression.
#include "compiler/analysis/host_expr.h"
#include "compiler/dialect/dist/dist.h"
#include "compiler/dialect/tile/tile.h"
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/IR/IRMapping.h>
#include <mlir/IR/Matchers.h>

namespace tandem::analysis {
using namespace mlir;
using abi::HostExpr;
using HostOp = abi::HostExpr::Op;
namespace {

std::optional<HostOp> binaryOf(Operation* op) {
  if (isa<arith::AddIOp>(op)) return HostOp::Add;
  if (isa<arith::SubIOp>(op)) return HostOp::Sub;
  if (isa<arith::MulIOp>(op)) return HostOp::Mul;
  if (isa<arith::DivSIOp>(op)) return HostOp::Div;
  if (isa<arith::RemSIOp>(op)) return HostOp::Rem;
  if (isa<arith::MinSIOp>(op)) return HostOp::Min;
  if (isa<arith::MaxSIOp>(op)) return HostOp::Max;
  return std::nullopt;
}

constexpr int kMaxDepth = 32;

// The condition that decides between two values for `value`. Null: nothing does.
Value conditionOf(Value value) {
  if (auto select = value.getDefiningOp<arith::SelectOp>()) return select.getCondition();
  if (auto branch = value.getDefiningOp<scf::IfOp>()) return branch.getCondition();
  return nullptr;
}

Value sideOf(Value value, bool holds) {
  if (auto select = value.getDefiningOp<arith::SelectOp>())
    return holds ? select.getTrueValue() : select.getFalseValue();
  auto branch = value.getDefiningOp<scf::IfOp>();
  return (holds ? branch.thenYield() : branch.elseYield()).getOperand(cast<OpResult>(value).getResultNumber());
}

// Looks through tokens and decided choices.
Value resolved(Value value, const Facts& facts) {
  while (true) {
    if (auto consume = value.getDefiningOp<dist::ConsumeTokenOp>()) {
      value = consume.getValue();
      continue;
    }
    Value condition = conditionOf(value);
    auto fact = llvm::find_if(facts, [&](const auto& f) { return f.first == condition; });
    if (!condition || fact == facts.end()) return value;
    value = sideOf(value, fact->second);
  }
}

// False when a part is not known on the host. 32-bit arithmetic is taken not to overflow, as for addresses everywhere.
bool append(Value value, const Facts& facts, HostExpr& out, int depth) {
  if (depth > kMaxDepth) return false;
  value = resolved(value, facts);
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return out.steps.push_back({HostOp::Constant, constant.getSExtValue()}), true;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (!isa<func::FuncOp>(argument.getOwner()->getParentOp()) || isa<FloatType>(argument.getType())) return false;
    return out.steps.push_back({HostOp::Argument, argument.getArgNumber()}), true;
  }
  Operation* op = value.getDefiningOp();
  if (isa<arith::ExtSIOp, arith::IndexCastOp>(op)) return append(op->getOperand(0), facts, out, depth + 1);
  if (auto add = dyn_cast<tile::AddPtrOp>(op)) {
    Type pointee = cast<tile::PtrType>(add.getPointer().getType()).getPointee();
    if (!append(add.getPointer(), facts, out, depth + 1) || !append(add.getOffset(), facts, out, depth + 1))
      return false;
    out.steps.push_back({HostOp::Constant, std::max<int64_t>(1, pointee.getIntOrFloatBitWidth() / 8)});
    out.steps.push_back({HostOp::Mul});
    return out.steps.push_back({HostOp::Add}), true;
  }
  std::optional<HostOp> binary = binaryOf(op);
  if (!binary || !append(op->getOperand(0), facts, out, depth + 1) || !append(op->getOperand(1), facts, out, depth + 1))
    return false;
  return out.steps.push_back({*binary}), true;
}

Value firstUndecided(Value value, const Facts& facts, int depth) {
  value = resolved(value, facts);
  if (Value condition = conditionOf(value)) return condition;
  Operation* op = value.getDefiningOp();
  if (!op || depth > kMaxDepth || op->getNumRegions()) return nullptr;
  for (Value operand : op->getOperands())
    if (Value condition = firstUndecided(operand, facts, depth + 1)) return condition;
  return nullptr;
}

}  // namespace

std::optional<HostExpr> hostExpr(Value value, const Facts& facts) {
  HostExpr out;
  if (!append(value, facts, out, 0)) return std::nullopt;
  return out;
}

Value undecided(Value value, const Facts& facts) { return firstUndecided(value, facts, 0); }

Value computeAnew(Value value, const Facts& facts, OpBuilder& builder) {
  value = resolved(value, facts);
  Operation* op = value.getDefiningOp();
  if (!op) return value;
  IRMapping mapping;
  for (Value operand : op->getOperands()) mapping.map(operand, computeAnew(operand, facts, builder));
  return builder.clone(*op, mapping)->getResult(0);
}

}  // namespace tandem::analysis
