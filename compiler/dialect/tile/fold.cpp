// Ops that change nothing fold to their source.
#include "compiler/dialect/tile/tile.h"
#include <mlir/IR/PatternMatch.h>

using namespace mlir;

namespace tandem::tile {

/// Returns `source` if it has the result's type already.
static OpFoldResult foldSameType(Value source, Type result) {
  return source.getType() == result ? source : OpFoldResult();
}

OpFoldResult BroadcastOp::fold(FoldAdaptor) { return foldSameType(getSource(), getType()); }
OpFoldResult BitcastOp::fold(FoldAdaptor) { return foldSameType(getSource(), getType()); }

// What a conversion has widened exactly is converted from what it was: back, which is nothing, or from 8 bits to 16.
OpFoldResult FpToFpOp::fold(FoldAdaptor) {
  if (OpFoldResult same = foldSameType(getSource(), getType())) return same;
  auto inner = getSource().getDefiningOp<FpToFpOp>();
  if (!inner) return {};
  auto formatOf = [](Value v) -> const llvm::fltSemantics& {
    return cast<FloatType>(getElementTypeOrSelf(v.getType())).getFloatSemantics();
  };
  Value narrow = inner.getSource();
  if (!llvm::APFloat::isRepresentableBy(formatOf(narrow), formatOf(inner))) return {};
  if (narrow.getType() == getType()) return narrow;
  auto bitsOf = [](Value v) { return getElementTypeOrSelf(v.getType()).getIntOrFloatBitWidth(); };
  if (bitsOf(narrow) != 8 || bitsOf(getResult()) != 16) return {};
  getSourceMutable().assign(narrow);
  return getResult();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  return getReorder() ? OpFoldResult() : foldSameType(getSource(), getType());
}

OpFoldResult PermuteOp::fold(FoldAdaptor) {
  for (auto [position, axis] : llvm::enumerate(getOrder()))
    if (int64_t(position) != axis) return {};
  return getSource();
}

// Of one element along the axis, nothing is combined. A scalar is made of a tile of one element by this op alone.
LogicalResult ReduceOp::canonicalize(ReduceOp op, PatternRewriter& rewriter) {
  auto source = cast<RankedTensorType>(op.getSources().front().getType());
  if (source.getRank() == 1 || source.getDimSize(op.getAxis()) != 1) return failure();
  SmallVector<Value> reshaped;
  for (auto [tile, type] : llvm::zip(op.getSources(), op->getResultTypes()))
    reshaped.push_back(ReshapeOp::create(rewriter, op.getLoc(), type, tile));
  rewriter.replaceOp(op, reshaped);
  return success();
}

LogicalResult ScanOp::fold(FoldAdaptor, SmallVectorImpl<OpFoldResult>& results) {
  if (cast<RankedTensorType>(getSources().front().getType()).getDimSize(getAxis()) != 1) return failure();
  results.append(getSources().begin(), getSources().end());
  return success();
}

}  // namespace tandem::tile
