// The exceptions of the C++ API.
#pragma once
#include "tandem/c_api.h"
#include <stdexcept>
#include <string>
#include <vector>

namespace tandem {

// Bad input, a kernel that does not compile (the text is the rendered diagnostics), a failed allocation.
class TANDEM_API Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A run, simulated or on GPUs, found an error in its kernels. `kinds` are the reports' stable words ("deadlock",
// "out-of-bounds", ...).
class TANDEM_API SimulationError : public Error {
 public:
  SimulationError(const std::string& text, std::vector<std::string> kinds) : Error(text), kinds(std::move(kinds)) {}
  std::vector<std::string> kinds;
};

}  // namespace tandem
