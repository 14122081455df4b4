// Makes the session that the options of td_session_create ask for.
#pragma once
#include "runtime/session.h"

namespace tandem::interpreter {
class Chooser;
}

namespace tandem {

// `chooser` decides the schedule of simulated ranks; without one, their options do.
std::unique_ptr<runtime::Session> sessionFor(const std::string& optionsJson,
                                             std::shared_ptr<interpreter::Chooser> chooser = nullptr);

// Returns the file where sessions on GPUs leave their trace: $TANDEM_TRACE, which also has them traced. Empty: no file.
std::string traceFile();

}  // namespace tandem
