// The list of every name kernels may use, for the Python package's stub modules.
#include "compiler/driver/compile.h"
#include "compiler/driver/value_json.h"
#include "compiler/frontend/builtin/elsewhere.h"
#include "compiler/frontend/builtin/registry.h"
#include "compiler/frontend/semantic/dtype_member.h"
#include <nlohmann/json.hpp>
#include <set>

namespace tandem::compiler {
namespace {
using namespace tandem::frontend;
using nlohmann::json;

// The library's name for itself with the name's full name there.
json namesElsewhere(const Elsewhere& names) {
  json out = json::object();
  if (!names.triton.empty()) out["Triton"] = names.triton;
  if (!names.tritonDistributed.empty()) out["Triton-distributed"] = names.tritonDistributed;
  if (!names.openShmem.empty()) out["OpenSHMEM"] = names.openShmem;
  return out;
}

json entry(const std::string& module, const std::string& name) {
  std::string canonical = module + "." + name;
  json out = {{"module", module}, {"name", name}};
  if (std::optional<Value> constant = findConstant(canonical)) {
    out["kind"] = "constant";
    if (constant->is<std::shared_ptr<Namespace>>()) {
      const Namespace& space = *constant->as<std::shared_ptr<Namespace>>();
      json members = json::object();
      for (const auto& [member, value] : space.attributes) members[member] = toJson(value);
      out["value"] = {{"namespace", members}, {"name", space.name}};
    } else {
      out["value"] = toJson(*constant);
    }
  } else if (const Builtin* b = findBuiltin(canonical)) {
    out["kind"] = "function";
    out["signature"] = b->signature;
    out["doc"] = b->doc.text;
    out["by"] = wordOf(b->doc.by);
    if (!b->doc.rule.empty()) out["rule"] = b->doc.rule;
  } else {
    std::optional<LibraryFunction> function = findLibraryFunction(canonical);
    out["kind"] = "library";
    out["signature"] = function->signature;
    out["doc"] = function->doc;
    if (module == "tl") out["by"] = wordOf(Caller::Program);
  }
  if (std::optional<Elsewhere> names = elsewhere(canonical)) out["elsewhere"] = namesElsewhere(*names);
  return out;
}

// Returns the attributes and methods of every scalar type, and of a pointer ("*"): {"fp16": {"attributes": {...},
// "methods": {...}}}.
json dtypes() {
  json out = json::object();
  for (size_t s = 0; s <= kScalars; ++s) {
    DType dtype = s < kScalars ? DType{Scalar(s)} : DType{Scalar::Void, 1};
    json facts = {{"attributes", json::object()}, {"methods", json::object()}};
    for (const DTypeMember& member : dtypeMembers())
      if (std::optional<Value> answer = member.of(dtype))
        facts[member.isMethod ? "methods" : "attributes"][member.name] = toJson(*answer);
    out[dtype.isPointer() ? "*" : dtype.name()] = std::move(facts);
  }
  return out;
}

}  // namespace

std::string builtinsJson() {
  json names = json::array(), modules = json::object();
  std::set<std::string> canonical;
  for (const auto& [imported, module] : importNames()) {
    modules[imported] = module;
    canonical.insert(module);
  }
  for (const std::string& module : canonical)
    for (const std::string& name : namesOf(module)) names.push_back(entry(module, name));
  return json{{"names", names}, {"modules", modules}, {"dtypes", dtypes()}}.dump();
}

}  // namespace tandem::compiler
