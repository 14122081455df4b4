// What each name of kernels is called in Triton 3.6, Triton-distributed and OpenSHMEM 1.5, for people who come from there.
#pragma once
#include <optional>
#include <string>

namespace tandem::frontend {

// A name's full names in the libraries that people come from; empty where that library has nothing like it.
struct Elsewhere {
  std::string triton, tritonDistributed, openShmem;
};
// Nothing for a name of which the table does not say whether one of them has it.
std::optional<Elsewhere> elsewhere(const std::string& canonicalName);

}  // namespace tandem::frontend
