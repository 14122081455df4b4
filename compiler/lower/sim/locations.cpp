// MLIR locations as source positions, and the errors that name them.
#include "compiler/lower/sim/locations.h"

namespace tandem::lower {
using interpreter::kNoLocation;

Locations::Locations(interpreter::Program& program, const std::vector<SourceFilePtr>& files) : program_(program) {
  for (const SourceFilePtr& file : files)
    if (file) add(file);
}

void Locations::add(SourceFilePtr file) {
  lines_.emplace_back(*file);
  program_.files.push_back(std::move(file));
}

uint32_t Locations::indexOf(mlir::Location loc) {
  if (auto it = known_.find(loc); it != known_.end()) return it->second;
  uint32_t index = resolve(loc, kNoLocation);
  if (index == kNoLocation)
    index = fallback_ != kNoLocation ? fallback_ : enter({fileOf("<unknown>", 0), {}, kNoLocation});
  known_[loc] = index;
  return index;
}

// kNoLocation when `loc` holds no file position. A callee without one has the caller's.
uint32_t Locations::resolve(mlir::Location loc, uint32_t caller) {
  if (auto at = llvm::dyn_cast<mlir::FileLineColRange>(loc)) {
    SourceRange range{at.getStartLine(), at.getStartColumn(), at.getEndLine(), at.getEndColumn()};
    if (range.endLine == 0) range.endLine = range.line;
    if (range.endColumn == 0) range.endColumn = range.column;
    return enter({fileOf(at.getFilename().getValue(), range.line), range, caller});
  }
  if (auto call = llvm::dyn_cast<mlir::CallSiteLoc>(loc)) {
    uint32_t outer = resolve(call.getCaller(), caller);
    uint32_t inner = resolve(call.getCallee(), outer);
    return inner != kNoLocation ? inner : outer;
  }
  if (auto named = llvm::dyn_cast<mlir::NameLoc>(loc)) return resolve(named.getChildLoc(), caller);
  if (auto fused = llvm::dyn_cast<mlir::FusedLoc>(loc))
    for (mlir::Location part : fused.getLocations())
      if (uint32_t index = resolve(part, caller); index != kNoLocation) return index;
  return kNoLocation;
}

uint32_t Locations::enter(const interpreter::Location& location) {
  const SourceRange& r = location.range;
  std::vector<uint32_t> key{location.file, r.line, r.column, r.endLine, r.endColumn, location.caller};
  auto [it, isNew] = entered_.try_emplace(std::move(key), program_.locations.size());
  if (isNew) program_.locations.push_back(location);
  return it->second;
}

// Functions of one file may come as several texts, each with its own first line.
uint32_t Locations::fileOf(llvm::StringRef name, uint32_t line) {
  uint32_t found = program_.files.size();
  for (uint32_t i = 0; i < program_.files.size(); ++i) {
    if (program_.files[i]->name != name) continue;
    if (!lines_[i].text(line).empty()) return i;
    if (found == program_.files.size()) found = i;
  }
  if (found < program_.files.size()) return found;
  auto file = std::make_shared<SourceFile>();
  file->name = name.str();
  add(std::move(file));
  return program_.files.size() - 1;
}

void Locations::fail(mlir::Operation* op, std::string kind, std::string message) {
  fail(op->getLoc(), std::move(kind), std::move(message));
}

void Locations::fail(mlir::Location loc, std::string kind, std::string message) {
  const interpreter::Location& at = program_.locations[indexOf(loc)];
  Diagnostic error{Severity::Error, std::move(kind), std::move(message), program_.files[at.file], at.range, {}};
  for (uint32_t caller = at.caller; caller != kNoLocation; caller = program_.locations[caller].caller) {
    const interpreter::Location& from = program_.locations[caller];
    error.notes.push_back({Severity::Note, "call", "called from here", program_.files[from.file], from.range, {}});
  }
  throw CompileError(std::move(error));
}

}  // namespace tandem::lower
