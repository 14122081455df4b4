// What launches ask of compiled code, whichever target it is for.
#pragma once
#include "runtime/session.h"

namespace tandem {

const std::string& nameOf(const runtime::Code& code);
std::string targetOf(const runtime::Code& code);
size_t argumentCount(const runtime::Code& code);

// Throws when the code is for another target than the rank's.
void checkTarget(const runtime::Code& code, const runtime::Session& session, int rank);

}  // namespace tandem
