// Source lines of a kernel as LLVM debug locations, which become `.loc` lines of PTX and the cubin's line table.
#pragma once
#include <llvm/ADT/StringMap.h>
#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/Module.h>
#include <memory>

namespace tandem::codegen {

struct SourcePlace {
  llvm::StringRef file;
  unsigned line = 0, column = 0;
};

// One a module. A disabled table gives no locations and adds nothing to the module.
class LineTable {
 public:
  // `mainFile` names the compile unit.
  LineTable(llvm::Module& module, llvm::StringRef mainFile, bool enabled);
  ~LineTable();
  LineTable(const LineTable&) = delete;

  // Attaches a subprogram to `function`, which gives its instructions a scope.
  llvm::DISubprogram* addFunction(llvm::Function& function, SourcePlace place);
  // The subprogram of a source function whose body was inlined, for `location`'s scope.
  llvm::DISubprogram* inlinedFunction(llvm::StringRef name, SourcePlace place);
  // A place inside `scope`; `inlinedAt` is the call that was replaced by the scope's body. Null when disabled.
  llvm::DILocation* location(llvm::DISubprogram* scope, SourcePlace place, llvm::DILocation* inlinedAt = nullptr);
  // To be called once, after all functions are built and before toPtx.
  void finish();

 private:
  llvm::DIFile* file(llvm::StringRef path);
  llvm::DISubprogram* subprogram(llvm::StringRef name, SourcePlace place);

  llvm::LLVMContext& context_;
  std::unique_ptr<llvm::DIBuilder> builder_;
  llvm::StringMap<llvm::DIFile*> files_;
  llvm::StringMap<llvm::DISubprogram*> inlined_;
};

}  // namespace tandem::codegen
