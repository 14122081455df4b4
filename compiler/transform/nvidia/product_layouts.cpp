// Warps divide a product's result.
#include "compiler/transform/nvidia/product_layouts.h"
#include "compiler/dialect/tgpu/products.h"
#include "compiler/layout/distributed.h"
#include "compiler/transform/gpu/anchor_layouts.h"
#include "compiler/transform/nvidia/operands.h"

namespace tandem::transform::nvidia {
using namespace mlir;
using layout::LinearLayout;
using target::kMmaSync, target::kWgmma;
namespace {

layout::WarpGrid wgmmaGrid(RankedTensorType type, int numWarps) {
  int64_t m =
      std::min<int64_t>(numWarps, std::max<int64_t>(kWgmma.warps, type.getDimSize(0) / (kWgmma.rows / kWgmma.warps)));
  return {m, numWarps / m};
}

bool dependsOn(Value value, Operation* product, llvm::DenseSet<Operation*>& seen) {
  Operation* op = value.getDefiningOp();
  if (!op || op->getBlock() != product->getBlock() || !seen.insert(op).second) return false;
  return op == product || llvm::any_of(op->getOperands(), [&](Value v) { return dependsOn(v, product, seen); });
}

// Returns true if one of two products in a block computes the other's left operand.
bool isChained(tile::DotOp op) {
  auto feeds = [](tile::DotOp from, tile::DotOp to) {
    llvm::DenseSet<Operation*> seen;
    return from != to && dependsOn(to.getLhs(), from, seen);
  };
  return llvm::any_of(op->getBlock()->getOps<tile::DotOp>(),
                      [&](tile::DotOp other) { return feeds(op, other) || feeds(other, op); });
}

// Warps over the result so that the operands each one reads are small: over a batch's matrices, then along M, then where
// more rows or columns are left. With whole rows each warp has the part of one product that it needs for the next.
layout::WarpGrid mmaGrid(ArrayRef<int64_t> shape, int numWarps, bool wholeRows) {
  layout::WarpGrid grid;
  int64_t m = shape[shape.size() - 2], n = shape.back();
  grid.batch = std::min<int64_t>(numWarps, ShapedType::getNumElements(shape.drop_back(2)));
  while (grid.m * grid.n * grid.batch < numWarps) {
    bool moreRows = wholeRows || m / (grid.m * kMmaSync.rows) >= n / (grid.n * kMmaSync.leastColumns) / 2;
    if (moreRows && grid.m * kMmaSync.rows < m)
      grid.m *= 2;
    else if (grid.n * kMmaSync.leastColumns < n)
      grid.n *= 2;
    else
      grid.m *= 2;
  }
  return grid;
}

// Returns true if a slot has neighbours along a tile's first dimension.
bool hasRowsOfColumns(tgpu::LocalLoadOp load) {
  return load.getBuffer().getDefiningOp<tgpu::AllocOp>().getFastest() == 0;
}

// How the product's operands lie in slots, or in the memory that it stores them to.
gpu::Together togetherIn(tile::DotOp op) {
  gpu::Together together;
  if (auto slot = tgpu::slotOperand(op, true)) together.rows = slot->transposed != hasRowsOfColumns(slot->load);
  if (auto slot = tgpu::slotOperand(op, false)) together.columns = slot->transposed == hasRowsOfColumns(slot->load);
  return together;
}

}  // namespace

int64_t wgmmaColumns(RankedTensorType type, int numWarps) {
  return std::min<int64_t>(kWgmma.mostColumns, type.getDimSize(1) / wgmmaGrid(type, numWarps).n);
}

int64_t groupsAlongColumns(RankedTensorType type, int numWarps) { return wgmmaGrid(type, numWarps).n; }

LinearLayout wgmmaResult(RankedTensorType type, int numWarps) {
  return layout::wgmmaResult(type.getShape(), wgmmaGrid(type, numWarps), wgmmaColumns(type, numWarps));
}

LinearLayout wgmmaLhs(RankedTensorType type, int numWarps) {
  return layout::wgmmaOperandA(type.getShape(), type.getElementTypeBitWidth(), wgmmaGrid(type, numWarps));
}

DotPlan planDot(tile::DotOp op, int numWarps, const target::TargetInfo& target) {
  auto lhs = cast<RankedTensorType>(op.getLhs().getType()), rhs = cast<RankedTensorType>(op.getRhs().getType());
  auto acc = cast<RankedTensorType>(op.getAcc().getType());
  DotPlan plan;
  plan.mma = !whyNotMma(op, target);
  if (plan.mma) {
    layout::WarpGrid grid = mmaGrid(acc.getShape(), numWarps, isChained(op));
    unsigned bits = target::mmaSyncBits(lhs.getElementTypeBitWidth());
    plan.result = layout::mmaV2Result(acc.getShape(), grid);
    plan.lhs = layout::dotOperandA(lhs.getShape(), bits, grid);
    plan.rhs = layout::dotOperandB(rhs.getShape(), bits, grid);
  } else {
    plan.result = gpu::patches(acc.getShape(), threadsOf(numWarps), togetherIn(op));
  }
  return plan;
}

}  // namespace tandem::transform::nvidia
