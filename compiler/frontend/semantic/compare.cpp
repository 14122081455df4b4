// Comparisons and truth of tensors; their results are int1.
#include "compiler/frontend/semantic/fold.h"
#include "compiler/frontend/semantic/typed_op.h"

namespace tandem::frontend::semantic {
namespace {

using ast::CompareOp;
namespace arith = mlir::arith;

// Every comparison with NaN is false, except `!=`.
arith::CmpFPredicate floatPredicate(CompareOp op) {
  switch (op) {
    case CompareOp::Eq: return arith::CmpFPredicate::OEQ;
    case CompareOp::Ne: return arith::CmpFPredicate::UNE;
    case CompareOp::Lt: return arith::CmpFPredicate::OLT;
    case CompareOp::Le: return arith::CmpFPredicate::OLE;
    case CompareOp::Gt: return arith::CmpFPredicate::OGT;
    default: return arith::CmpFPredicate::OGE;
  }
}

arith::CmpIPredicate intPredicate(CompareOp op, bool isSigned) {
  switch (op) {
    case CompareOp::Eq: return arith::CmpIPredicate::eq;
    case CompareOp::Ne: return arith::CmpIPredicate::ne;
    case CompareOp::Lt: return isSigned ? arith::CmpIPredicate::slt : arith::CmpIPredicate::ult;
    case CompareOp::Le: return isSigned ? arith::CmpIPredicate::sle : arith::CmpIPredicate::ule;
    case CompareOp::Gt: return isSigned ? arith::CmpIPredicate::sgt : arith::CmpIPredicate::ugt;
    default: return isSigned ? arith::CmpIPredicate::sge : arith::CmpIPredicate::uge;
  }
}

Tensor compareTensors(Context& context, CompareOp op, const Value& lhs, const Value& rhs) {
  auto [a, b] = unify(context, lhs, rhs);
  a = computable(context, a);
  b = computable(context, b);
  Type type = retyped(a.type, int1);
  if (a.type.dtype.isFloat())
    return {arith::CmpFOp::create(context.builder, context.loc(), floatPredicate(op), a.value, b.value), type};
  return {arith::CmpIOp::create(context.builder, context.loc(), intPredicate(op, a.type.dtype.isSigned()), a.value,
                                b.value),
          type};
}

bool isOrder(CompareOp op) { return op <= CompareOp::Ge; }

// The truth of one operand of `and` or `or`.
Tensor truthOf(Context& context, const Value& value) {
  return value.isTensor() ? nonZero(context, value.as<Tensor>()) : constant(context, truth(context, value), int1);
}

}  // namespace

Value compare(Context& context, CompareOp op, const Value& lhs, const Value& rhs) {
  if (!isOrder(op) || (!lhs.isTensor() && !rhs.isTensor())) return foldCompare(context, op, lhs, rhs);
  bool known = (lhs.isTensor() || lhs.isNumber()) && (rhs.isTensor() || rhs.isNumber());
  if (known) return compareTensors(context, op, lhs, rhs);
  if (lhs.isNone() || rhs.isNone())
    context.fail("type-mismatch",
                 std::string("cannot compare a tensor with `None` by `") + spelling(op) + "`; use `is None`");
  failOperands(context, spelling(op), lhs, rhs);
}

Value logical(Context& context, ast::BoolOpKind op, const Value& lhs, const Value& rhs) {
  auto [a, b] = broadcast(context, truthOf(context, lhs), truthOf(context, rhs));
  return op == ast::BoolOpKind::And ? elementwise<arith::AndIOp>(context, a, b)
                                    : elementwise<arith::OrIOp>(context, a, b);
}

Tensor condition(Context& context, const Value& value) {
  if (!value.isTensor() || value.as<Tensor>().type.isScalar()) return truthOf(context, value);
  const Tensor& tensor = value.as<Tensor>();
  if (!tensor.type.isTile() || tensor.type.numel() != 1)
    context.fail("type-mismatch",
                 "a condition is a scalar, not a " + describe(value) + "; use `tl.where`, or reduce it first");
  return truthOf(context, onlyElement(context, tensor));
}

}  // namespace tandem::frontend::semantic
