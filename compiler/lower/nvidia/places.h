// Source places: errors that name them, and debug locations so that profilers and memory checkers show kernel lines.
#pragma once
#include "base/diagnostic.h"
#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/IRBuilder.h>
#include <map>
#include <mlir/IR/Operation.h>
#include <vector>

namespace tandem::lower::nvidia {

class Places {
 public:
  Places(llvm::Module& module, const std::vector<SourceFilePtr>& files) : debug_(module), files_(files) {}

  // Line tables for `function`, whose source is at `loc`.
  void attach(llvm::Function* function, mlir::Location loc);
  // The location of what `builder` emits next.
  void set(llvm::IRBuilderBase& builder, mlir::Location loc);
  // Of the innermost place; an empty name when nothing is known.
  static std::pair<std::string, unsigned> fileAndLine(mlir::Location loc);
  void finish() { debug_.finalize(); }

  [[noreturn]] void fail(mlir::Location loc, const char* kind, const std::string& message) const;

 private:
  llvm::DILocation* locationOf(mlir::Location loc);
  llvm::DIFile* fileOf(llvm::StringRef name);
  llvm::DIScope* scopeOf(llvm::StringRef file);

  llvm::DIBuilder debug_;
  const std::vector<SourceFilePtr>& files_;
  llvm::DISubprogram* subprogram_ = nullptr;
  std::map<std::string, llvm::DIFile*> diFiles_;
  std::map<std::string, llvm::DIScope*> scopes_;
};

}  // namespace tandem::lower::nvidia
