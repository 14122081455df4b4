// What a Kernel holds, shared by the files of this room.
#pragma once
#include "tandem/kernel.h"
#include <mutex>

namespace tandem {

struct Kernel::Impl {
  std::string text, fileName, name;
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<td_program>> programs;  // by signature, constants and warps

  // Compiles, or finds what was compiled. Throws Error with the diagnostics.
  std::shared_ptr<td_program> specialise(const std::string& signature, const std::string& constants, int numWarps);
};

}  // namespace tandem
