// Indexes a file's top-level statements by the names they bind and evaluates each on first use.
#include "compiler/frontend/emit/module_file.h"

namespace tandem::frontend {
using ast::ExprKind;
using ast::StmtKind;

void ModuleFile::indexAll() {
  if (indexed_) return;
  indexed_ = true;
  define("__name__", true, [] { return Value(std::string("kernel file")); });
  define("TYPE_CHECKING", true, [] { return Value(false); });
  index(module_->body, true);
}

void ModuleFile::define(const std::string& name, Overwrite overwrite, std::function<Value()> make) {
  if (overwrite || !entries_.contains(name)) entries_[name] = {std::move(make), {}, false};
}

std::optional<Value> ModuleFile::find(const std::string& name) {
  indexAll();
  auto it = entries_.find(name);
  if (it == entries_.end()) return {};
  Entry& e = it->second;
  if (e.evaluating) return Value(Foreign{"`" + name + "`, whose definition depends on itself"});
  if (!e.value) {
    e.evaluating = true;
    e.value = e.make();
    e.evaluating = false;
  }
  return e.value;
}

std::vector<std::string> ModuleFile::names() const {
  std::vector<std::string> out;
  for (const auto& [name, entry] : entries_) out.push_back(name);
  return out;
}

FunctionPtr ModuleFile::function(const std::string& name) {
  const ast::Stmt* found = nullptr;
  for (const ast::StmtPtr& s : module_->body)
    if (s->kind == StmtKind::Function && s->text == name) found = s.get();
  return found ? makeFunction(module_, *found, this) : nullptr;
}

void ModuleFile::index(const ast::Body& body, Overwrite overwrite) {
  for (const ast::StmtPtr& s : body) index(*s, overwrite);
}

void ModuleFile::index(const ast::Stmt& s, Overwrite overwrite) {
  switch (s.kind) {
    case StmtKind::Import: return indexImport(s, overwrite);
    case StmtKind::ImportFrom: return indexImportFrom(s, overwrite);
    case StmtKind::Function:
      return define(s.text, overwrite, [this, &s] { return Value(makeFunction(module_, s, this)); });
    case StmtKind::Class:
      if (hasDecorator(s, "aggregate") || hasDecorator(s, "_aggregate") || isNamedTuple(s))
        return define(s.text, overwrite, [this, &s] { return Value(makeClass(module_, s, this)); });
      return define(s.text, overwrite, [&s] { return Value(Foreign{"class `" + s.text + "`"}); });
    case StmtKind::Assign:
      for (size_t i = 1; i < s.exprs.size(); ++i) indexTarget(*s.exprs[i], *s.exprs[0], overwrite);
      return;
    case StmtKind::AnnAssign:
      if (s.exprs.size() == 3) indexTarget(*s.exprs[0], *s.exprs[2], overwrite);
      return;
    case StmtKind::If: return indexIf(s, overwrite);
    // The first definition of a name in `try` / `except` is the one of the undisturbed run.
    case StmtKind::Unsupported: return index(s.body, false);
    case StmtKind::With: return index(s.body, overwrite);
    default: return;
  }
}

void ModuleFile::indexIf(const ast::Stmt& s, Overwrite overwrite) {
  std::optional<bool> taken = isTrue(*s.exprs[0]);
  if (taken) return index(*taken ? s.body : s.orElse, overwrite);
  index(s.body, overwrite);
  index(s.orElse, false);
}

std::optional<bool> ModuleFile::isTrue(const ast::Expr& test) {
  try {
    Value v = session_.evaluate(module_, this, test);
    if (v.is<bool>()) return v.as<bool>();
    if (v.is<Int>()) return v.as<Int>() != 0;
    if (v.isNone()) return false;
  } catch (const CompileError&) {
    // Host code that is not a constant: either branch may define names.
  }
  return {};
}

void ModuleFile::indexTarget(const ast::Expr& target, const ast::Expr& value, Overwrite overwrite) {
  if (target.kind == ExprKind::Name) {
    std::string name = target.text;
    return define(name, overwrite, [this, name, &value] { return constant(name, value); });
  }
  if (target.kind != ExprKind::Tuple && target.kind != ExprKind::List) return;
  bool paired = (value.kind == ExprKind::Tuple || value.kind == ExprKind::List) &&
                value.children.size() == target.children.size();
  for (size_t i = 0; i < target.children.size(); ++i) {
    const ast::Expr& t = *target.children[i];
    if (paired)
      indexTarget(t, *value.children[i], overwrite);
    else if (t.kind == ExprKind::Name)
      define(t.text, overwrite, [name = t.text] { return Value(Foreign{"host value `" + name + "`"}); });
  }
}

Value ModuleFile::constant(const std::string& name, const ast::Expr& value) {
  try {
    Value v = session_.evaluate(module_, this, value);
    if (!v.isTensor()) return v;
  } catch (const CompileError&) {
    // Host code: only a kernel that uses the name is at fault.
  }
  return Foreign{"host value `" + name + "`, not a constant of compile time"};
}

void ModuleFile::indexImport(const ast::Stmt& s, Overwrite overwrite) {
  for (const ast::ImportName& n : s.names) {
    std::string bound = n.alias.empty() ? n.name.substr(0, n.name.find('.')) : n.alias;
    std::string module = n.alias.empty() ? bound : n.name;
    define(bound, overwrite, [module] { return Session::importedModule(module); });
  }
}

void ModuleFile::indexImportFrom(const ast::Stmt& s, Overwrite overwrite) {
  const std::string& from = s.text;
  for (const ast::ImportName& n : s.names) {
    if (n.name == "*") {
      std::optional<std::string> ours = canonicalModule(from);
      if (!ours) continue;
      for (const std::string& name : namesOf(*ours))
        define(name, overwrite, [this, module = *ours, name] {
          return session_.ourMember(module, name).value_or(Value(Foreign{"`" + name + "`"}));
        });
      continue;
    }
    define(n.alias.empty() ? n.name : n.alias, overwrite, [this, from, name = n.name] {
      Value module = Session::importedModule(from);
      std::optional<Value> member = session_.memberOf(*module.as<std::shared_ptr<Namespace>>(), name);
      return member.value_or(Value(Foreign{"`" + name + "` of module `" + from + "`", hintForHostName(name)}));
    });
  }
}

}  // namespace tandem::frontend
