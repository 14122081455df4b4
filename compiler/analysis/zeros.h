// Values known to be zero.
#pragma once
#include <mlir/IR/Value.h>

namespace tandem::analysis {

// Plus zero of any type, at every place.
bool isZero(mlir::Value value);

}  // namespace tandem::analysis
