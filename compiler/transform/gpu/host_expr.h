// Values that the launcher can compute from the kernel's arguments.
#pragma once
#include "abi/kernel_image.h"
#include <mlir/IR/Value.h>
#include <optional>

namespace tandem::transform::gpu {

// Nothing when the value depends on more than arguments and constants.
std::optional<abi::HostExpr> hostExpr(mlir::Value value);

}  // namespace tandem::transform::gpu
