// LLVM's NVPTX target machine for a TargetInfo.
#pragma once
#include "compiler/target/target_info.h"
#include <llvm/Target/TargetMachine.h>
#include <memory>

namespace tandem::codegen {

std::unique_ptr<llvm::TargetMachine> makeTargetMachine(const target::TargetInfo& target, int optLevel, bool fuseMulAdd);

}  // namespace tandem::codegen
