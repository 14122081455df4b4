// Source places: errors that name them, and debug locations so that profilers and memory checkers show kernel lines.
#pragma once
#include "base/diagnostic.h"
#include "compiler/codegen/gpu/line_table.h"
#include <llvm/IR/IRBuilder.h>
#include <mlir/IR/Operation.h>
#include <optional>
#include <vector>

namespace tandem::lower::gpu {

class Places {
 public:
  Places(llvm::Module& module, llvm::StringRef mainFile, const std::vector<SourceFilePtr>& files)
      : table_(module, mainFile, true), files_(files) {}

  // Line table for `function`, whose source is at `loc`.
  void attach(llvm::Function* function, mlir::Location loc);
  // Sets the location of the code that `builder` emits next.
  void set(llvm::IRBuilderBase& builder, mlir::Location loc);
  void finish() { table_.finish(); }

  // The innermost file position of a location; an empty name when it holds none.
  static std::pair<std::string, unsigned> fileAndLine(mlir::Location loc);

  [[noreturn]] void fail(mlir::Location loc, const char* kind, const std::string& message) const;

 private:
  llvm::DILocation* locationOf(mlir::Location loc);

  codegen::LineTable table_;
  const std::vector<SourceFilePtr>& files_;
  llvm::DISubprogram* subprogram_ = nullptr;
};

// The innermost file position of a location; null when it holds none.
mlir::FileLineColRange filePosition(mlir::Location loc);

}  // namespace tandem::lower::gpu
