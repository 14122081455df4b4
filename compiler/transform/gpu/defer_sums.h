// Online softmax: rows' sums that a loop carries are kept in parts, and added up behind the loop. Knows nothing of layouts.
#pragma once
#include "compiler/target/target_info.h"
#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tandem::transform::gpu {

// `sum = sum * exp(a) + reduce(exp(b))`, whose value nobody looks at in the loop, is carried as eight sums of every eighth column: of a
// product's result a thread holds just those, so threads exchange sums once a loop, not once an iteration. Powers are never negative, so
// nothing cancels that did not. True: some loop changed.
bool deferSums(mlir::func::FuncOp kernel, const target::TargetInfo& target);

}  // namespace tandem::transform::gpu
