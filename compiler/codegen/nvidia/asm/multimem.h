// Accesses to multicast addresses (sm_90, NVLink switch): one address stands for the same place on every device.
#pragma once
#include "compiler/codegen/nvidia/asm/memory.h"

namespace tandem::codegen::ptx {

enum class MultimemType { F32, F16x2, BF16x2, U32, S32, U64, F64 };

// `count` elements (16 bytes at most), summed over the devices; 16-bit pairs are accumulated in 32 bits. Relaxed at
// system scope.
Values multimemLoadAdd(llvm::IRBuilderBase& b, MultimemType type, unsigned count, llvm::Value* pointer);
// Writes to all devices.
void multimemStore(llvm::IRBuilderBase& b, MultimemType type, ValueRange values, llvm::Value* pointer,
                   llvm::Value* predicate = nullptr);

}  // namespace tandem::codegen::ptx
