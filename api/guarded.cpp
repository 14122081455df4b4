// Every library of the C ABI has these functions, and the thread's last error.
#include "api/guarded.h"
#include "tandem/version.h"
#include <cstdlib>

namespace tandem {

std::string& lastError() {
  thread_local std::string text;
  return text;
}

}  // namespace tandem

extern "C" {

const char* td_version(void) { return TANDEM_VERSION; }
const char* td_last_error(void) { return tandem::lastError().c_str(); }
void td_free(char* text) { std::free(text); }

}  // extern "C"
