// Operators that Python does not evaluate strictly: boolean operators, comparisons, conditionals. The rest is
// semantic's.
#include "compiler/frontend/emit/emitter.h"
#include "compiler/frontend/emit/equality.h"

namespace tandem::frontend {
using ast::CompareOp;
using ast::Expr;

// A constant decides where it stands, also behind values of the kernel; else it has no part in them.
Value Emitter::boolOp(const Expr& e) {
  bool stopsAt = e.boolOp == ast::BoolOpKind::Or;
  Value last;
  std::optional<Value> tensors;
  for (const auto& child : e.children) {
    last = evaluate(*child);
    if (last.isTensor())
      tensors = tensors ? semantic::logical(cx, e.boolOp, *tensors, last) : last;
    else if (semantic::truth(cx, last) == stopsAt)
      return last;
  }
  return tensors ? *tensors : last;
}

Value Emitter::compare(const Expr& e) {
  Value lhs = evaluate(*e.children[0]);
  std::optional<Value> all;
  for (size_t i = 0; i < e.compareOps.size(); ++i) {
    Value rhs = evaluate(*e.children[i + 1]);
    Value one = compareOne(e.compareOps[i], lhs, rhs);
    if (!all)
      all = one;
    else if (!all->isTensor())
      all = semantic::truth(cx, *all) ? one : *all;
    else
      all = semantic::logical(cx, ast::BoolOpKind::And, *all, one);
    if (!all->isTensor() && !semantic::truth(cx, *all)) return *all;
    lhs = rhs;
  }
  return *all;
}

Value Emitter::compareOne(CompareOp op, const Value& lhs, const Value& rhs) {
  switch (op) {
    case CompareOp::Is: return sameConstant(lhs, rhs);
    case CompareOp::IsNot: return !sameConstant(lhs, rhs);
    case CompareOp::In:
    case CompareOp::NotIn: {
      bool found = false;
      if (lhs.is<std::string>() && rhs.is<std::string>()) {
        found = rhs.as<std::string>().find(lhs.as<std::string>()) != std::string::npos;
      } else if (rhs.isTuple()) {
        for (const Value& v : rhs.elements()) found |= sameConstant(lhs, v);
      } else {
        cx.fail("type-error", "`in` needs a tuple or a string, but its right side is " + describe(rhs));
      }
      return found == (op == CompareOp::In);
    }
    default: break;
  }
  auto arithmetic = [](const Value& v) { return v.isTensor() || v.isNumber(); };
  if (arithmetic(lhs) && arithmetic(rhs)) return semantic::compare(cx, op, lhs, rhs);
  if (op == CompareOp::Eq) return sameConstant(lhs, rhs);
  if (op == CompareOp::Ne) return !sameConstant(lhs, rhs);
  return semantic::compare(cx, op, lhs, rhs);
}

Value Emitter::unary(const Expr& e) {
  Value v = evaluate(*e.children[0]);
  if (e.unary == ast::UnaryOp::Not && !v.isTensor()) return !semantic::truth(cx, v);
  return semantic::unary(cx, e.unary, v);
}

Value Emitter::conditional(const Expr& e) {
  Value test = evaluate(*e.children[0]);
  if (!test.isTensor()) return evaluate(*e.children[semantic::truth(cx, test) ? 1 : 2]);
  mlir::Value condition;
  {
    At at(*this, e.children[0]->range);
    condition = semantic::condition(cx, test).value;
  }
  mlir::Location loc = cx.loc();
  auto empty = mlir::scf::IfOp::create(cx.builder, loc, mlir::TypeRange{}, condition, true, true);
  Value sides[2];
  for (int i = 0; i < 2; ++i) {
    cx.builder.setInsertionPointToEnd(&empty->getRegion(i).front());
    sides[i] = decay(evaluate(*e.children[i + 1]));
  }
  if (signature(sides[0]) != signature(sides[1]))
    failWithNotes(
        e.children[2]->range, "type-mismatch",
        "the sides of a conditional expression have types " + signature(sides[0]) + " and " + signature(sides[1]),
        {note(e.children[1]->range, "the other side is here")});
  Merged merged;
  flatten(sides[0], merged.thenValues);
  flatten(sides[1], merged.elseValues);
  mlir::Operation* done = finishIf(empty, merged);
  std::vector<mlir::Value> results(done->result_begin(), done->result_end());
  const mlir::Value* from = results.data();
  return rebuild(sides[0], from);
}

}  // namespace tandem::frontend
