// A kernel compiled ahead of time: the files a program needs that has the runtime library alone.
#pragma once
#include "abi/kernel_image.h"
#include <string>

namespace tandem::compiler {

struct Bundle {
  std::string name;      // of the files: NAME.tdimage, NAME.h, NAME.json
  std::string image;     // the image that gpu::Kernel::fromFile loads
  std::string header;    // C: NAME_launch with the kernel's parameters
  std::string metadata;  // JSON: target, threads, shared memory, registers, parameters
};
// Parameters have the request's names.
Bundle makeBundle(const abi::KernelImage& image, const std::string& requestJson);

}  // namespace tandem::compiler
