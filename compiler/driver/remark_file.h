// Remarks as files for LLVM's tools (opt-viewer, llvm-remarkutil).
#pragma once
#include "abi/kernel_image.h"

namespace tandem::compiler {

// The image's remarks in LLVM's YAML form: documents with Pass, Name, DebugLoc, Function and Args.
std::string remarksAsYaml(const abi::KernelImage& image);

}  // namespace tandem::compiler
