// Marks of products.
#include "compiler/dialect/tgpu/products.h"

namespace tandem::tgpu {
using namespace mlir;

SmallVector<WgmmaOp> withJoined(WgmmaOp op) {
  auto joins = [](WgmmaOp product) { return product.getJoinsPrevious(); };
  SmallVector<WgmmaOp> products;
  if (joins(op)) return products;
  products.push_back(op);
  for (Operation* next = op->getNextNode(); next; next = next->getNextNode()) {
    auto product = dyn_cast<WgmmaOp>(next);
    if (product && !joins(product)) break;
    if (product) products.push_back(product);
  }
  return products;
}

bool beginsAtZero(Value carried) {
  return llvm::any_of(carried.getUsers(), [&](Operation* user) {
    auto product = dyn_cast<WgmmaOp>(user);
    return product && product.getAcc() == carried && product.getBeginsAtZero();
  });
}

std::optional<SlotOperand> slotOperand(tile::DotOp dot, bool isLhs) {
  Value operand = isLhs ? dot.getLhs() : dot.getRhs();
  auto permute = operand.getDefiningOp<tile::PermuteOp>();
  bool transposed = permute && permute.getOrder() == ArrayRef<int32_t>{1, 0};
  auto load = (transposed ? permute.getSource() : operand).getDefiningOp<LocalLoadOp>();
  auto ring = load && load.getRing() ? load.getRing().getDefiningOp<CopyRingOp>() : nullptr;
  bool isSummed = getElementTypeOrSelf(operand.getType()) == getElementTypeOrSelf(dot.getAcc().getType());
  if (!ring || ring.getOfGroups() || load->getBlock() != dot->getBlock() || !isSummed) return std::nullopt;
  return SlotOperand{load, transposed};
}

}  // namespace tandem::tgpu
