// Three nets: an exception from LLVM's fatal error handler, crash recovery for signals, a diagnostic handler on the
// context.
#include "compiler/codegen/nvidia/guard.h"
#include <llvm/IR/DiagnosticHandler.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/Support/CrashRecoveryContext.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/raw_ostream.h>
#include <mutex>
#include <new>
#include <stdexcept>

namespace tandem::codegen {
namespace {

// LLVM's handlers of the signals are in place only while some thread is inside `guarded`.
class SignalHandlers {
 public:
  SignalHandlers() {
    std::lock_guard lock(mutex());
    if (users()++ == 0) llvm::CrashRecoveryContext::Enable();
  }
  ~SignalHandlers() {
    std::lock_guard lock(mutex());
    if (--users() == 0) llvm::CrashRecoveryContext::Disable();
  }
  SignalHandlers(const SignalHandlers&) = delete;

 private:
  static std::mutex& mutex() {
    static std::mutex m;
    return m;
  }
  static int& users() {
    static int count = 0;
    return count;
  }
};

class FirstError : public llvm::DiagnosticHandler {
 public:
  explicit FirstError(std::string& message) : message_(message) {}
  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    if (info.getSeverity() == llvm::DS_Error && message_.empty()) {
      llvm::raw_string_ostream stream(message_);
      llvm::DiagnosticPrinterRawOStream printer(stream);
      info.print(printer);
    }
    return true;
  }

 private:
  std::string& message_;
};

[[noreturn]] void rethrow(const std::string& stage, std::exception_ptr thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::runtime_error& e) {
    throw codegenError("internal", "could not " + stage + ": " + e.what());
  }
}

}  // namespace

void installFatalErrorHandlers() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::install_fatal_error_handler([](void*, const char* reason, bool) { throw std::runtime_error(reason); });
    llvm::install_bad_alloc_error_handler([](void*, const char*, bool) { throw std::bad_alloc(); });
  });
}

CompileError codegenError(std::string kind, std::string message) {
  return CompileError({Severity::Error, std::move(kind), std::move(message), nullptr, {}, {}});
}

bool survives(llvm::function_ref<void()> work) {
  SignalHandlers handlers;
  std::exception_ptr thrown;
  llvm::CrashRecoveryContext recovery;
  bool survived = recovery.RunSafely([&] {
    try {
      work();
    } catch (...) {
      thrown = std::current_exception();
    }
  });
  if (thrown) std::rethrow_exception(thrown);
  return survived;
}

void guarded(const std::string& stage, llvm::LLVMContext& context, llvm::function_ref<void()> work) {
  installFatalErrorHandlers();
  std::string message;
  auto previous = context.getDiagnosticHandler();
  context.setDiagnosticHandler(std::make_unique<FirstError>(message));
  std::exception_ptr thrown;
  bool survived = true;
  try {
    survived = survives(work);
  } catch (...) {
    thrown = std::current_exception();
  }
  context.setDiagnosticHandler(std::move(previous));
  if (!message.empty()) throw codegenError("internal", "could not " + stage + ": " + message);
  if (thrown) rethrow(stage, thrown);
  if (!survived) throw codegenError("internal", "could not " + stage + ": LLVM crashed");
}

}  // namespace tandem::codegen
