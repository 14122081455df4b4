// The order of the stages for the simulator: request, ops, verifier, canonicalisation, the simulator's program.
#include "compiler/driver/compile.h"
#include "compiler/analysis/written_parameters.h"
#include "compiler/dialect/dist/attributes.h"
#include "compiler/driver/compilation.h"
#include "compiler/driver/compile_image.h"
#include "compiler/pipeline/pipeline.h"

namespace tandem::compiler {

// Checks the request's launch. Returns the numbers of the arguments that decide its signals, as JSON.
static std::string signalsText(Compilation& c) {
  const nlohmann::json& launch = c.launch();
  c.run([&](mlir::OpPassManager& passes) {
    pipeline::addLaunchChecks(passes, {launch.at("ranks"), launch.at("grid"), launch.at("numbers")});
  });
  std::vector<unsigned> deciding;
  for (mlir::BlockArgument argument : c.kernel().getArguments())
    if (dist::decidesSignals(argument)) deciding.push_back(argument.getArgNumber());
  return nlohmann::json(deciding).dump();
}

// The numbers of the arguments through which the kernel may write, as JSON; null where it may write elsewhere.
static std::string writesText(Compilation& c) {
  auto written = analysis::writtenParameters(c.kernel());
  return written ? nlohmann::json(std::vector<unsigned>(written->begin(), written->end())).dump() : "null";
}

Compiled compileToProgram(const std::string& requestJson) {
  Compiled out;
  out.diagnostics = guarded(requestJson, [&](Compilation& c) {
    c.emit();
    c.run(pipeline::addSimPasses);
    out.program = c.lower();
  });
  out.error = render(out.diagnostics, Severity::Error);
  if (!out.error.empty()) out.program = nullptr;
  return out;
}

Emitted emit(const std::string& requestJson, const std::string& stage, bool locations) {
  Emitted out;
  std::vector<Diagnostic> diagnostics = guarded(requestJson, [&](Compilation& c) {
    if (stage == "ast") {
      out.text = c.syntaxText();
      return;
    }
    static constexpr const char* kStages[] = {"tile", "tile-opt", "signals", "writes", "sim",
                                              "gpu",  "layouts",  "llvm",    "ptx"};
    if (std::find(std::begin(kStages), std::end(kStages), stage) == std::end(kStages))
      throw CompileError(plainError(
          "bad-request",
          "unknown stage `" + stage +
              "`; the stages are `ast`, `tile`, `tile-opt`, `signals`, `writes`, `sim`, `gpu`, `layouts`, `llvm` "
              "and `ptx`"));
    c.emit();
    if (stage == "signals") {
      out.text = signalsText(c);
      return;
    }
    if (stage == "writes") {
      out.text = writesText(c);
      return;
    }
    if (stage == "gpu" || stage == "layouts" || stage == "llvm" || stage == "ptx") {
      out.text = gpuText(c, stage, locations);
      return;
    }
    if (stage != "tile") c.run(pipeline::addSimPasses);
    out.text = stage == "sim" ? interpreter::print(*c.lower()) : c.moduleText(locations);
  });
  out.error = render(diagnostics, Severity::Error);
  out.warnings = render(diagnostics, Severity::Warning);
  if (!out.error.empty()) out.text.clear();
  return out;
}

}  // namespace tandem::compiler
