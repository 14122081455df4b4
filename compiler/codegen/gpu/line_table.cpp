// Emission kind "directives only": any other makes LLVM write `.target ..., debug`, which turns ptxas' optimiser off.
#include "compiler/codegen/gpu/line_table.h"
#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/Support/Path.h>

namespace tandem::codegen {

LineTable::LineTable(llvm::Module& module, llvm::StringRef mainFile, bool enabled) : context_(module.getContext()) {
  if (!enabled) return;
  module.setModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  builder_ = std::make_unique<llvm::DIBuilder>(module);
  builder_->createCompileUnit(llvm::DISourceLanguageName(llvm::dwarf::DW_LANG_Python), file(mainFile), "tandem", true,
                              "", 0, "", llvm::DICompileUnit::DebugDirectivesOnly);
}

LineTable::~LineTable() = default;

llvm::DIFile* LineTable::file(llvm::StringRef path) {
  llvm::DIFile*& entry = files_[path];
  if (!entry) entry = builder_->createFile(llvm::sys::path::filename(path), llvm::sys::path::parent_path(path));
  return entry;
}

llvm::DISubprogram* LineTable::subprogram(llvm::StringRef name, SourcePlace place) {
  auto* type = builder_->createSubroutineType(builder_->getOrCreateTypeArray({}));
  llvm::DIFile* where = file(place.file);
  return builder_->createFunction(where, name, name, where, place.line, type, place.line, llvm::DINode::FlagZero,
                                  llvm::DISubprogram::SPFlagDefinition | llvm::DISubprogram::SPFlagOptimized);
}

llvm::DISubprogram* LineTable::addFunction(llvm::Function& function, SourcePlace place) {
  if (!builder_) return nullptr;
  llvm::DISubprogram* made = subprogram(function.getName(), place);
  function.setSubprogram(made);
  return made;
}

llvm::DISubprogram* LineTable::inlinedFunction(llvm::StringRef name, SourcePlace place) {
  if (!builder_) return nullptr;
  llvm::DISubprogram*& entry = inlined_[(place.file + "\n" + name).str()];
  if (!entry) entry = subprogram(name, place);
  return entry;
}

llvm::DILocation* LineTable::location(llvm::DISubprogram* scope, SourcePlace place, llvm::DILocation* inlinedAt) {
  if (!builder_ || !scope) return nullptr;
  llvm::DIScope* inside = scope;
  llvm::DIFile* where = file(place.file);
  if (scope->getFile() != where) inside = builder_->createLexicalBlockFile(scope, where);
  return llvm::DILocation::get(context_, place.line, place.column, inside, inlinedAt);
}

void LineTable::finish() {
  if (builder_) builder_->finalize();
}

}  // namespace tandem::codegen
