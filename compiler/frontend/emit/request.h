// Compile requests in JSON (compiler/driver/compile.h describes them) become functions, values and arguments.
#pragma once
#include "compiler/frontend/emit/emit.h"
#include <nlohmann/json_fwd.hpp>

namespace tandem::frontend {

// Throws CompileError for a request that is not well formed (kind "bad-request") or does not parse.
// Functions of the request are loaded when they are first used; `json` must live as long as `session`.
KernelRequest readRequest(Session& session, const nlohmann::json& json);

}  // namespace tandem::frontend
