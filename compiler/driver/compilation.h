// One compilation's state, up to whichever stage was asked for, and how every way to fail becomes a diagnostic.
#pragma once
#include "base/diagnostic.h"
#include "compiler/driver/context_pool.h"
#include "compiler/driver/diagnostics.h"
#include "compiler/frontend/emit/request.h"
#include "interpreter/program.h"
#include <mlir/Pass/PassManager.h>
#include <nlohmann/json.hpp>

namespace tandem::compiler {

Diagnostic plainError(const char* kind, const std::string& message);
// Throws CompileError if the text is nested too deep, and nlohmann's errors if it is not JSON.
nlohmann::json parseRequest(const std::string& requestJson);
std::string render(const std::vector<Diagnostic>& diagnostics, Severity severity);  // those of this severity

class Compilation {
 public:
  Compilation(BorrowedContext& context, const std::string& requestJson)
      : context_(*context), request_(parseRequest(requestJson)), collector_(context_, session_) {}

  void emit();
  // Runs the passes that `addPasses` adds. Throws the CompileError that one of them reports, or InternalFailure.
  void run(llvm::function_ref<void(mlir::OpPassManager&)> addPasses);
  // Goes back to this copy of the module as `emit` left it. What passes have warned of is forgotten.
  void beginAgain(mlir::OwningOpRef<mlir::ModuleOp> emitted);
  // Runs `work`. A signal, or an exception other than a CompileError, becomes an InternalFailure in `stage`, which is
  // read then.
  void survive(const std::string& stage, llvm::function_ref<void()> work);
  // From now on `run` only writes, to this file, the IR and the passes in the form of `tandem-opt --run-reproducer`.
  // Nothing is printed while the kernel is emitted.
  void onlyReproduceTo(const std::string& path) { reproducer_ = path; }
  interpreter::ProgramPtr lower();
  std::string syntaxText();
  std::string moduleText(bool locations);
  std::string option(const char* name) const;  // of the request's options; empty when absent
  const nlohmann::json& launch() const { return request_.at("launch"); }

  mlir::func::FuncOp kernel() { return kernel_.function; }
  mlir::ModuleOp module() { return *kernel_.module; }
  const std::vector<SourceFilePtr>& sources() { return session_.sources(); }
  const frontend::Session& session() const { return session_; }
  std::vector<Diagnostic> warnings() const;
  DiagnosticCollector& collector() { return collector_; }

 private:
  mlir::MLIRContext& context_;
  nlohmann::json request_;
  frontend::Session session_;
  DiagnosticCollector collector_;
  frontend::EmittedKernel kernel_;
  std::string reproducer_;  // empty: the passes run
};

// The texts of the stages for GPUs (compile_image.cpp): "gpu" (products chosen), "layouts", "llvm", "ptx".
std::string gpuText(Compilation& compilation, const std::string& stage, bool locations);

// Runs `work` with a compilation; every way to fail becomes a diagnostic. Returns errors or warnings.
std::vector<Diagnostic> guarded(const std::string& requestJson, llvm::function_ref<void(Compilation&)> work);

}  // namespace tandem::compiler
