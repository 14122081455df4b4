// `if`: a constant test picks a branch; otherwise both are emitted and the variables that they assign are merged.
#include "compiler/frontend/emit/assigned_names.h"
#include "compiler/frontend/emit/emitter.h"

namespace tandem::frontend {
using ast::Stmt;

Flow Emitter::emitIf(const Stmt& s, const Rest* rest) {
  Value test = evaluate(*s.exprs[0]);
  if (!test.isTensor()) return emitBody(semantic::truth(cx, test) ? s.body : s.orElse, 0, rest);
  if (frame_->constant && !frame_->keepsNumbers)
    cx.failAt(s.exprs[0]->range, "constexpr-needed",
              "a function of compile time needs a constant, but got " + describe(test));
  mlir::Value condition;
  {
    At at(*this, s.exprs[0]->range);
    condition = semantic::condition(cx, test).value;
  }
  if (containsReturn(s.body) || containsReturn(s.orElse)) return emitReturningIf(s, condition, rest);
  bool continues = frame_->inLoop && (containsContinue(s.body) || containsContinue(s.orElse));
  emitDynamicIf(s, condition, continues ? rest : nullptr);
  return continues ? Flow::Continued : Flow::Falls;
}

Emitter::Branch Emitter::emitBranch(const char* name, mlir::Block* block, const Locals& before, const ast::Body& body,
                                    const Rest* rest) {
  Branch branch;
  branch.name = name;
  branch.block = block;
  mlir::OpBuilder::InsertionGuard guard(cx.builder);
  cx.builder.setInsertionPointToEnd(block);
  frame_->locals = cloneLocals(before, branch.clones);
  frame_->returned = None{};
  Flow flow = emitBody(body, 0, rest);
  if (rest && flow == Flow::Falls) branch.fellOff = emitRest(rest) == Flow::Falls;
  branch.locals = std::move(frame_->locals);
  branch.returned = std::move(frame_->returned);
  return branch;
}

// With `rest`, a branch that does not continue goes on to the end of the loop's body.
void Emitter::emitDynamicIf(const Stmt& s, mlir::Value condition, const Rest* rest) {
  Locals before = std::move(frame_->locals);
  auto empty = mlir::scf::IfOp::create(cx.builder, cx.loc(), mlir::TypeRange{}, condition, true, true);
  Branch thenBranch = emitBranch("`if`", empty.thenBlock(), before, s.body, rest);
  Branch elseBranch = emitBranch("`else`", empty.elseBlock(), before, s.orElse, rest);
  frame_->locals = before;
  Merged merged;
  mergeObjects(before, thenBranch, elseBranch, merged);
  std::set<std::string> names;
  for (const auto& [name, local] : thenBranch.locals) names.insert(name);
  for (const auto& [name, local] : elseBranch.locals) names.insert(name);
  // At the end of a loop's body only what it carries counts.
  auto isNeeded = [&](const std::string& name) { return !rest || !frame_->carried || frame_->carried->contains(name); };
  for (const std::string& name : names)
    if (isNeeded(name)) mergeName(name, before, thenBranch, elseBranch, merged);
  mlir::Operation* done = finishIf(empty, merged);
  std::vector<mlir::Value> results(done->result_begin(), done->result_end());
  const mlir::Value* from = results.data();
  rebindMerged(merged, from);
}

void Emitter::decayIn(const Branch& branch, Value& value) {
  mlir::OpBuilder::InsertionGuard guard(cx.builder);
  cx.builder.setInsertionPointToEnd(branch.block);
  value = decay(value);
}

// An object that exists before the `if` may change in a branch: every holder of it must see the change.
void Emitter::mergeObjects(const Locals& before, Branch& thenBranch, Branch& elseBranch, Merged& merged) {
  std::set<const Aggregate*> seen;
  for (const auto& [name, local] : before) {
    // An undefined local is one that a loop's body has made: nobody may use its value behind the loop.
    if (local.undefined || !local.value.is<std::shared_ptr<Aggregate>>()) continue;
    const std::shared_ptr<Aggregate>& object = local.value.as<std::shared_ptr<Aggregate>>();
    if (!seen.insert(object.get()).second) continue;
    Value a = thenBranch.clones.at(object), b = elseBranch.clones.at(object);
    if (identical(a, b) && identical(a, Value(object))) continue;
    if (signature(a) != signature(b))
      failWithNotes(
          cx.place.range, "type-mismatch",
          "`" + name + "` is " + signature(a) + " when the condition holds and " + signature(b) + " when it does not",
          {note(local.definedAt, "`" + name + "` is assigned here")});
    flatten(a, merged.thenValues);
    flatten(b, merged.elseValues);
    merged.objects.emplace_back(object, a);
  }
}

void Emitter::mergeName(const std::string& name, const Locals& before, Branch& thenBranch, Branch& elseBranch,
                        Merged& merged) {
  auto t = thenBranch.locals.find(name), e = elseBranch.locals.find(name);
  bool inThen = t != thenBranch.locals.end() && !t->second.undefined,
       inElse = e != elseBranch.locals.end() && !e->second.undefined;
  if (!inThen || !inElse) {
    auto old = before.find(name);
    bool untouched = t != thenBranch.locals.end() && e != elseBranch.locals.end() && old != before.end() &&
                     old->second.lastOf && t->second.lastOf == old->second.lastOf &&
                     e->second.lastOf == old->second.lastOf;
    if (untouched) return;
    const Local& only = inThen || e == elseBranch.locals.end() ? t->second : e->second;
    frame_->locals[name] = {None{}, only.definedAt, false, true};
    return;
  }
  Local& a = t->second;
  Local& b = e->second;
  for (const auto& [original, copy] : thenBranch.clones) {
    bool sameObject = a.value.is<std::shared_ptr<Aggregate>>() && a.value.as<std::shared_ptr<Aggregate>>() == copy &&
                      b.value.is<std::shared_ptr<Aggregate>>() &&
                      b.value.as<std::shared_ptr<Aggregate>>() == elseBranch.clones.at(original);
    if (!sameObject) continue;
    frame_->locals[name] = a;
    frame_->locals[name].value = original;
    return;
  }
  if (identical(a.value, b.value)) {
    auto old = before.find(name);
    bool unchanged = old != before.end() && !old->second.undefined && identical(old->second.value, a.value);
    if (!unchanged) frame_->locals[name] = a;
    return;
  }
  if (!a.declaredConstexpr || !b.declaredConstexpr) {
    decayIn(thenBranch, a.value);
    decayIn(elseBranch, b.value);
  }
  if (signature(a.value) != signature(b.value)) failBranchTypes(name, a, b, before);
  flatten(a.value, merged.thenValues);
  flatten(b.value, merged.elseValues);
  merged.names.emplace_back(name, a.value);
  auto old = before.find(name);
  SourceRange at = old != before.end() && old->second.definedAt.line == a.definedAt.line &&
                           old->second.definedAt.column == a.definedAt.column
                       ? b.definedAt
                       : a.definedAt;
  frame_->locals[name].definedAt = at;
}

void Emitter::failBranchTypes(const std::string& name, const Local& a, const Local& b, const Locals& before) {
  auto old = before.find(name);
  auto assignedIn = [&](const Local& l) {
    return old == before.end() || old->second.definedAt.line != l.definedAt.line ||
           old->second.definedAt.column != l.definedAt.column;
  };
  const Local& at = assignedIn(b) ? b : a;
  const Local& other = assignedIn(b) ? a : b;
  failWithNotes(at.definedAt, "type-mismatch",
                "`" + name + "` is " + signature(a.value) + " when the condition holds and " + signature(b.value) +
                    " when it does not",
                {note(other.definedAt, "`" + name + "` is " + signature(other.value) + " here")});
}

// Gives the `scf.if` its results and terminators.
mlir::Operation* Emitter::finishIf(mlir::Operation* op, const Merged& merged) {
  auto empty = llvm::cast<mlir::scf::IfOp>(op);
  mlir::Location loc = empty.getLoc();
  cx.builder.setInsertionPoint(empty);
  mlir::scf::IfOp done = empty;
  if (!merged.thenValues.empty()) {
    done = mlir::scf::IfOp::create(cx.builder, loc, mlir::ValueRange(merged.thenValues).getTypes(),
                                   empty.getCondition(), false, false);
    done.getThenRegion().takeBody(empty.getThenRegion());
    done.getElseRegion().takeBody(empty.getElseRegion());
    empty.erase();
  }
  cx.builder.setInsertionPointToEnd(done.thenBlock());
  mlir::scf::YieldOp::create(cx.builder, loc, merged.thenValues);
  cx.builder.setInsertionPointToEnd(done.elseBlock());
  mlir::scf::YieldOp::create(cx.builder, loc, merged.elseValues);
  if (done.elseBlock()->getOperations().size() == 1 && merged.elseValues.empty())
    done.getElseRegion().getBlocks().clear();
  cx.builder.setInsertionPointAfter(done);
  return done;
}

void Emitter::rebindMerged(const Merged& merged, const mlir::Value*& from) {
  for (const auto& [object, pattern] : merged.objects) {
    Value v = rebuild(pattern, from);
    object->fields = v.as<std::shared_ptr<Aggregate>>()->fields;
  }
  for (const auto& [name, pattern] : merged.names) {
    Local& local = frame_->locals[name];
    local = {rebuild(pattern, from), local.definedAt, false, false};
  }
}

}  // namespace tandem::frontend
