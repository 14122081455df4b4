// A session's reports as the C++ API throws them.
#pragma once
#include "tandem/error.h"
#include <nlohmann/json.hpp>

namespace tandem {

// The text of a C ABI call that gives one; throws Error when it failed.
std::string takeText(int status, char* text);
nlohmann::json reportsOf(td_session* session);
// Throws SimulationError when there is an error among the reports.
void throwErrors(const nlohmann::json& reports);

}  // namespace tandem
