// Boxes follow from a tile's type alone.
#include "compiler/analysis/boxes.h"

namespace tandem::analysis {
using namespace mlir;

std::optional<layout::Swizzle> panelSwizzle(RankedTensorType tile) {
  int64_t bytes = tile.getShape().back() * tile.getElementTypeBitWidth() / 8;
  if (bytes < 32) return std::nullopt;
  return layout::widestSwizzle(bytes);
}

RankedTensorType matrixOf(RankedTensorType block) {
  return RankedTensorType::get(block.getShape().take_back(2), block.getElementType());
}

SmallVector<int64_t> tmaBox(RankedTensorType tile) {
  int64_t columns = panelBytes(*panelSwizzle(tile)) * 8 / tile.getElementTypeBitWidth();
  return {std::min<int64_t>(256, tile.getDimSize(0)), std::min(columns, tile.getDimSize(1))};
}

std::optional<SmallVector<int64_t>> multicastBox(RankedTensorType tile, int64_t blocks) {
  constexpr int64_t kSwizzledRows = 8;  // the swizzle's pattern repeats
  SmallVector<int64_t> box = tmaBox(tile);
  int64_t boxes = tile.getNumElements() / (box[0] * box[1]);
  if (boxes < blocks) box[0] /= blocks / boxes;
  if (box[0] < kSwizzledRows) return std::nullopt;
  return box;
}

SmallVector<int64_t> tmaStoreBox(RankedTensorType tile) {
  SmallVector<int64_t> box = tmaBox(tile);
  box[0] = std::min<int64_t>(64, box[0]);
  return box;
}

StagedPanels stagedPanels(func::FuncOp kernel, int numWarps, llvm::function_ref<bool(tile::BlockStoreOp)> isStaged) {
  StagedPanels panels;
  int64_t groups = std::max(1, numWarps / 4);
  kernel.walk([&](tile::BlockStoreOp op) {
    if (!isStaged(op)) return;
    RankedTensorType type = matrixOf(cast<RankedTensorType>(op.getValue().getType()));
    SmallVector<int64_t> box = tmaStoreBox(type);
    panels.bytes = std::max(panels.bytes, box[0] * box[1] * type.getElementTypeBitWidth() / 8);
    panels.perGroup = std::max(panels.perGroup, type.getNumElements() / (box[0] * box[1]) / groups);
  });
  return panels;
}

}  // namespace tandem::analysis
