// Sequences of compile time: displays, f-strings, comprehensions, subscripts.
#include "compiler/frontend/emit/emitter.h"
#include "compiler/frontend/semantic/format_spec.h"

namespace tandem::frontend {
using ast::Expr;
using ast::ExprKind;

Positional Emitter::elements(const std::vector<ast::ExprPtr>& exprs) {
  Positional out;
  for (const ast::ExprPtr& e : exprs) {
    if (e->kind != ExprKind::Starred) {
      out.push_back(evaluate(*e));
      continue;
    }
    for (Value& v : constantElements(evaluate(*e->children[0]), e->range)) out.push_back(std::move(v));
  }
  return out;
}

Value Emitter::fString(const Expr& e) { return fStringText(e.children, 0); }

std::string Emitter::fStringText(const std::vector<ast::ExprPtr>& parts, size_t from) {
  std::string out;
  for (size_t i = from; i < parts.size(); ++i) {
    const ast::ExprPtr& part = parts[i];
    if (part->kind == ExprKind::String) {
      out += part->text;
      continue;
    }
    bool formatted = part->kind == ExprKind::Unsupported && part->text == "`format spec`";
    Value v = evaluate(formatted ? *part->children[0] : *part);
    if (containsTensor(v)) cx.failConstexpr(part->range, "an f-string needs constants, but got " + describe(v), v);
    if (formatted) {
      At at(*this, part->range);
      out += formatConstant(cx, v, fStringText(part->children, 1));
    } else {
      out += v.is<std::string>() ? v.as<std::string>() : repr(v);
    }
  }
  return out;
}

// Pairs of key and value; a constant of compile time.
Value Emitter::dictionary(const Expr& e) {
  auto pairs = std::make_shared<Tuple>();
  pairs->isDictionary = true;
  for (size_t k = 0; k + 1 < e.children.size(); k += 2) {
    if (!e.children[k]) failUnsupported(e.children[k + 1]->range, "`**` in a dictionary");
    Value key = evaluate(*e.children[k]);
    pairs->elements.push_back(makeTuple({key, evaluate(*e.children[k + 1])}));
  }
  return pairs;
}

Value Emitter::comprehension(const Expr& e) {
  if (e.text != "list" && e.text != "generator") failUnsupported(e.range, "a " + e.text + " comprehension");
  auto list = std::make_shared<Tuple>();
  list->isList = true;
  Locals outer = frame_->locals;
  comprehensionClause(e, 0, list->elements);
  frame_->locals = std::move(outer);
  return list;
}

void Emitter::comprehensionClause(const Expr& e, size_t clause, Positional& out) {
  spend();
  if (clause == e.clauses.size()) {
    out.push_back(evaluate(*e.children[0]));
    return;
  }
  const ast::ForClause& c = e.clauses[clause];
  for (const Value& v : constantElements(evaluate(*c.iterable), c.iterable->range)) {
    if (c.target->kind == ExprKind::Name)
      frame_->locals[c.target->text] = {v, c.target->range, true, false};
    else
      assignSequence(*c.target, v);
    bool taken = true;
    for (const ast::ExprPtr& condition : c.conditions) {
      Value test = evaluate(*condition);
      if (test.isTensor())
        cx.failAt(condition->range, "constexpr-needed",
                  "a comprehension's condition needs a constant, but got " + describe(test));
      taken = taken && semantic::truth(cx, test);
    }
    if (taken) comprehensionClause(e, clause + 1, out);
  }
}

// Returns the elements that a loop at compile time runs over.
Positional Emitter::constantElements(const Value& iterable, const SourceRange& range) {
  At at(*this, range);
  if (iterable.isTuple()) {
    Positional out = iterable.elements();
    if (iterable.as<std::shared_ptr<Tuple>>()->isDictionary)
      for (Value& pair : out) pair = Value(pair.elements()[0]);
    return out;
  }
  if (iterable.is<std::string>()) {
    Positional out;
    for (char c : iterable.as<std::string>()) out.push_back(std::string(1, c));
    return out;
  }
  if (!iterable.is<std::shared_ptr<RangeValue>>())
    cx.fail("not-iterable", describe(iterable) + " cannot be iterated over");
  const RangeValue& r = *iterable.as<std::shared_ptr<RangeValue>>();
  Int start = semantic::constexprInt(cx, *r.start, "start");
  Int stop = semantic::constexprInt(cx, *r.stop, "stop");
  Int step = semantic::constexprInt(cx, *r.step, "step");
  if (step == 0) cx.fail("zero-step", "the step of a range must not be zero");
  Positional out;
  for (Int i = start; step > 0 ? i < stop : i > stop; i += step) {
    spend();
    out.push_back(i);
  }
  return out;
}

Value Emitter::slice(const Expr& e) {
  auto part = [&](size_t i) { return e.children[i] ? std::make_shared<Value>(evaluate(*e.children[i])) : nullptr; };
  return SliceValue{part(0), part(1), part(2)};
}

Value Emitter::subscript(const Expr& e) {
  Value base = evaluate(*e.children[0]);
  Value index = evaluate(*e.children[1]);
  if (base.is<std::shared_ptr<SmemBuffer>>()) return loadElement(*base.as<std::shared_ptr<SmemBuffer>>(), index);
  return semantic::subscript(cx, base, index);
}

}  // namespace tandem::frontend
