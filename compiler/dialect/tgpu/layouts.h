// A tile's layout is kept in an attribute of the op that defines it, or of the loop that carries it.
#pragma once
#include "compiler/layout/linear_layout.h"
#include <mlir/IR/Operation.h>

namespace tandem::tgpu {

// `value` is a tile whose layout is known.
layout::LinearLayout layoutOf(mlir::Value value);
void setLayout(mlir::Value value, const layout::LinearLayout& layout);

}  // namespace tandem::tgpu
