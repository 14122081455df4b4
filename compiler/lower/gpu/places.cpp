// MLIR locations as debug locations and as places of errors.
#include "compiler/lower/gpu/places.h"

namespace tandem::lower::gpu {

mlir::FileLineColRange filePosition(mlir::Location loc) {
  if (auto at = llvm::dyn_cast<mlir::FileLineColRange>(loc)) return at;
  if (auto call = llvm::dyn_cast<mlir::CallSiteLoc>(loc)) {
    if (auto callee = filePosition(call.getCallee())) return callee;
    return filePosition(call.getCaller());
  }
  if (auto named = llvm::dyn_cast<mlir::NameLoc>(loc)) return filePosition(named.getChildLoc());
  if (auto fused = llvm::dyn_cast<mlir::FusedLoc>(loc))
    for (mlir::Location part : fused.getLocations())
      if (auto at = filePosition(part)) return at;
  return {};
}

static codegen::SourcePlace placeOf(mlir::FileLineColRange at) {
  return {at.getFilename().getValue(), at.getStartLine(), at.getStartColumn()};
}

void Places::attach(llvm::Function* function, mlir::Location loc) {
  auto at = filePosition(loc);
  subprogram_ = table_.addFunction(*function, at ? placeOf(at) : codegen::SourcePlace{"<unknown>", 1, 1});
}

// A call that was inlined keeps both its own line and the callee's.
llvm::DILocation* Places::locationOf(mlir::Location loc) {
  if (auto call = llvm::dyn_cast<mlir::CallSiteLoc>(loc)) {
    llvm::DILocation* caller = locationOf(call.getCaller());
    auto at = filePosition(call.getCallee());
    if (!caller || !at) return caller;
    return table_.location(table_.inlinedFunction(at.getFilename().getValue(), placeOf(at)), placeOf(at), caller);
  }
  auto at = filePosition(loc);
  return at ? table_.location(subprogram_, placeOf(at)) : nullptr;
}

void Places::set(llvm::IRBuilderBase& builder, mlir::Location loc) {
  if (llvm::DILocation* location = locationOf(loc)) builder.SetCurrentDebugLocation(location);
}

std::pair<std::string, unsigned> Places::fileAndLine(mlir::Location loc) {
  auto at = filePosition(loc);
  if (!at) return {};
  return {at.getFilename().str(), at.getStartLine()};
}

void Places::fail(mlir::Location loc, const char* kind, const std::string& message) const {
  Diagnostic d{Severity::Error, kind, message, nullptr, {}, {}};
  if (auto at = filePosition(loc)) {
    for (const SourceFilePtr& file : files_)
      if (file && file->name == at.getFilename().getValue() && (!d.file || !file->lineText(at.getStartLine()).empty()))
        d.file = file;
    d.range = {at.getStartLine(), at.getStartColumn(), at.getEndLine() ? at.getEndLine() : at.getStartLine(),
               at.getEndColumn() ? at.getEndColumn() : at.getStartColumn()};
  }
  throw CompileError(d);
}

}  // namespace tandem::lower::gpu
