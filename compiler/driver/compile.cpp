// The order of the stages: request, ops, verifier, canonicalisation, the simulator's program.
#include "compiler/driver/compile.h"
#include "compiler/driver/context_pool.h"
#include "compiler/driver/diagnostics.h"
#include "compiler/frontend/emit/request.h"
#include "compiler/lower/sim/lower.h"
#include <llvm/Support/raw_ostream.h>
#include <mlir/IR/Verifier.h>
#include <mlir/Pass/PassManager.h>
#include <mlir/Transforms/Passes.h>
#include <nlohmann/json.hpp>

namespace tandem::compiler {
namespace {
using nlohmann::json;

Diagnostic plainError(const char* kind, const std::string& message) { return {Severity::Error, kind, message, nullptr, {}, {}}; }

// One compilation's state, up to whichever stage was asked for.
class Compilation {
 public:
  Compilation(BorrowedContext& context, const std::string& requestJson)
      : context_(*context), request_(json::parse(requestJson)), collector_(context_, session_) {}

  void emit() {
    frontend::KernelRequest request = frontend::readRequest(session_, request_);
    kernel_ = frontend::emitKernel(context_, session_, request);
    if (mlir::failed(mlir::verify(*kernel_.module))) collector_.fail("verification");
  }

  void canonicalize() {
    mlir::PassManager passes(&context_);
    passes.enableVerifier(false);
    passes.addPass(mlir::createCanonicalizerPass());
    passes.addPass(mlir::createCSEPass());
    if (mlir::failed(passes.run(*kernel_.module))) collector_.fail("canonicalisation");
    kernel_.function = *kernel_.module->getOps<mlir::func::FuncOp>().begin();
  }

  interpreter::ProgramPtr lower() { return tandem::lower::lowerToProgram(kernel_.function, session_.sources()); }

  std::string moduleText() {
    std::string text;
    llvm::raw_string_ostream stream(text);
    kernel_.module->print(stream);
    return text;
  }

  std::string syntaxText() {
    frontend::KernelRequest request = frontend::readRequest(session_, request_);
    return frontend::ast::print(*request.kernel->module);
  }

  const std::vector<Diagnostic>& warnings() const { return kernel_.warnings; }

 private:
  mlir::MLIRContext& context_;
  json request_;
  frontend::Session session_;
  DiagnosticCollector collector_;
  frontend::EmittedKernel kernel_;
};

// Runs `work` with a compilation; every way to fail becomes a diagnostic.
template <class Work> std::vector<Diagnostic> guarded(const std::string& requestJson, Work work) {
  installFatalErrorHandlers();
  try {
    BorrowedContext context;
    try {
      Compilation compilation(context, requestJson);
      work(compilation);
      return compilation.warnings();
    } catch (const CompileError&) {
      throw;
    } catch (const json::exception&) {
      throw;
    } catch (...) {
      context.discard();
      throw;
    }
  } catch (const CompileError& error) {
    return {error.diagnostic};
  } catch (const json::exception& error) {
    return {plainError("bad-request", std::string("the request is not well formed: ") + error.what())};
  } catch (const std::exception& error) {
    return {plainError("internal", std::string("the compiler failed: ") + error.what())};
  } catch (...) {
    return {plainError("internal", "the compiler failed")};
  }
}

std::string renderErrors(const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (const Diagnostic& d : diagnostics)
    if (d.severity == Severity::Error) text += d.render();
  return text;
}

}  // namespace

Compiled compileToProgram(const std::string& requestJson) {
  Compiled out;
  out.diagnostics = guarded(requestJson, [&](Compilation& c) {
    c.emit();
    c.canonicalize();
    out.program = c.lower();
  });
  out.error = renderErrors(out.diagnostics);
  if (!out.error.empty()) out.program = nullptr;
  return out;
}

Emitted emit(const std::string& requestJson, const std::string& stage) {
  Emitted out;
  std::vector<Diagnostic> diagnostics = guarded(requestJson, [&](Compilation& c) {
    if (stage == "ast") {
      out.text = c.syntaxText();
      return;
    }
    if (stage != "tile" && stage != "tile-opt" && stage != "sim")
      throw CompileError(plainError("bad-request", "unknown stage `" + stage + "`; the stages are `ast`, `tile`, `tile-opt` and `sim`"));
    c.emit();
    if (stage != "tile") c.canonicalize();
    out.text = stage == "sim" ? interpreter::print(*c.lower()) : c.moduleText();
  });
  out.error = renderErrors(diagnostics);
  if (!out.error.empty()) out.text.clear();
  return out;
}

}  // namespace tandem::compiler
