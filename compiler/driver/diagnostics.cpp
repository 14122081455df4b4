// Turns MLIR's locations back into places of the text.
#include "compiler/driver/diagnostics.h"

namespace tandem::compiler {
namespace {

struct Place {
  SourceFilePtr file;
  SourceRange range;
};

Place placeOf(const frontend::Session& session, mlir::Location loc) {
  Place p;
  if (auto l = llvm::dyn_cast<mlir::FileLineColRange>(loc)) {
    p.file = session.findSource(l.getFilename().getValue(), l.getStartLine());
    p.range = {l.getStartLine(), l.getStartColumn(), l.getEndLine(), l.getEndColumn()};
  } else if (auto l = llvm::dyn_cast<mlir::NameLoc>(loc)) {
    return placeOf(session, l.getChildLoc());
  } else if (auto l = llvm::dyn_cast<mlir::FusedLoc>(loc)) {
    for (mlir::Location inner : l.getLocations()) {
      p = placeOf(session, inner);
      if (p.file) return p;
    }
  } else if (auto l = llvm::dyn_cast<mlir::CallSiteLoc>(loc)) {
    return placeOf(session, l.getCallee());
  }
  return p;
}

void addCallers(const frontend::Session& session, mlir::Location loc, Diagnostic& d) {
  while (auto call = llvm::dyn_cast<mlir::CallSiteLoc>(loc)) {
    Place p = placeOf(session, call.getCaller());
    d.notes.push_back({Severity::Note, "", "called from here", p.file, p.range, {}});
    loc = call.getCaller();
  }
}

// With the notes that are attached to it.
Diagnostic reported(const frontend::Session& session, mlir::Diagnostic& from, Severity severity, std::string kind) {
  Diagnostic d = diagnosticAt(session, from.getLocation(), severity, std::move(kind), from.str());
  for (mlir::Diagnostic& note : from.getNotes())
    d.notes.push_back(diagnosticAt(session, note.getLocation(), Severity::Note, "", note.str()));
  return d;
}

}  // namespace

Diagnostic diagnosticAt(const frontend::Session& session, mlir::Location loc, Severity severity, std::string kind,
                        std::string message) {
  Place p = placeOf(session, loc);
  Diagnostic d{severity, std::move(kind), std::move(message), p.file, p.range, {}};
  addCallers(session, loc, d);
  return d;
}

DiagnosticCollector::DiagnosticCollector(mlir::MLIRContext& context, const frontend::Session& session)
    : handler_(&context, [this, &session](mlir::Diagnostic& d) {
        if (d.getSeverity() == mlir::DiagnosticSeverity::Error)
          errors_.push_back(reported(session, d, Severity::Error, "invalid-op"));
        if (d.getSeverity() == mlir::DiagnosticSeverity::Warning)
          warnings_.push_back(reported(session, d, Severity::Warning, "unordered-load"));
        return mlir::success();
      }) {}

void DiagnosticCollector::fail(const std::string& stage) const {
  if (!errors_.empty()) throw CompileError(errors_.front());
  throw CompileError({Severity::Error, "internal", stage + " failed without saying why", nullptr, {}, {}});
}

}  // namespace tandem::compiler
