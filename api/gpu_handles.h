// These are the handles of the GPU part of the C ABI.
#pragma once
#include "runtime/backend/cuda/kernel.h"
#include "tandem/gpu_c_api.h"

struct td_gpu_kernel {
  tandem::runtime::cuda::Kernel kernel;

  explicit td_gpu_kernel(std::shared_ptr<const tandem::abi::KernelImage> image) : kernel(std::move(image)) {}
};

namespace tandem {

// "pointer", "i32", "fp16".
const char* wordOf(abi::ParamType type);

}  // namespace tandem
