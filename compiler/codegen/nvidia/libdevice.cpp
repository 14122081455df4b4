// Links the called functions of NVIDIA's libdevice bitcode into a module.
#include "compiler/codegen/nvidia/codegen.h"
#include "compiler/codegen/nvidia/guard.h"
#include <llvm/ADT/StringSet.h>
#include <llvm/IRReader/IRReader.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Transforms/IPO/Internalize.h>

namespace tandem::codegen {
namespace {

std::vector<std::string> missingFunctions(const llvm::Module& module) {
  std::vector<std::string> names;
  for (const llvm::Function& f : module)
    if (f.isDeclaration() && !f.use_empty() && f.getName().starts_with("__nv_")) names.push_back(f.getName().str());
  return names;
}

std::unique_ptr<llvm::Module> readLibrary(const std::string& path, llvm::Module& module) {
  llvm::SMDiagnostic error;
  auto library = llvm::getLazyIRFileModule(path, error, module.getContext());
  if (!library) throw codegenError("missing-libdevice", "cannot read `" + path + "`: " + error.getMessage().str());
  library->setTargetTriple(module.getTargetTriple());
  library->setDataLayout(module.getDataLayout());
  return library;
}

void internalise(llvm::Module& module, const llvm::StringSet<>& linked) {
  llvm::internalizeModule(module,
                          [&](const llvm::GlobalValue& v) { return !v.hasName() || !linked.contains(v.getName()); });
}

std::string join(const std::vector<std::string>& places) {
  std::string text;
  for (const std::string& place : places) text += "\n  " + place;
  return text;
}

}  // namespace

void linkLibdevice(llvm::Module& module, const ToolPaths& paths, bool flushDenormals) {
  std::vector<std::string> wanted = missingFunctions(module);
  if (wanted.empty()) return;
  std::vector<std::string> searched;
  std::optional<std::string> path = findLibdevice(paths, searched);
  if (!path)
    throw codegenError("missing-libdevice",
                       "`" + wanted.front() + "` needs `libdevice.10.bc`, which was looked for at" + join(searched));
  guarded("link libdevice", module.getContext(), [&] {
    module.setModuleFlag(llvm::Module::Override, "nvvm-reflect-ftz", unsigned(flushDenormals));
    if (llvm::Linker::linkModules(module, readLibrary(*path, module), llvm::Linker::LinkOnlyNeeded, internalise))
      throw codegenError("missing-libdevice", "cannot link `" + *path + "`");
  });
  std::vector<std::string> left = missingFunctions(module);
  if (!left.empty())
    throw codegenError("unknown-libdevice-function", "`" + left.front() + "` is not in `" + *path + "`");
}

}  // namespace tandem::codegen
