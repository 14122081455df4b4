// Looks at operands and sizes before the choice, at its marks behind.
#include "compiler/transform/gpu/joined_products.h"
#include "compiler/transform/gpu/operands.h"

namespace tandem::transform::gpu {
using namespace mlir;
namespace {

// Returns true if the right operand lies with K innermost, in one panel that no other product reads.
bool hasOwnPanel(tile::DotOp dot, ArrayRef<tile::DotOp> all) {
  OperandSource source = throughTranspose(dot.getRhs());
  auto type = cast<RankedTensorType>(source.source.getType());
  int readers = llvm::count_if(all, [&](tile::DotOp other) {
    return throughTranspose(other.getRhs()).source == source.source || throughTranspose(other.getLhs()).source == source.source;
  });
  int64_t rowBytes = type.getDimSize(1) * type.getElementTypeBitWidth() / 8;
  return source.transposed && readers == 1 && rowBytes == panelBytes(*panelSwizzle(type));
}

}  // namespace

bool canJoin(tile::DotOp before, tile::DotOp dot, ArrayRef<tile::DotOp> all, int numWarps) {
  auto type = cast<RankedTensorType>(dot.getType());
  bool dividesRows = numWarps / 4 <= type.getDimSize(0) / 64;
  return before.getLhs() == dot.getLhs() && dividesRows && type.getElementType().isF32() && hasOwnPanel(before, all) &&
         hasOwnPanel(dot, all);
}

SmallVector<tgpu::WgmmaOp> withJoined(tgpu::WgmmaOp op) {
  auto joins = [](tgpu::WgmmaOp product) { return product->hasAttr("tgpu.joins_previous"); };
  SmallVector<tgpu::WgmmaOp> products;
  if (joins(op)) return products;
  products.push_back(op);
  for (Operation* next = op->getNextNode(); next; next = next->getNextNode()) {
    auto product = dyn_cast<tgpu::WgmmaOp>(next);
    if (product && !joins(product)) break;
    if (product) products.push_back(product);
  }
  return products;
}

bool beginsAtZero(Value carried) {
  return llvm::any_of(carried.getUsers(), [&](Operation* user) {
    auto product = dyn_cast<tgpu::WgmmaOp>(user);
    return product && product.getAcc() == carried && product->hasAttr("tgpu.begins_at_zero");
  });
}

}  // namespace tandem::transform::gpu
