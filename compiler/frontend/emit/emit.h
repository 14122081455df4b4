// A kernel and its arguments in, a module with one function of tile, dist and simt ops out.
#pragma once
#include "compiler/frontend/emit/session.h"
#include "compiler/frontend/semantic/context.h"
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/BuiltinOps.h>
#include <mlir/IR/OwningOpRef.h>

namespace tandem::frontend {

// One parameter of a kernel: a runtime argument of a type, a constant, or a tuple of those.
struct KernelArgument {
  enum class Kind : uint8_t { Runtime, Constexpr, Tuple, Descriptor };
  std::string name;
  Kind kind = Kind::Runtime;
  DType type;                            // Runtime; of a Descriptor: its elements
  int32_t divisibility = 1;              // Runtime: a divisor of the value; for a pointer, of its address in bytes
  Value constant = None{};               // Constexpr
  std::vector<KernelArgument> elements;  // Tuple
  std::vector<std::string> names;        // Tuple: names of a named tuple
  std::vector<int64_t> blockShape;       // Descriptor
  bool nanPadding = false;               // Descriptor
};

struct KernelRequest {
  FunctionPtr kernel;
  std::vector<KernelArgument> arguments;
  CompileOptions options;
  // Names of pointer arguments that may address the same memory, where all others do not; nothing: any may.
  std::optional<std::vector<std::pair<std::string, std::string>>> overlapping;
  std::function<void(const std::string&)> staticPrint;  // as Context's
};

struct EmittedKernel {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
  std::vector<Diagnostic> warnings;
};

// Throws CompileError. The context must have the dialects of `loadDialects`; the result is not verified yet.
EmittedKernel emitKernel(mlir::MLIRContext& mlir, Session& session, const KernelRequest& request);
void loadDialects(mlir::MLIRContext& mlir);

}  // namespace tandem::frontend
