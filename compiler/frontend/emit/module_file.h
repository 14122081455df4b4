// The names a Python file defines at its top level, found without running it: imports, constants, functions,
// aggregates. Everything else is a Foreign value, so host code never produces an error unless a kernel uses it.
#pragma once
#include "compiler/frontend/emit/session.h"

namespace tandem::frontend {

class ModuleFile : public Globals {
 public:
  ModuleFile(Session& session, ModulePtr module) : session_(session), module_(std::move(module)) {}
  std::optional<Value> find(const std::string& name) override;
  std::vector<std::string> names() const override;
  const ModulePtr& module() const { return module_; }
  // The last top-level `def` of that name, without evaluating anything.
  FunctionPtr function(const std::string& name);

 private:
  struct Entry {
    std::function<Value()> make;
    std::optional<Value> value;
    bool evaluating = false;
  };
  using Overwrite = bool;
  void indexAll();
  void index(const ast::Body& body, Overwrite overwrite);
  void index(const ast::Stmt& stmt, Overwrite overwrite);
  void indexIf(const ast::Stmt& stmt, Overwrite overwrite);
  void indexImport(const ast::Stmt& stmt, Overwrite overwrite);
  void indexImportFrom(const ast::Stmt& stmt, Overwrite overwrite);
  void indexTarget(const ast::Expr& target, const ast::Expr& value, Overwrite overwrite);
  void define(const std::string& name, Overwrite overwrite, std::function<Value()> make);
  Value constant(const std::string& name, const ast::Expr& value);
  std::optional<bool> isTrue(const ast::Expr& test);

  Session& session_;
  ModulePtr module_;
  bool indexed_ = false;  // on first use: tests of `if` need an emitter
  std::map<std::string, Entry> entries_;
};

}  // namespace tandem::frontend
