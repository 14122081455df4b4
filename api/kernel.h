// This header defines the state of a Kernel, which the files of this room share.
#pragma once
#include "compiler/driver/compile.h"
#include "tandem/kernel.h"
#include <functional>
#include <mutex>
#include <unordered_map>

namespace tandem {

// A specialisation is one set of inputs for which a kernel is compiled. Types and constants are written as in
// compiler::requestForText.
struct Specialisation {
  std::string target, signature, constants;
  int numWarps = 4, numStages = 3, maxRegisters = 0;
};

struct Kernel::Impl {
  std::string text, fileName, name;
  compiler::FindModule find;
  std::mutex mutex;
  std::unordered_map<std::string, std::shared_ptr<td_program>> programs;  // by what a launch says, in bytes

  // Finds what was compiled for these bytes, or compiles what they stand for. Throws Error with the diagnostics.
  std::shared_ptr<td_program> specialise(const std::string& key, const std::function<Specialisation()>& wanted);

 private:
  std::string requestFor(const Specialisation& wanted) const;
};

}  // namespace tandem
