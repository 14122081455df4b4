// This header defines the state of a Kernel, which the files of this room share.
#pragma once
#include "compiler/driver/compile.h"
#include "tandem/kernel.h"
#include <compare>
#include <mutex>

namespace tandem {

// A specialisation is one set of inputs for which a kernel is compiled. Types and constants are written as in
// compiler::requestForText.
struct Specialisation {
  std::string target, signature, constants;
  int numWarps = 4, numStages = 3, maxRegisters = 0;

  auto operator<=>(const Specialisation&) const = default;
};

struct Kernel::Impl {
  std::string text, fileName, name;
  compiler::FindModule find;
  std::mutex mutex;
  std::map<Specialisation, std::shared_ptr<td_program>> programs;

  // Compiles the kernel, or finds an earlier compilation. Throws Error with the diagnostics.
  std::shared_ptr<td_program> specialise(const Specialisation& wanted);

 private:
  std::string requestFor(const Specialisation& wanted) const;
};

}  // namespace tandem
