// Which stores TMA surely does: it takes no negative coordinates for them, and rows from multiples of 16 bytes only.
#pragma once
#include "compiler/analysis/axis_info.h"
#include "compiler/dialect/tile/tile.h"

namespace tandem::lower::nvidia {

struct UncertainStart {
  llvm::SmallVector<mlir::Value> signs;  // offsets that may be negative
  int64_t multiple = 1;                  // of what the last offset may not be a multiple; 1: it surely is one of what TMA asks for
  explicit operator bool() const { return !signs.empty() || multiple > 1; }
};
UncertainStart uncertainStart(mlir::tile::BlockStoreOp store, analysis::AxisInfoAnalysis& axes);

}  // namespace tandem::lower::nvidia
