// Tells a kernel's author which tiles change threads through shared memory.
#pragma once
#include "compiler/target/target_info.h"
#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tandem::transform::nvidia {

// For a kernel whose tiles have layouts.
void remarkConversions(mlir::func::FuncOp kernel, const target::TargetInfo& target);

}  // namespace tandem::transform::nvidia
