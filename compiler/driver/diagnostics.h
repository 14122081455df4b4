// The collector turns MLIR's reports (verifier errors, pass failures) into diagnostics at source lines.
#pragma once
#include "base/diagnostic.h"
#include "compiler/frontend/emit/session.h"
#include <mlir/IR/Diagnostics.h>
#include <vector>

namespace tandem::compiler {

// Returns a diagnostic at the place of `loc` in the text; calls that were inlined become notes.
Diagnostic diagnosticAt(const frontend::Session& session, mlir::Location loc, Severity severity, std::string kind,
                        std::string message);

// Takes the diagnostics of a context while in scope.
class DiagnosticCollector {
 public:
  DiagnosticCollector(mlir::MLIRContext& context, const frontend::Session& session);
  // The first error reported, or one saying that `stage` failed.
  [[noreturn]] void fail(const std::string& stage) const;
  const std::vector<Diagnostic>& errors() const { return errors_; }
  const std::vector<Diagnostic>& warnings() const { return warnings_; }
  void forgetWarnings() { warnings_.clear(); }

 private:
  std::vector<Diagnostic> errors_, warnings_;
  mlir::ScopedDiagnosticHandler handler_;
};

}  // namespace tandem::compiler
