// Every function of the C ABI fails this way: no exception leaves it, and the reason is kept for td_last_error.
#pragma once
#include "tandem/c_api.h"
#include <exception>
#include <string>

namespace tandem {

// The calling thread's last reason.
std::string& lastError();

template <class Body> int guarded(Body&& body) {
  try {
    lastError().clear();
    body();
    return 0;
  } catch (const std::exception& e) {
    lastError() = e.what();
    if (lastError().empty()) lastError() = "unknown error";
    return 1;
  }
}

int rankCount(td_session* session);

}  // namespace tandem
