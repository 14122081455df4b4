// The operators' kernels, embedded at build time from the .py files beside their host code.
#pragma once
#include "tandem/kernel.h"
#include <string_view>

namespace tandem::ops {

// The kernel of that name in a file of this room ("ops/ag_gemm/ag_gemm.py").
const Kernel& kernelOf(std::string_view path, std::string_view name);

}  // namespace tandem::ops
