// Ops that change nothing fold to their source.
#include "compiler/dialect/tile/tile.h"

using namespace mlir;

namespace tandem::tile {

/// Returns `source` if it has the result's type already.
static OpFoldResult foldSameType(Value source, Type result) {
  return source.getType() == result ? source : OpFoldResult();
}

OpFoldResult BroadcastOp::fold(FoldAdaptor) { return foldSameType(getSource(), getType()); }
OpFoldResult BitcastOp::fold(FoldAdaptor) { return foldSameType(getSource(), getType()); }
OpFoldResult FpToFpOp::fold(FoldAdaptor) { return foldSameType(getSource(), getType()); }

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  return getReorder() ? OpFoldResult() : foldSameType(getSource(), getType());
}

OpFoldResult PermuteOp::fold(FoldAdaptor) {
  for (auto [position, axis] : llvm::enumerate(getOrder()))
    if (int64_t(position) != axis) return {};
  return getSource();
}

}  // namespace tandem::tile
