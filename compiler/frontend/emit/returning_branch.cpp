// An `if` with a `return` inside: the statements after it move into the branches that fall through, so that both branches
// run to the end of the function and the `scf.if` gives what the function returns.
#include "compiler/frontend/emit/emitter.h"

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
    failUnsupported(found ? found->range : s.range, std::string("`return` inside ") + frame_->blocksReturn);
  }
  Locals before = std::move(frame_->locals);
  auto empty = mlir::scf::IfOp::create(cx.builder, cx.loc(), mlir::TypeRange{}, condition, true, true);
  Branch branches[] = {emitBranch("`if`", empty.thenBlock(), before, s.body, rest, true),
                       emitBranch("`else`", empty.elseBlock(), before, s.orElse, rest, true)};
  bool differ = !identical(branches[0].returned, branches[1].returned);
  if (differ)
    for (Branch& b : branches) decayIn(b, b.returned);
  const Value& a = branches[0].returned;
  const Value& b = branches[1].returned;
  if (signature(a) != signature(b))
    cx.fail("type-mismatch", "`" + frame_->function->name + "` returns " + signature(a) + " when the condition holds and " + signature(b) +
                                 " when it does not");
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

}  // namespace tandem::frontend
