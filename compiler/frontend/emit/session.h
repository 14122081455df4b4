// A session holds everything that one compilation has loaded: source files, parsed text, and the tables of global
// names.
#pragma once
#include "compiler/frontend/builtin/registry.h"
#include "compiler/frontend/emit/function.h"

namespace tandem::frontend {

class ModuleFile;

class Session {
 public:
  Session();
  ~Session();
  Session(const Session&) = delete;

  // Parses text and remembers its file, so that locations can be turned back into text.
  ModulePtr load(SourceFilePtr file);
  const std::vector<SourceFilePtr>& sources() const { return sources_; }
  // The file a location names: the one of that name which holds the line.
  SourceFilePtr findSource(std::string_view name, uint32_t line) const;

  // A file whose own statements define the names of its functions.
  ModuleFile* loadModule(SourceFilePtr file);
  // Says that `name`, which kernels import, is this file of the user's.
  void addImport(const std::string& name, SourceFilePtr file) { imports_[name] = std::move(file); }
  template <class G> G* own(std::unique_ptr<G> globals) {
    G* raw = globals.get();
    globals_.push_back(std::move(globals));
    return raw;
  }

  // Returns the value of `name` in one of our modules ("tl", "dl", ...), or nothing.
  std::optional<Value> ourMember(const std::string& canonicalModule, const std::string& name);
  // Returns the value of `import name`, or of an attribute of a module that is not ours.
  std::optional<Value> memberOf(const Namespace& module, const std::string& name);
  static Value importedModule(const std::string& name);

  // Evaluates a constant expression of a file; set by the emitter. Throws CompileError when it is not one.
  std::function<Value(const ModulePtr&, Globals*, const ast::Expr&)> evaluate;

 private:
  std::optional<Value> libraryFunction(const std::string& canonicalName);

  std::vector<SourceFilePtr> sources_;
  std::vector<std::unique_ptr<Globals>> globals_;
  std::map<const SourceFile*, ModuleFile*> modules_;
  std::map<std::string, SourceFilePtr> imports_;
};

}  // namespace tandem::frontend
