// The check of a pointer that a caller passes in.
#pragma once
#include <stdexcept>
#include <string>

namespace tandem {

template <class T> T& required(T* pointer, const char* name) {
  if (!pointer) throw std::invalid_argument(std::string("`") + name + "` is null");
  return *pointer;
}

}  // namespace tandem
