// This file writes VALUE objects; a value that requests cannot hold becomes a foreign value.
#include "compiler/driver/value_json.h"
#include "compiler/frontend/builtin/registry.h"
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

namespace tandem::compiler {
using frontend::Value;
using nlohmann::json;

namespace {

std::string shortest(double value) {
  std::array<char, 64> buffer;
  return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr};
}

}  // namespace

json toJson(const Value& value) {
  if (value.isNone()) return {{"none", true}};
  if (value.is<bool>()) return {{"bool", value.as<bool>()}};
  if (value.is<frontend::Int>()) return {{"int", frontend::repr(value)}};
  if (value.is<double>()) return {{"float", shortest(value.as<double>())}};
  if (value.is<std::string>()) return {{"str", value.as<std::string>()}};
  if (value.is<frontend::DType>()) return {{"dtype", value.as<frontend::DType>().name()}};
  if (value.isTuple()) {
    json elements = json::array();
    for (const Value& e : value.elements()) elements.push_back(toJson(e));
    return {{value.as<std::shared_ptr<frontend::Tuple>>()->isList ? "list" : "tuple", elements}};
  }
  if (value.is<const frontend::Builtin*>()) return {{"builtin", value.as<const frontend::Builtin*>()->name}};
  return {{"foreign", frontend::describe(value)}};
}

}  // namespace tandem::compiler
