// Clusters as attributes.
#include "compiler/dialect/tgpu/cluster.h"

namespace tandem::tgpu {
using namespace mlir;

static constexpr llvm::StringLiteral kBlocks = "tgpu.blocks", kWhole = "tgpu.whole", kOwnPart = "tgpu.own_part";

int64_t blocksOf(func::FuncOp kernel) {
  auto blocks = kernel->getAttrOfType<IntegerAttr>(kBlocks);
  return blocks ? blocks.getInt() : 1;
}

void setBlocks(func::FuncOp kernel, int64_t blocks) {
  kernel->setAttr(kBlocks, IntegerAttr::get(IntegerType::get(kernel.getContext(), 32), blocks));
}

bool isWhole(Operation* op) { return op->hasAttr(kWhole); }
void setWhole(Operation* op) { op->setAttr(kWhole, UnitAttr::get(op->getContext())); }
Attribute ownPart(Operation* op) { return op->getAttr(kOwnPart); }
void setOwnPart(Operation* op, Attribute part) { op->setAttr(kOwnPart, part); }

}  // namespace tandem::tgpu
