// Values that differ from thread to thread.
#pragma once
#include <mlir/IR/Operation.h>

namespace tandem::transform::gpu {

bool dependOnThread(mlir::ValueRange values);
// Whether a branch or a loop around `op` goes different ways in different threads.
bool isDivergent(mlir::Operation* op);

}  // namespace tandem::transform::gpu
