// Assignments: some values become tensors, some stay constants, and some targets are not names.
#include "compiler/frontend/builtin/vectors.h"
#include "compiler/frontend/emit/emitter.h"

namespace tandem::frontend {
using ast::Expr;
using ast::ExprKind;
using ast::Stmt;

// A Python number that a variable holds is a tensor, unless the variable is declared constexpr.
Value Emitter::decay(const Value& value) {
  if (frame_->constant) return value;
  if (value.isNumber()) return semantic::toTensor(cx, value);
  if (!value.isTuple()) return value;
  auto t = std::make_shared<Tuple>(*value.as<std::shared_ptr<Tuple>>());
  for (Value& e : t->elements) e = t->isDictionary ? makeTuple({e.elements()[0], decay(e.elements()[1])}) : decay(e);
  return t;
}

void Emitter::emitAssign(const Stmt& s) {
  Value v = evaluate(*s.exprs[0]);
  for (size_t i = 1; i < s.exprs.size(); ++i) {
    At at(*this, s.exprs[0]->range);
    assign(*s.exprs[i], v);
  }
}

void Emitter::emitAugAssign(const Stmt& s) {
  const Expr& target = *s.exprs[0];
  Value lhs = evaluate(target);
  Value rhs = evaluate(*s.exprs[1]);
  assign(target, made(semantic::binary(cx, s.binary, lhs, rhs)));
}

void Emitter::emitAnnAssign(const Stmt& s) {
  if (s.exprs.size() < 3) return;
  Value v = evaluate(*s.exprs[2]);
  // A value of run time under a `tl.constexpr` annotation stays a value of run time, as in Triton.
  if (!isConstexprAnnotation(s.exprs[1]) || s.exprs[0]->kind != ExprKind::Name) {
    At at(*this, s.exprs[2]->range);
    return assign(*s.exprs[0], v);
  }
  assignName(*s.exprs[0], v, true);
}

void Emitter::assign(const Expr& target, const Value& value) {
  switch (target.kind) {
    case ExprKind::Name: return assignName(target, value, false);
    case ExprKind::Tuple:
    case ExprKind::List: return assignSequence(target, value);
    case ExprKind::Attribute: return assignAttribute(target, value);
    case ExprKind::Subscript: return assignSubscript(target, value);
    default: failUnsupported(target.range, "this assignment target");
  }
}

void Emitter::assignName(const Expr& target, const Value& value, bool declaredConstexpr) {
  frame_->locals[target.text] = {declaredConstexpr ? value : decay(value), target.range, declaredConstexpr, false};
}

void Emitter::assignSequence(const Expr& target, const Value& value) {
  if (!value.isTuple())
    cx.failAt(target.range, "type-error", "cannot unpack " + describe(value) + " into several variables");
  std::shared_ptr<Tuple> held = value.as<std::shared_ptr<Tuple>>();  // the targets may name the variable that has it
  const Positional& values = held->elements;
  size_t count = target.children.size(), star = count;
  for (size_t i = 0; i < count; ++i)
    if (target.children[i]->kind == ExprKind::Starred) star = i;
  size_t needed = star == count ? count : count - 1;  // Of more values than variables Triton takes the first ones.
  if (values.size() < needed)
    cx.failAt(target.range, "unpack-count",
              "cannot unpack " + std::to_string(values.size()) + " values into " + std::to_string(needed) +
                  (star == count ? "" : " or more") + " variables");
  size_t extra = values.size() + 1 - count, at = 0;
  for (size_t i = 0; i < count; ++i) {
    if (i != star) {
      assign(*target.children[i], values[at++]);
      continue;
    }
    auto taken = std::make_shared<Tuple>();
    taken->isList = true;
    taken->elements.assign(values.begin() + ptrdiff_t(at), values.begin() + ptrdiff_t(at + extra));
    at += extra;
    assign(*target.children[i]->children[0], Value(taken));
  }
}

void Emitter::assignAttribute(const Expr& target, const Value& value) {
  Value base = evaluate(*target.children[0]);
  if (!base.is<std::shared_ptr<Aggregate>>())
    cx.failAt(target.range, "unsupported-feature", "an attribute of " + describe(base) + " cannot be assigned");
  Aggregate& a = *base.as<std::shared_ptr<Aggregate>>();
  const AggregateClass::Field* field = a.type->findField(target.text);
  if (!field) {
    std::vector<std::string> candidates;
    for (const AggregateClass::Field& f : a.type->fields) candidates.push_back(f.name);
    At at(*this, target.range);
    failUnknownMember("aggregate `" + a.type->name + "`", target.text, candidates);
  }
  if (field->isConstexpr && containsTensor(value))
    cx.failConstexpr(
        target.range,
        "field `" + field->name + "` of `" + a.type->name + "` needs a constant, but got " + describe(value), value);
  bool constant = frame_->constant;
  frame_->constant = constant && !frame_->keepsNumbers;
  a.fields[target.text] = field->isConstexpr ? value : decay(value);
  frame_->constant = constant;
}

// The vector with one element replaced; the index is a constant.
Value Emitter::withElement(const Tensor& vector, const Expr& place, const Value& value) {
  At at(*this, place.range);
  int64_t index = semantic::constexprInt(cx, evaluate(place), "index"), length = vector.type.vectorLength;
  if (index < -length || index >= length)
    cx.fail("out-of-range",
            "index " + std::to_string(index) + " is outside a vector of " + std::to_string(length) + " elements");
  std::vector<Tensor> elements = builtin::elements(cx, vector);
  Tensor given = value.isTensor() ? value.as<Tensor>() : semantic::constant(cx, value, vector.type.dtype);
  if (!given.type.isScalar())
    cx.fail("type-mismatch", "an element of a vector must be a scalar, but is " + describe(value));
  elements[size_t(index < 0 ? index + length : index)] = semantic::cast(cx, given, vector.type.dtype);
  return builtin::makeVector(cx, elements);
}

void Emitter::assignSubscript(const Expr& target, const Value& value) {
  Value base = evaluate(*target.children[0]);
  if (base.isTensor() && base.as<Tensor>().type.isVector() && target.children[0]->kind == ExprKind::Name)
    return assignName(*target.children[0], withElement(base.as<Tensor>(), *target.children[1], value), false);
  if (!base.is<std::shared_ptr<SmemBuffer>>())
    cx.failAt(target.range, "unsupported-feature",
              "elements of " + describe(base) +
                  " cannot be assigned; only those of shared memory and, in `simt_exec_region`, of tensors can");
  Value index = evaluate(*target.children[1]);
  At at(*this, target.range);
  storeElement(*base.as<std::shared_ptr<SmemBuffer>>(), index, value);
}

}  // namespace tandem::frontend
