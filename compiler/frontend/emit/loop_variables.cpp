// This file finds the variables that a loop carries, and their values inside and after the loop, and enforces that
// their types stay.
#include "compiler/frontend/emit/assigned_names.h"
#include "compiler/frontend/emit/emitter.h"

namespace tandem::frontend {

// Names that the loop may change: those it assigns, vectors whose elements it assigns, and objects it mentions, whose
// fields a method may assign.
std::set<std::string> Emitter::namesForLoop(const ast::Stmt& s) const {
  std::set<std::string> names = assignedNames(s);
  for (const std::string& name : mentionedNames(s)) {
    auto it = frame_->locals.find(name);
    if (it != frame_->locals.end() && it->second.value.is<std::shared_ptr<Aggregate>>()) names.insert(name);
  }
  for (const std::string& name : elementAccesses(s.body).written) {
    auto it = frame_->locals.find(name);
    if (it == frame_->locals.end() || !it->second.value.isTensor()) continue;
    if (it->second.value.as<Tensor>().type.isVector()) names.insert(name);
  }
  return names;
}

Emitter::LoopVariables Emitter::prepareLoop(const std::set<std::string>& assigned) {
  LoopVariables vars;
  std::set<const Aggregate*> seen;
  for (const std::string& name : assigned) {
    auto it = frame_->locals.find(name);
    if (it == frame_->locals.end()) continue;
    if (it->second.undefined) {
      it->second.lastOf = nullptr;  // of the loops before, or of the body's: the first round and the others differ
      continue;
    }
    Local& local = it->second;
    if (!local.declaredConstexpr) local.value = decay(local.value);
    vars.definedAt[name] = local.definedAt;
    if (local.value.is<std::shared_ptr<Aggregate>>() &&
        !seen.insert(local.value.as<std::shared_ptr<Aggregate>>().get()).second) {
      vars.aliases[name] = local.value.as<std::shared_ptr<Aggregate>>();
      continue;
    }
    if (!containsTensor(local.value)) {
      vars.fixed[name] = signature(local.value);
      continue;
    }
    vars.names.push_back(name);
    vars.patterns.push_back(local.value);
    flatten(local.value, vars.initial);
  }
  return vars;
}

void Emitter::bindLoop(const LoopVariables& vars, llvm::ArrayRef<mlir::Value> values) {
  const mlir::Value* from = values.data();
  for (size_t i = 0; i < vars.names.size(); ++i) {
    Value v = rebuild(vars.patterns[i], from);
    if (v.is<std::shared_ptr<Aggregate>>())
      vars.patterns[i].as<std::shared_ptr<Aggregate>>()->fields = v.as<std::shared_ptr<Aggregate>>()->fields;
    else
      frame_->locals[vars.names[i]].value = v;
  }
}

std::vector<mlir::Value> Emitter::collectLoop(const LoopVariables& vars) {
  for (const auto& [name, before] : vars.fixed) {
    const Local& now = frame_->locals[name];
    if (!now.undefined && signature(now.value) == before) continue;
    std::vector<Diagnostic> notes = {note(vars.definedAt.at(name), "`" + name + "` is " + before + " before the loop")};
    if (now.value.isNumber() || now.value.isTensor())
      failWithNotes(now.definedAt, "constexpr-reassigned", "cannot reassign constexpr `" + name + "` in the loop",
                    std::move(notes));
    failWithNotes(now.definedAt, "type-mismatch",
                  "`" + name + "` is " + before + " before the loop and " + signature(now.value) + " after its body",
                  std::move(notes));
  }
  for (const auto& [name, object] : vars.aliases) {
    const Local& now = frame_->locals[name];
    if (now.value.is<std::shared_ptr<Aggregate>>() && now.value.as<std::shared_ptr<Aggregate>>() == object) continue;
    failWithNotes(
        now.definedAt, "type-mismatch",
        "`" + name + "` names an object before the loop that has another name too, and another object after its body",
        {note(vars.definedAt.at(name), "`" + name + "` is assigned here before the loop")});
  }
  std::vector<mlir::Value> out;
  for (size_t i = 0; i < vars.names.size(); ++i) {
    const std::string& name = vars.names[i];
    const Local& now = frame_->locals[name];
    std::vector<Diagnostic> notes = {note(vars.definedAt.at(name), "`" + name + "` is assigned here before the loop")};
    if (now.undefined)
      failWithNotes(now.definedAt, "maybe-undefined", "`" + name + "` may be undefined after the body of the loop",
                    std::move(notes));
    std::string before = signature(vars.patterns[i]), after = signature(now.value);
    if (now.declaredConstexpr && now.value.isNumber())
      failWithNotes(now.definedAt, "constexpr-reassigned", "cannot reassign constexpr `" + name + "` in the loop",
                    std::move(notes));
    if (before != after)
      failWithNotes(now.definedAt, "type-mismatch",
                    "`" + name + "` is " + before + " before the loop and " + after + " after its body",
                    std::move(notes));
    flatten(now.value, out);
  }
  return out;
}

void Emitter::finishLoop(const LoopVariables& vars, const Locals& before, llvm::ArrayRef<mlir::Value> results) {
  for (auto& [name, local] : frame_->locals) {
    auto known = before.find(name);
    if (known != before.end() && !known->second.undefined) continue;
    local.undefined = true;
    local.lastOf = known == before.end() ? nullptr : known->second.lastOf;
  }
  const mlir::Value* from = results.data();
  const mlir::Value* initial = vars.initial.data();
  for (size_t i = 0; i < vars.names.size(); ++i) {
    Value v = rebuild(vars.patterns[i], from), first = rebuild(vars.patterns[i], initial);
    Local& local = frame_->locals[vars.names[i]];
    bool sameObject = v.is<std::shared_ptr<Aggregate>>() &&
                      local.value.as<std::shared_ptr<Aggregate>>() == vars.patterns[i].as<std::shared_ptr<Aggregate>>();
    if (sameObject)
      local.value.as<std::shared_ptr<Aggregate>>()->fields = v.as<std::shared_ptr<Aggregate>>()->fields;
    else
      local.value = v;
    // The object of before the loop, now without this name, is as it was.
    if (!sameObject && first.is<std::shared_ptr<Aggregate>>())
      vars.patterns[i].as<std::shared_ptr<Aggregate>>()->fields = first.as<std::shared_ptr<Aggregate>>()->fields;
  }
}

}  // namespace tandem::frontend
