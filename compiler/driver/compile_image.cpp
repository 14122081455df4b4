// The order of the stages for GPUs.
#include "compiler/driver/compile_image.h"
#include <nlohmann/json.hpp>

namespace tandem::compiler {

CompiledImage compileToImage(const std::string& requestJson) {
  nlohmann::json request = nlohmann::json::parse(requestJson, nullptr, false);
  std::string target = "none";
  if (request.is_object() && request.contains("options") && request["options"].is_object())
    target = request["options"].value("target", target);
  Diagnostic error{Severity::Error, "unsupported-target", "this build has no code generator for target `" + target + "`", nullptr, {}, {}};
  return {nullptr, error.render(), {error}};
}

}  // namespace tandem::compiler
