// Launches read these facts of compiled code, for the simulator and for GPUs alike.
#pragma once
#include "runtime/session.h"

namespace tandem {

const std::string& nameOf(const runtime::Code& code);
std::string targetOf(const runtime::Code& code);
size_t argumentCount(const runtime::Code& code);

// Throws when the code is for another target than the rank's.
void checkTarget(const runtime::Code& code, const runtime::Session& session, int rank);

}  // namespace tandem
