// A block's tensor that the program chooses when it runs, as one tensor out of several that the launcher can describe.
#pragma once
#include "compiler/analysis/host_expr.h"
#include "compiler/dialect/tile/tile.h"
#include <memory>

namespace tandem::transform::nvidia {

// A decision tree.
struct TensorChoice {
  // how the conditions on the way here are decided: then the host knows base, shape and strides
  analysis::Facts facts;
  mlir::Value condition;  // null: no choice is left
  std::shared_ptr<TensorChoice> then, otherwise;
};

// Returns nothing if more than kernel arguments describes a tensor, or if a condition is not known where the load is.
std::optional<TensorChoice> tensorChoice(tile::BlockLoadOp load);

}  // namespace tandem::transform::nvidia
