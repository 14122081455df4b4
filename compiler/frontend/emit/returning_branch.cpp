// An `if` may have a `return` inside: the statements after it move into the branches that fall through, so that both
// branches run to the end of the function and the `scf.if` yields the function's result.
#include "compiler/frontend/emit/emitter.h"
#include "compiler/frontend/semantic/typed_op.h"

namespace tandem::frontend {

Flow Emitter::emitReturningIf(const ast::Stmt& s, mlir::Value condition, const Rest* rest) {
  if (frame_->blocksReturn) {
    auto find = [&](auto& self, const ast::Body& body) -> const ast::Stmt* {
      for (const ast::StmtPtr& b : body) {
        if (b->kind == ast::StmtKind::Return) return b.get();
        if (const ast::Stmt* inner = self(self, b->body)) return inner;
        if (const ast::Stmt* inner = self(self, b->orElse)) return inner;
      }
      return nullptr;
    };
    const ast::Stmt* found = find(find, s.body);
    if (!found) found = find(find, s.orElse);
    failBlockedReturn(found ? found->range : s.range);
  }
  Locals before = std::move(frame_->locals);
  auto empty = mlir::scf::IfOp::create(cx.builder, cx.loc(), mlir::TypeRange{}, condition, true, true);
  Branch branches[] = {emitBranch("`if`", empty.thenBlock(), before, s.body, rest),
                       emitBranch("`else`", empty.elseBlock(), before, s.orElse, rest)};
  for (int i = 0; i < 2; ++i) {
    Branch &branch = branches[i], &other = branches[1 - i];
    if (!branch.fellOff || other.returned.isNone()) continue;
    decayIn(other, other.returned);
    mlir::OpBuilder::InsertionGuard guard(cx.builder);
    cx.builder.setInsertionPointToEnd(branch.block);
    branch.returned = undefinedLike(other.returned).value_or(None{});
  }
  bool differ = !identical(branches[0].returned, branches[1].returned);
  if (differ)
    for (Branch& b : branches) decayIn(b, b.returned);
  const Value& a = branches[0].returned;
  const Value& b = branches[1].returned;
  if (signature(a) != signature(b))
    cx.failAt(cx.place.range, "type-mismatch",
              "`" + frame_->function->name + "` returns " + signature(a) + " when the condition holds and " +
                  signature(b) + " when it does not",
              a.isNone() || b.isNone() ? "give every `return` of the function a value, or none" : "");
  Merged merged;
  mergeObjects(before, branches[0], branches[1], merged);
  if (differ) {
    flatten(a, merged.thenValues);
    flatten(b, merged.elseValues);
  }
  mlir::Operation* done = finishIf(empty, merged);
  frame_->locals = std::move(before);
  std::vector<mlir::Value> results(done->result_begin(), done->result_end());
  const mlir::Value* from = results.data();
  rebindMerged(merged, from);
  frame_->returned = differ ? rebuild(a, from) : a;
  return Flow::Returned;
}

// A path that ends without a `return`, where others return a value, returns an undefined value: nobody may use it, as
// in Triton. Returns nothing if the value has parts that are no tensors.
std::optional<Value> Emitter::undefinedLike(const Value& pattern) {
  if (pattern.isTensor()) return semantic::broadcastLike(cx, Int(0), pattern.as<Tensor>().type);
  if (!pattern.isTuple()) return {};
  auto tuple = std::make_shared<Tuple>(*pattern.as<std::shared_ptr<Tuple>>());
  for (Value& element : tuple->elements) {
    std::optional<Value> undefined = undefinedLike(element);
    if (!undefined) return {};
    element = *undefined;
  }
  return tuple;
}

}  // namespace tandem::frontend
