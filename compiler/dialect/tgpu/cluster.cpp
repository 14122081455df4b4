// Clusters as attributes.
#include "compiler/dialect/tgpu/cluster.h"
#include "compiler/dialect/tgpu/tgpu.h"

namespace tandem::tgpu {
using namespace mlir;

// Before the first pass that makes ops of the dialect it is not loaded, and says nothing.
static TgpuDialect* dialectOf(Operation* op) { return op->getContext()->getLoadedDialect<TgpuDialect>(); }

int64_t blocksOf(func::FuncOp kernel) {
  TgpuDialect* tgpu = dialectOf(kernel);
  IntegerAttr blocks = tgpu ? tgpu->getBlocksAttrHelper().getAttr(kernel) : nullptr;
  return blocks ? blocks.getInt() : 1;
}

void setBlocks(func::FuncOp kernel, int64_t blocks) {
  dialectOf(kernel)->getBlocksAttrHelper().setAttr(kernel,
                                                   IntegerAttr::get(IntegerType::get(kernel.getContext(), 32), blocks));
}

bool isWhole(Operation* op) {
  TgpuDialect* tgpu = dialectOf(op);
  return tgpu && tgpu->getWholeAttrHelper().isAttrPresent(op);
}
void setWhole(Operation* op) { dialectOf(op)->getWholeAttrHelper().setAttr(op, UnitAttr::get(op->getContext())); }

DenseI64ArrayAttr ownPart(tile::BlockStoreOp store) { return dialectOf(store)->getOwnPartAttrHelper().getAttr(store); }
void setOwnPart(tile::BlockStoreOp store, DenseI64ArrayAttr part) {
  dialectOf(store)->getOwnPartAttrHelper().setAttr(store, part);
}

}  // namespace tandem::tgpu
