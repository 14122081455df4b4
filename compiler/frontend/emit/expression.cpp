// Expressions: dispatch, literals, names, lambdas.
#include "compiler/frontend/emit/emitter.h"

namespace tandem::frontend {
using ast::Expr;
using ast::ExprKind;

// The host has called its own functions on constants, `torch.finfo(torch.float32).max`, and gives the results by their places.
static std::optional<Value> hostConstant(Globals* globals, const SourceRange& at) {
  std::optional<Value> found = globals ? globals->find("host constants") : std::nullopt;
  if (!found) return {};
  const auto& known = found->as<std::shared_ptr<Namespace>>()->attributes;
  auto it = known.find(std::to_string(at.line) + ":" + std::to_string(at.column) + "-" + std::to_string(at.endLine) +
                       ":" + std::to_string(at.endColumn));
  return it == known.end() ? std::nullopt : std::optional<Value>(it->second);
}

Value Emitter::evaluate(const Expr& e) {
  At at(*this, e.range);
  bool isMade = e.kind != ExprKind::Name && e.kind != ExprKind::Attribute && e.kind != ExprKind::Subscript;
  return isMade ? made(evaluateNode(e)) : evaluateNode(e);
}

Value Emitter::evaluateNode(const Expr& e) {
  if (e.kind == ExprKind::Call || e.kind == ExprKind::Attribute)
    if (std::optional<Value> known = hostConstant(frame_->globals, e.range)) return *known;
  switch (e.kind) {
    case ExprKind::Name: return name(e);
    case ExprKind::None: return None{};
    case ExprKind::Bool: return e.boolean;
    case ExprKind::Int: return integer(e);
    case ExprKind::Float: return e.number;
    case ExprKind::String: return e.text;
    case ExprKind::Ellipsis: return EllipsisValue{};
    case ExprKind::FString: return fString(e);
    case ExprKind::Tuple: return makeTuple(elements(e.children));
    case ExprKind::List: {
      auto list = std::make_shared<Tuple>();
      list->elements = elements(e.children);
      list->isList = true;
      return list;
    }
    case ExprKind::Unary: return unary(e);
    case ExprKind::Binary: {
      Value lhs = evaluate(*e.children[0]);
      Value rhs = evaluate(*e.children[1]);
      return semantic::binary(cx, e.binary, lhs, rhs);
    }
    case ExprKind::BoolOp: return boolOp(e);
    case ExprKind::Compare: return compare(e);
    case ExprKind::Call: return callExpression(e);
    case ExprKind::Attribute: return attribute(e);
    case ExprKind::Subscript: return subscript(e);
    case ExprKind::Slice: return slice(e);
    case ExprKind::Conditional: return conditional(e);
    case ExprKind::Lambda: return lambda(e);
    case ExprKind::Comprehension: return comprehension(e);
    case ExprKind::Walrus: return walrus(e);
    case ExprKind::Dict: return dictionary(e);
    case ExprKind::Set: failUnsupported(e.range, "a set");
    case ExprKind::Starred: failUnsupported(e.range, "`*` here");
    case ExprKind::Unsupported: failUnsupported(e.range, e.text);
  }
  failUnsupported(e.range, "this expression");
}

Value Emitter::integer(const Expr& e) {
  std::string_view digits = e.text;
  unsigned base = 10;
  if (digits.size() > 2 && digits[0] == '0') {
    char letter = char(digits[1] | 0x20);
    base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 10;
    if (base != 10) digits.remove_prefix(2);
  }
  Int value = 0;
  for (char c : digits) {
    unsigned digit = c <= '9' ? unsigned(c - '0') : unsigned((c | 0x20) - 'a') + 10;
    value = value * base + digit;
    if (value > Int(1) << 96) cx.fail("integer-range", "integer literal is too large for any integer type");
  }
  return value;
}

Value Emitter::name(const Expr& e) {
  if (auto it = frame_->locals.find(e.text); it != frame_->locals.end() && it->second.undefined) {
    if (it->second.lastOf) return lastValue(*it->second.lastOf);
    failWithNotes(e.range, "maybe-undefined", "`" + e.text + "` may be undefined here",
                  {note(it->second.definedAt, "`" + e.text + "` is assigned only on some paths")});
  }
  std::optional<Value> found = findName(e.text);
  if (!found) failUnknownName(e.text);
  if (found->is<Foreign>()) failForeign(e.text, found->as<Foreign>());
  return *found;
}

std::optional<Value> Emitter::findName(const std::string& name) {
  if (auto it = frame_->locals.find(name); it != frame_->locals.end()) return it->second.value;
  if (frame_->globals)
    if (std::optional<Value> v = frame_->globals->find(name)) return v;
  if (const Builtin* b = findPythonBuiltin(name)) return Value(b);
  return {};
}

Value Emitter::walrus(const Expr& e) {
  Value v = evaluate(*e.children[1]);
  assign(*e.children[0], v);
  return frame_->locals.at(e.children[0]->text).value;
}

Value Emitter::lambda(const Expr& e) {
  auto f = std::make_shared<Function>();
  f->name = "<lambda>";
  f->kind = Function::Kind::Lambda;
  f->module = frame_->module;
  f->lambda = &e;
  f->globals = frame_->globals;
  f->captured = frame_->locals;
  return FunctionPtr(f);
}

}  // namespace tandem::frontend
