// One context for all tests; a fresh session for each kernel.
#include "compiler/frontend/emit/test/emit_text.h"
#include "compiler/frontend/emit/emit.h"
#include "compiler/frontend/emit/module_file.h"
#include <llvm/Support/raw_ostream.h>
#include <mlir/IR/Diagnostics.h>
#include <mlir/IR/Verifier.h>

namespace tandem::frontend::test {
namespace {

KernelArgument argumentFor(const std::string& name) {
  KernelArgument a;
  a.name = name;
  if (name[0] >= 'A' && name[0] <= 'Z') {
    a.kind = KernelArgument::Kind::Constexpr;
    a.constant = Int(32);
    return a;
  }
  const char* type = name[0] == 'p'   ? "*fp32"
                     : name[0] == 'h' ? "*fp16"
                     : name[0] == 'l' ? "i64"
                     : name[0] == 'f' ? "fp32"
                     : name[0] == 'b' ? "i1"
                                      : "i32";
  a.type = *DType::parse(type);
  return a;
}

std::string at(const Diagnostic& d) {
  return std::to_string(d.range.line) + ":" + std::to_string(d.range.column) + " ";
}

}  // namespace

Result emitText(const std::string& text, bool debug) {
  static mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  loadDialects(context);
  Result out;
  Session session;
  std::string verifierError;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic& d) {
    verifierError += d.str();
    return mlir::success();
  });
  try {
    auto file = std::make_shared<SourceFile>();
    file->name = "k.py";
    file->text = "import triton.language as tl\nimport triton_dist.language as dl\n" + text;
    ModuleFile* module = session.loadModule(file);
    KernelRequest request;
    request.kernel = module->function("k");
    for (const ast::Parameter& p : request.kernel->parameters()) request.arguments.push_back(argumentFor(p.name));
    request.options.debug = debug;
    EmittedKernel kernel = emitKernel(context, session, request);
    if (mlir::failed(mlir::verify(*kernel.module))) {
      out.error = "verifier: " + verifierError;
      return out;
    }
    llvm::raw_string_ostream stream(out.ir);
    kernel.module->print(stream);
  } catch (const CompileError& error) {
    const Diagnostic& d = error.diagnostic;
    out.error = at(d) + d.kind + ": " + d.message;
    for (const Diagnostic& n : d.notes) out.notes += at(n) + n.message + "\n";
  }
  return out;
}

size_t count(const std::string& text, const std::string& what) {
  size_t n = 0;
  for (size_t i = text.find(what); i != std::string::npos; i = text.find(what, i + what.size())) ++n;
  return n;
}

}  // namespace tandem::frontend::test
