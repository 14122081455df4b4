// Makes the session that the options of td_session_create ask for.
#pragma once
#include "runtime/session.h"

namespace tandem {

std::unique_ptr<runtime::Session> sessionFor(const std::string& optionsJson);

}  // namespace tandem
