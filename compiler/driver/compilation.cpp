// One compilation, stage by stage.
#include "compiler/driver/compilation.h"
#include "compiler/codegen/nvidia/guard.h"
#include "compiler/driver/compile.h"
#include "compiler/driver/inspection.h"
#include "compiler/lower/sim/lower.h"
#include <cstdio>
#include <llvm/Support/raw_ostream.h>
#include <mlir/IR/Verifier.h>
#include <mlir/Pass/PassManager.h>

namespace tandem::compiler {
using nlohmann::json;

namespace {
std::function<void(const std::string&)> staticPrinter = [](const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
};

// The file that `onlyReproduceTo` has asked for is written.
struct Reproduced : std::exception {};
}  // namespace

void setStaticPrinter(std::function<void(const std::string&)> printer) { staticPrinter = std::move(printer); }

Diagnostic plainError(const char* kind, const std::string& message) {
  return {Severity::Error, kind, message, nullptr, {}, {}};
}

// Code that reads a value recurses as deep as the value nests.
json parseRequest(const std::string& requestJson) {
  constexpr int kMaxDepth = 500;
  return json::parse(requestJson, [](int depth, json::parse_event_t, json&) {
    if (depth > kMaxDepth)
      throw CompileError(
          plainError("bad-request", "the request is nested more than " + std::to_string(kMaxDepth) + " deep"));
    return true;
  });
}

std::string render(const std::vector<Diagnostic>& diagnostics, Severity severity) {
  std::string text;
  for (const Diagnostic& d : diagnostics)
    if (d.severity == severity) text += d.render();
  return text;
}

void Compilation::emit() {
  frontend::KernelRequest request = frontend::readRequest(session_, request_);
  request.staticPrint = reproducer_.empty() ? staticPrinter : [](const std::string&) {};
  kernel_ = frontend::emitKernel(context_, session_, request);
  if (mlir::failed(mlir::verify(*kernel_.module))) collector_.fail("verification");
}

void Compilation::beginAgain(mlir::OwningOpRef<mlir::ModuleOp> emitted) {
  std::string name = kernel().getName().str();
  kernel_.module = std::move(emitted);
  kernel_.function = kernel_.module->lookupSymbol<mlir::func::FuncOp>(name);
  collector_.forgetWarnings();
}

void Compilation::run(llvm::function_ref<void(mlir::OpPassManager&)> addPasses) {
  auto passes = std::make_unique<mlir::PassManager>(&context_, mlir::ModuleOp::getOperationName());
  addPasses(passes->nest<mlir::func::FuncOp>());
  if (!reproducer_.empty()) {
    mlir::makeReproducer(mlir::ModuleOp::getOperationName(), passes->getPasses(), module(), reproducer_, true, true);
    throw Reproduced();
  }
  pipeline::PassRecord record;
  passes->addInstrumentation(std::make_unique<pipeline::Watch>(record, passObserver(module(), kernel().getName())));
  mlir::PassManager* running = passes.release();  // lost where a failure interrupts it
  bool isDone = false;
  survive(record.running, [&] { isDone = mlir::succeeded(running->run(module())); });
  passes.reset(running);
  if (isDone) return;
  if (collector_.errors().empty()) throw InternalFailure(record.running, "it failed without saying why");
  const Diagnostic& first = collector_.errors().front();
  if (record.leftBrokenIr) throw InternalFailure(record.running, "it left IR that does not verify: " + first.message);
  throw CompileError(first);
}

// A module whose change was interrupted is lost.
void Compilation::survive(const std::string& stage, llvm::function_ref<void()> work) {
  std::string why = "it crashed";
  try {
    if (codegen::survives(work)) return;
  } catch (const CompileError&) {
    throw;
  } catch (const std::exception& error) {
    why = error.what();
  }
  (void)kernel_.module.release();
  throw InternalFailure(stage, why);
}

interpreter::ProgramPtr Compilation::lower() {
  return tandem::lower::lowerToProgram(kernel_.function, session_.sources());
}

std::string Compilation::moduleText(bool locations) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  mlir::OpPrintingFlags flags;
  if (locations) flags.enableDebugInfo(true, true).useLocalScope();
  kernel_.module->print(stream, flags);
  return text;
}

std::string Compilation::syntaxText() {
  frontend::KernelRequest request = frontend::readRequest(session_, request_);
  return frontend::ast::print(*request.kernel->module);
}

std::string Compilation::option(const char* name) const {
  auto options = request_.find("options");
  if (options == request_.end() || !options->is_object() || !options->contains(name)) return "";
  const json& value = (*options)[name];
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::vector<Diagnostic> Compilation::warnings() const {
  std::vector<Diagnostic> all = kernel_.warnings;
  all.insert(all.end(), collector_.warnings().begin(), collector_.warnings().end());
  return all;
}

// The error of an internal failure, with a file that shows it again where one can be written.
static Diagnostic reproduce(const std::string& requestJson, llvm::function_ref<void(Compilation&)> work,
                            const InternalFailure& failure) {
  std::string path = reproducerPath(), words = "the compiler failed in `" + failure.stage + "`: " + failure.what();
  try {
    BorrowedContext context;
    Compilation again(context, requestJson);
    again.onlyReproduceTo(path);
    work(again);
  } catch (const Reproduced&) {
    words += "; `tandem-opt --run-reproducer " + path + "` shows it again";
  } catch (const std::exception&) {
    // Then there is no file; the failure itself is reported.
  }
  return plainError("internal", words);
}

std::vector<Diagnostic> guarded(const std::string& requestJson, llvm::function_ref<void(Compilation&)> work) {
  codegen::installFatalErrorHandlers();
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
  } catch (const InternalFailure& failure) {
    return {reproduce(requestJson, work, failure)};
  } catch (const std::exception& error) {
    return {plainError("internal", std::string("the compiler failed: ") + error.what())};
  } catch (...) {
    return {plainError("internal", "the compiler failed")};
  }
}

}  // namespace tandem::compiler
