// Tells a kernel's author which unit does each product.
#pragma once
#include "compiler/target/target_info.h"
#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tandem::transform::nvidia {

// For a kernel whose products and copies have been chosen, before layouts.
void remarkProducts(mlir::func::FuncOp kernel, const target::TargetInfo& target);

}  // namespace tandem::transform::nvidia
