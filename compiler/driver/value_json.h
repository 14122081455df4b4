// These functions write constants as the VALUE objects of requests.
#pragma once
#include "compiler/frontend/semantic/value.h"
#include <nlohmann/json_fwd.hpp>

namespace tandem::compiler {

nlohmann::json toJson(const frontend::Value& value);

}  // namespace tandem::compiler
