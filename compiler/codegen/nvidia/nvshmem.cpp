// Links the called functions of NVSHMEM's device bitcode into a module.
#include "base/nvshmem_install.h"
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
    if (f.isDeclaration() && !f.use_empty() && f.getName().starts_with("nvshmem")) names.push_back(f.getName().str());
  return names;
}

std::unique_ptr<llvm::Module> readLibrary(const std::string& path, llvm::Module& module) {
  llvm::SMDiagnostic error;
  auto library = llvm::getLazyIRFileModule(path, error, module.getContext());
  if (!library) throw codegenError("missing-nvshmem", "cannot read `" + path + "`: " + error.getMessage().str());
  library->setTargetTriple(module.getTargetTriple());
  library->setDataLayout(module.getDataLayout());
  return library;
}

// The host library writes the variables, and finds them by name.
void internalise(llvm::Module& module, const llvm::StringSet<>& linked) {
  llvm::internalizeModule(module, [&](const llvm::GlobalValue& v) {
    auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(&v);
    return (variable && variable->isExternallyInitialized()) || !v.hasName() || !linked.contains(v.getName());
  });
}

// The library was made for one architecture, the module is for its own.
void dropArchitecture(llvm::Module& module) {
  for (llvm::Function& f : module)
    for (const char* attribute : {"target-cpu", "target-features", "frame-pointer"}) f.removeFnAttr(attribute);
}

}  // namespace

void linkNvshmem(llvm::Module& module) {
  std::vector<std::string> wanted = missingFunctions(module);
  if (wanted.empty()) return;
  std::vector<std::string> searched;
  std::optional<NvshmemInstall> install = findNvshmem(searched);
  if (!install)
    throw codegenError("missing-nvshmem",
                       "`" + wanted.front() + "` needs `libnvshmem_device.bc` beside `libnvshmem_host.so.3`: install " +
                           "`nvidia-nvshmem-cu13` or set TANDEM_NVSHMEM; " + searchedForNvshmem(searched));
  guarded("link NVSHMEM", module.getContext(), [&] {
    if (llvm::Linker::linkModules(module, readLibrary(install->bitcode, module), llvm::Linker::LinkOnlyNeeded,
                                  internalise))
      throw codegenError("missing-nvshmem", "cannot link `" + install->bitcode + "`");
  });
  if (std::vector<std::string> left = missingFunctions(module); !left.empty())
    throw codegenError("missing-nvshmem",
                       "`" + left.front() + "` is not in `" + install->bitcode + "`: it is of another version");
  dropArchitecture(module);
}

}  // namespace tandem::codegen
