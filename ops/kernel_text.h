// The operators' kernels, embedded at build time from the .py files beside their host code.
#pragma once
#include "tandem/kernel.h"

namespace tandem::ops {

// The kernel of that name in a file of this room ("ops/ag_gemm/ag_gemm.py").
const Kernel& kernelOf(const std::string& path, const std::string& name);

}  // namespace tandem::ops
