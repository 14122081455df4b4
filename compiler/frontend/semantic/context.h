// The context of a kernel's compilation: the builder, the current source position, and the way to fail.
#pragma once
#include "base/diagnostic.h"
#include "compiler/frontend/semantic/value.h"
#include <functional>

namespace tandem::frontend {

struct CompileOptions {
  int numWarps = 4, numStages = 3, numCtas = 1;
  int maxRegisters = 0;        // 0: the target's choice
  std::string target = "sim";  // "sim", "sm_90a", ...
  bool debug = false;          // device_assert is kept
  // In debug mode integers of less than 64 bits are asserted not to overflow.
  bool assertsNoOverflow = true;
  std::string defaultDotPrecision = "tf32";
};

class Context {
 public:
  Context(mlir::MLIRContext& mlir, const CompileOptions& options) : builder(&mlir), options(options) {}

  mlir::OpBuilder builder;
  const CompileOptions& options;

  // The position that ops made now and errors thrown now belong to. The emitter keeps it up to date; `caller` chains
  // inlined calls.
  struct Place {
    SourceFilePtr file;
    SourceRange range;
    std::string function;
    const Place* caller = nullptr;
  };
  Place place;
  bool mayOverflow = false;  // integer arithmetic made now wraps, also in debug mode
  // The keywords of the call under way, as written; null outside one.
  const std::vector<ast::Keyword>* keywords = nullptr;
  // Returns the place of the keyword in the call under way, else `place`.
  SourceRange keywordRange(const std::string& name) const;
  mlir::Location loc() const;  // FileLineColRange of `place`, in CallSiteLocs of its callers

  // Throws CompileError at `place` (or at `range` of the same file) with "called from here" notes for the callers.
  [[noreturn]] void fail(const std::string& kind, const std::string& message) const;
  // `hint`: a way out, for a note there; may be empty.
  [[noreturn]] void failAt(const SourceRange& range, const std::string& kind, const std::string& message,
                           const std::string& hint = "") const;
  // Fails where `value` should have been a constant; a note names the parameters of the kernel that it is made of.
  [[noreturn]] void failConstexpr(const SourceRange& range, const std::string& message, const Value& value) const;
  void warn(const std::string& kind, const std::string& message);
  std::vector<Diagnostic> warnings;
  std::function<void(const std::string&)> staticPrint;  // where tl.static_print goes

  // Calls a function value (jit function, builtin, combine lambda) with the arguments; set by the emitter.
  std::function<Value(const Value& callee, const std::vector<Value>& positional,
                      const std::map<std::string, Value>& keywords)>
      call;
};

}  // namespace tandem::frontend
