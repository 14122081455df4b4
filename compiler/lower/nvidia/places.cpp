// MLIR locations as debug locations and as places of errors.
#include "compiler/lower/nvidia/places.h"

namespace tandem::lower::nvidia {
namespace {

// The innermost file position of a location; null when it holds none.
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

}  // namespace

void Places::attach(llvm::Function* function, mlir::Location loc) {
  auto at = filePosition(loc);
  llvm::DIFile* file = fileOf(at ? at.getFilename().getValue() : "<unknown>");
  debug_.createCompileUnit(llvm::dwarf::DW_LANG_C, file, "tandem", true, "", 0, "", llvm::DICompileUnit::LineTablesOnly);
  unsigned line = at ? at.getStartLine() : 1;
  auto* type = debug_.createSubroutineType(debug_.getOrCreateTypeArray({}));
  subprogram_ = debug_.createFunction(file, function->getName(), function->getName(), file, line, type, line, llvm::DINode::FlagZero,
                                      llvm::DISubprogram::SPFlagDefinition | llvm::DISubprogram::SPFlagOptimized);
  function->setSubprogram(subprogram_);
}

void Places::set(llvm::IRBuilderBase& builder, mlir::Location loc) {
  if (auto at = filePosition(loc))
    builder.SetCurrentDebugLocation(llvm::DILocation::get(subprogram_->getContext(), at.getStartLine(), at.getStartColumn(),
                                                          scopeOf(at.getFilename().getValue())));
  else
    builder.SetCurrentDebugLocation(llvm::DILocation::get(subprogram_->getContext(), subprogram_->getLine(), 0, subprogram_));
}

llvm::DIFile* Places::fileOf(llvm::StringRef name) {
  llvm::DIFile*& file = diFiles_[name.str()];
  if (!file) file = debug_.createFile(name, "");
  return file;
}

// Functions inlined from another file keep their file through a lexical block.
llvm::DIScope* Places::scopeOf(llvm::StringRef name) {
  if (subprogram_->getFilename() == name) return subprogram_;
  llvm::DIScope*& scope = scopes_[name.str()];
  if (!scope) scope = debug_.createLexicalBlockFile(subprogram_, fileOf(name));
  return scope;
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
      if (file && file->name == at.getFilename().getValue() && (!d.file || !file->lineText(at.getStartLine()).empty())) d.file = file;
    d.range = {at.getStartLine(), at.getStartColumn(), at.getEndLine() ? at.getEndLine() : at.getStartLine(),
               at.getEndColumn() ? at.getEndColumn() : at.getStartColumn()};
  }
  throw CompileError(d);
}

}  // namespace tandem::lower::nvidia
