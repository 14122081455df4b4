// Statements: dispatch, sequences, return, assert.
#include "compiler/frontend/emit/emitter.h"

namespace tandem::frontend {
using ast::Stmt;
using ast::StmtKind;

// A way out for statements that leave a loop early.
static constexpr char kLeaveLoop[] =
    "keep the result in a variable and end the loop by its condition (`while going and ...`)";

// Returns true for `name` and `name.member.other`: to evaluate it emits nothing.
static bool isPath(const ast::Expr& e) {
  if (e.kind == ast::ExprKind::Name) return true;
  return e.kind == ast::ExprKind::Attribute && isPath(*e.children[0]);
}

// Returns true of a function that is of no use without its result: `tl.advance`, and those under `@must_use_result`.
static bool mustBeUsed(const Value& callee) {
  auto isMarked = [](const FunctionPtr& f) { return f && f->node && hasDecorator(*f->node, "must_use_result"); };
  if (callee.is<const Builtin*>()) return callee.as<const Builtin*>()->name == "tl.advance";
  if (callee.is<FunctionPtr>()) return isMarked(callee.as<FunctionPtr>());
  if (!callee.is<BoundMethod>()) return false;
  const auto& [self, name] = callee.as<BoundMethod>();
  if (self->is<std::shared_ptr<BlockPointer>>()) return name == "advance";
  if (!self->is<std::shared_ptr<Aggregate>>()) return false;
  const auto& methods = self->as<std::shared_ptr<Aggregate>>()->type->methods;
  auto found = methods.find(name);
  return found != methods.end() && isMarked(found->second);
}

Flow Emitter::emitBody(const ast::Body& body, size_t from, const Rest* rest) {
  for (size_t i = from; i < body.size(); ++i) {
    Rest following{&body, i + 1, rest};
    Flow flow = emit(*body[i], &following);
    if (flow != Flow::Falls) return flow;
  }
  return Flow::Falls;
}

// Emits everything up to the end of the function.
Flow Emitter::emitRest(const Rest* rest) {
  for (; rest; rest = rest->outer) {
    Flow flow = emitBody(*rest->body, rest->from, rest->outer);
    if (flow != Flow::Falls) return flow;
  }
  return Flow::Falls;
}

Flow Emitter::emit(const Stmt& s, const Rest* rest) {
  spend();
  At at(*this, s.range);
  switch (s.kind) {
    case StmtKind::Pass: break;
    case StmtKind::Return: return emitReturn(s);
    case StmtKind::Assign: emitAssign(s); break;
    case StmtKind::AugAssign: emitAugAssign(s); break;
    case StmtKind::AnnAssign: emitAnnAssign(s); break;
    case StmtKind::If: return emitIf(s, rest);
    case StmtKind::For:
      if (frame_->constant) return emitConstantFor(s);
      emitFor(s);
      break;
    case StmtKind::While:
      if (frame_->constant) return emitConstantWhile(s);
      emitWhile(s);
      break;
    case StmtKind::With: emitWith(s, rest); break;
    case StmtKind::Assert: emitAssert(s); break;
    case StmtKind::Expr:
      if (const ast::Expr& e = *s.exprs[0]; e.kind != ast::ExprKind::String) {
        if (e.kind == ast::ExprKind::Call && isPath(*e.children[0]) && mustBeUsed(evaluate(*e.children[0])))
          cx.fail("unused-result",
                  "the result of `" + e.children[0]->text + "` is not used, and the call does no more");
        evaluate(e);
      }
      break;
    case StmtKind::Break:
      if (frame_->constant) return Flow::Broke;
      failUnsupported(s.range, "`break`", kLeaveLoop);
    case StmtKind::Continue:
      if (frame_->constant || frame_->inLoop) return Flow::Continued;
      failUnsupported(s.range, "`continue` that leaves more than the body of a loop");
    case StmtKind::Function: failUnsupported(s.range, "a nested function");
    case StmtKind::Class: failUnsupported(s.range, "a nested class");
    case StmtKind::Import:
    case StmtKind::ImportFrom: failUnsupported(s.range, "`import`");
    case StmtKind::Unsupported: failUnsupported(s.range, s.text);
  }
  return Flow::Falls;
}

void Emitter::failBlockedReturn(const SourceRange& range) {
  failUnsupported(range, std::string("`return` inside ") + frame_->blocksReturn,
                  std::string(kLeaveLoop) + ", and `return` after it");
}

Flow Emitter::emitReturn(const Stmt& s) {
  if (frame_->blocksReturn) failBlockedReturn(s.range);
  frame_->returned = s.exprs.empty() ? Value(None{}) : evaluate(*s.exprs[0]);
  bool isKernel = frame_->function && !frame_->caller;
  if (isKernel && !frame_->returned.isNone())
    cx.failAt(
        s.range, "kernel-return",
        "kernel `" + frame_->function->name + "` must not return a value, but returns " + describe(frame_->returned));
  return Flow::Returned;
}

void Emitter::emitAssert(const Stmt& s) {
  Value test = evaluate(*s.exprs[0]);
  std::string message;
  if (s.exprs.size() > 1) message = semantic::constexprString(cx, evaluate(*s.exprs[1]), "message");
  if (!test.isTensor()) {
    if (semantic::truth(cx, test)) return;
    std::string fails = message.empty() ? "assertion fails" : "assertion fails: " + message;
    // A function of constants runs now; a kernel's assertion is checked when the kernel runs, if at all, as in Triton.
    if (frame_->function && frame_->function->kind == Function::Kind::Constexpr)
      cx.failAt(s.exprs[0]->range, "static-assert", fails);
    cx.warn("static-assert", fails);
    test = semantic::toTensor(cx, Value(false));
  }
  if (!cx.options.debug) return;
  Tensor condition = test.as<Tensor>();
  if (!condition.type.dtype.isBool())
    condition = semantic::compare(cx, ast::CompareOp::Ne, test, Value(Int(0))).as<Tensor>();
  tandem::tile::AssertOp::create(cx.builder, cx.loc(), condition.value, cx.builder.getStringAttr(message),
                                 mlir::Value());
}

}  // namespace tandem::frontend
