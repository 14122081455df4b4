// Names the kernel's parameters from the request and writes the launch function's text.
#include "compiler/driver/bundle.h"
#include "abi/kernel_image_io.h"
#include <nlohmann/json.hpp>

namespace tandem::compiler {
namespace {
using abi::ParamType;
using nlohmann::json;

struct Parameter {
  std::string name;
  int divisibility = 1;
};

std::string identifier(const std::string& text) {
  std::string out;
  for (char c : text) out += std::isalnum(static_cast<unsigned char>(c)) && uint8_t(c) < 128 ? c : '_';
  return out.empty() || std::isdigit(static_cast<unsigned char>(out[0])) ? "_" + out : out;
}

void flatten(const json& argument, const std::string& name, std::vector<Parameter>& out) {
  if (argument.contains("constexpr")) return;
  if (argument.contains("tuple")) {
    for (size_t i = 0; i < argument["tuple"].size(); ++i)
      flatten(argument["tuple"][i], name + "_" + std::to_string(i), out);
    return;
  }
  if (!argument.contains("descriptor")) {
    out.push_back({name, argument.value("divisibility", 1)});
    return;
  }
  size_t rank = argument["descriptor"].at("block_shape").size();
  out.push_back({name, 16});
  for (size_t i = 0; i < rank; ++i) out.push_back({name + "_shape" + std::to_string(i)});
  for (size_t i = 0; i < rank; ++i) out.push_back({name + "_stride" + std::to_string(i)});
}

std::vector<Parameter> parametersOf(const abi::KernelImage& image, const std::string& requestJson) {
  std::vector<Parameter> out;
  json request = json::parse(requestJson, nullptr, false);
  if (request.is_object() && request.contains("arguments"))
    for (const json& a : request["arguments"]) flatten(a, identifier(a.value("name", "")), out);
  if (out.size() == image.params.size()) return out;
  out.clear();
  for (size_t i = 0; i < image.params.size(); ++i) out.push_back({"argument" + std::to_string(i)});
  return out;
}

struct TypeRow {
  const char *c, *word;
  bool integer;
};
TypeRow rowOf(ParamType t) {
  static constexpr TypeRow rows[] = {
      {"uint64_t", "pointer", true}, {"int32_t", "i1", true},  {"int8_t", "i8", true},     {"int16_t", "i16", true},
      {"int32_t", "i32", true},      {"int64_t", "i64", true}, {"uint16_t", "fp16", true}, {"uint16_t", "bf16", true},
      {"float", "fp32", false},      {"double", "fp64", false}};
  static_assert(std::size(rows) == size_t(ParamType::F64) + 1);
  return rows[size_t(t)];
}

std::string headerText(const std::string& name, const abi::KernelImage& image,
                       const std::vector<Parameter>& parameters) {
  std::string declared, words, copies;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const auto& [parameter, divisibility] = parameters[i];
    TypeRow type = rowOf(image.params[i]);
    declared += std::string(",\n    ") + type.c + " " + parameter;
    if (divisibility > 1) declared += " /* a multiple of " + std::to_string(divisibility) + " */";
    words += (i ? ", " : "") + (type.integer ? "(uint64_t)" + parameter : std::string("0"));
    if (!type.integer)
      copies += "  memcpy(&arguments[" + std::to_string(i) + "], &" + parameter + ", sizeof " + parameter + ");\n";
  }
  std::string guard = "TANDEM_BUNDLE_" + name + "_H";
  return "/* Launches the kernel of " + name + ".tdimage, made for " + image.target + ". */\n#ifndef " + guard +
         "\n#define " + guard + "\n#include \"tandem/gpu_c_api.h\"\n#include <string.h>\n\n" +
         "/* `kernel` comes from td_gpu_load_file(\"" + name + ".tdimage\", &kernel). The grid counts programs of " +
         std::to_string(image.threads) +
         " threads.\n * fp16 and bf16 are passed as their bits. */\nstatic inline int " + name +
         "_launch(td_gpu_kernel* kernel, int device, uint64_t stream, int grid_x, int grid_y, int grid_z" + declared +
         ") {\n  uint64_t arguments[] = {" + (words.empty() ? "0" : words) + "};\n" + copies +
         "  return td_gpu_launch(kernel, device, stream, grid_x, grid_y, grid_z, arguments, " +
         std::to_string(parameters.size()) + ", 0);\n}\n#endif\n";
}

std::string metadataText(const std::string& name, const abi::KernelImage& image,
                         const std::vector<Parameter>& parameters) {
  json list = json::array();
  for (size_t i = 0; i < parameters.size(); ++i)
    list.push_back({{"name", parameters[i].name},
                    {"type", rowOf(image.params[i]).word},
                    {"divisibility", parameters[i].divisibility}});
  return json{{"name", image.name},       {"image", name + ".tdimage"},        {"target", image.target},
              {"threads", image.threads}, {"shared_bytes", image.sharedBytes}, {"registers", image.registers},
              {"cluster", image.cluster}, {"spill_bytes", image.spillBytes},   {"parameters", list}}
             .dump(2) +
         "\n";
}

}  // namespace

Bundle makeBundle(const abi::KernelImage& image, const std::string& requestJson) {
  std::string name = identifier(image.name);
  std::vector<Parameter> parameters = parametersOf(image, requestJson);
  return {name, abi::writeImage(image), headerText(name, image, parameters), metadataText(name, image, parameters)};
}

}  // namespace tandem::compiler
