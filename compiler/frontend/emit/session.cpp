// Loading of text and the meaning of modules: ours by their canonical names, a few of Python's constants, nothing else.
#include "compiler/frontend/emit/session.h"
#include "compiler/frontend/emit/module_file.h"
#include "compiler/frontend/emit/special.h"
#include "compiler/frontend/parse/parse.h"
#include <algorithm>
#include <limits>
#include <mutex>
#include <numbers>

namespace tandem::frontend {

Session::Session() = default;
Session::~Session() = default;

ModulePtr Session::load(SourceFilePtr file) {
  sources_.push_back(file);
  return std::make_shared<const ast::Module>(parse(std::move(file)));
}

SourceFilePtr Session::findSource(std::string_view name, uint32_t line) const {
  SourceFilePtr found;
  for (const SourceFilePtr& f : sources_) {
    if (f->name != name) continue;
    uint32_t lines = uint32_t(std::count(f->text.begin(), f->text.end(), '\n')) + 1;
    if (line >= f->firstLine && line < f->firstLine + lines) return f;
    if (!found) found = f;
  }
  return found;
}

ModuleFile* Session::loadModule(SourceFilePtr file) {
  ModuleFile*& m = modules_[file.get()];
  if (!m) m = own(std::make_unique<ModuleFile>(*this, load(file)));
  return m;
}

namespace {

// The library never changes, so its trees are shared by all compilations.
ModulePtr parsedLibrary(const SourceFilePtr& file) {
  static std::mutex mutex;
  static std::map<SourceFilePtr, ModulePtr> parsed;
  std::lock_guard lock(mutex);
  ModulePtr& module = parsed[file];
  if (!module) module = std::make_shared<const ast::Module>(parse(file));
  return module;
}

std::optional<Value> mathConstant(const std::string& name) {
  if (name == "pi") return Value(std::numbers::pi);
  if (name == "e") return Value(std::numbers::e);
  if (name == "tau") return Value(2 * std::numbers::pi);
  if (name == "inf") return Value(std::numeric_limits<double>::infinity());
  if (name == "nan") return Value(std::numeric_limits<double>::quiet_NaN());
  return {};
}

}  // namespace

Value Session::importedModule(const std::string& name) {
  auto module = std::make_shared<Namespace>();
  std::optional<std::string> canonical = canonicalModule(name);
  module->ours = canonical.has_value();
  module->name = canonical.value_or(name);
  return module;
}

std::optional<Value> Session::libraryFunction(const std::string& canonicalName) {
  std::optional<LibraryFunction> f = findLibraryFunction(canonicalName);
  if (!f) return {};
  ModuleFile*& module = modules_[f->file.get()];
  if (!module) {
    sources_.push_back(f->file);
    module = own(std::make_unique<ModuleFile>(*this, parsedLibrary(f->file)));
  }
  return module->find(f->function);
}

std::optional<Value> Session::ourMember(const std::string& module, const std::string& name) {
  std::string canonical = module + "." + name;
  if (const Builtin* special = findSpecial(canonical)) return Value(special);
  if (std::optional<Value> v = findConstant(canonical)) return v;
  if (const Builtin* b = findBuiltin(canonical)) return Value(b);
  if (std::optional<Value> f = libraryFunction(canonical)) return f;
  // Triton's own module has functions of the language too: `triton.cdiv`, `triton.next_power_of_2`.
  if (module == "triton") return ourMember("tl", name);
  return {};
}

std::optional<Value> Session::memberOf(const Namespace& module, const std::string& name) {
  if (module.ours) return ourMember(module.name, name);
  if (auto it = module.attributes.find(name); it != module.attributes.end()) return it->second;
  if (auto it = imports_.find(module.name); it != imports_.end()) return loadModule(it->second)->find(name);
  std::string path = module.name + "." + name;
  if (imports_.contains(path)) return importedModule(path);
  if (canonicalModule(path)) return importedModule(path);
  if (module.name == "math") {
    const Builtin* function = findSpecial("math." + name);
    return function ? Value(function) : mathConstant(name);
  }
  return {};
}

}  // namespace tandem::frontend
