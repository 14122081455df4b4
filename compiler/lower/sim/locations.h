// MLIR locations as source positions, and the errors that name them.
#pragma once
#include "base/diagnostic.h"
#include "interpreter/program.h"
#include <llvm/ADT/DenseMap.h>
#include <map>
#include <mlir/IR/Location.h>
#include <mlir/IR/Operation.h>

namespace tandem::lower {

// Fills Program::files and Program::locations; each position is entered once.
class Locations {
 public:
  Locations(interpreter::Program& program, const std::vector<SourceFilePtr>& files);

  // Index of `loc`; one without a source position has that of `setFallback`.
  uint32_t indexOf(mlir::Location loc);
  void setFallback(mlir::Location loc) { fallback_ = indexOf(loc); }

  [[noreturn]] void fail(mlir::Operation* op, std::string kind, std::string message);
  [[noreturn]] void fail(mlir::Location loc, std::string kind, std::string message);

 private:
  uint32_t resolve(mlir::Location loc, uint32_t caller);
  uint32_t enter(const interpreter::Location& location);
  uint32_t fileOf(llvm::StringRef name, uint32_t line);
  void add(SourceFilePtr file);

  interpreter::Program& program_;
  uint32_t fallback_ = interpreter::kNoLocation;
  llvm::DenseMap<mlir::Location, uint32_t> known_;
  std::vector<SourceLines> lines_;  // of the program's files
  std::map<std::vector<uint32_t>, uint32_t> entered_;
};

}  // namespace tandem::lower
