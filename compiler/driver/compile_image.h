// The compiler as a library, for GPUs: a request in, a kernel's image or diagnostics out.
#pragma once
#include "abi/kernel_image.h"
#include "base/diagnostic.h"
#include <memory>
#include <string>
#include <vector>

namespace tandem::compiler {

// The request is compile.h's, with a GPU ("sm_90a") as options.target.
struct CompiledImage {
  std::shared_ptr<abi::KernelImage> image;
  std::string error;                    // rendered diagnostics when `image` is null
  std::vector<Diagnostic> diagnostics;  // the error, or the warnings
};
// Thread-safe. Never throws, never exits.
CompiledImage compileToImage(const std::string& requestJson);

}  // namespace tandem::compiler
