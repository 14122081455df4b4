// The thread's last error.
#include "api/guarded.h"

namespace tandem {

std::string& lastError() {
  thread_local std::string text;
  return text;
}

}  // namespace tandem
