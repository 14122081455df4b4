// Texts the C ABI gives out; the caller frees them with td_free.
#pragma once
#include <cstdlib>
#include <cstring>
#include <new>
#include <nlohmann/json.hpp>
#include <string>

namespace tandem {

inline char* copyOut(const std::string& text) {
  char* out = static_cast<char*>(std::malloc(text.size() + 1));
  if (!out) throw std::bad_alloc();
  std::memcpy(out, text.c_str(), text.size() + 1);
  return out;
}

// Text from a user's program may hold anything; JSON must not fail on it.
inline char* copyOut(const nlohmann::json& value) {
  return copyOut(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace tandem
