// Calls of regions emit their ops anew each time.
#include "compiler/lower/gpu/region.h"
#include "compiler/layout/distributed.h"
#include "compiler/lower/gpu/convert.h"

namespace tandem::lower::gpu {
using namespace mlir;
using layout::Dim;

// Returns true if each basis is nothing or a position bit of its own.
static bool isPlain(const LinearLayout& layout) {
  uint64_t seen = 0;
  for (Dim dim : {Dim::Register, Dim::Lane, Dim::Warp})
    for (uint64_t basis : layout.bases(dim)) {
      if (basis && (!llvm::has_single_bit(basis) || (seen & basis))) return false;
      seen |= basis;
    }
  return true;
}

Regs callRegion(KernelContext& cx, Region& region, Scalars arguments) {
  Block& block = region.front();
  for (auto [parameter, value] : llvm::zip(block.getArguments(), arguments)) cx.define(parameter, {value});
  cx.lowerBlock(block);
  Regs out;
  for (mlir::Value v : block.getTerminator()->getOperands()) out.push_back(cx.useScalar(v));
  cx.places.set(cx.b, region.getParentOp()->getLoc());
  return out;
}

Regs combine(KernelContext& cx, Region& region, const Regs& first, const Regs& second) {
  Regs arguments(first);
  arguments.append(second);
  return callRegion(cx, region, arguments);
}

// A balanced tree, neighbours first.
Regs combineAll(KernelContext& cx, Region& region, Rows rows) {
  while (rows.size() > 1) {
    Rows next;
    for (size_t i = 0; i + 1 < rows.size(); i += 2) next.push_back(combine(cx, region, rows[i], rows[i + 1]));
    if (rows.size() % 2) next.push_back(rows.back());
    rows = std::move(next);
  }
  return rows[0];
}

LinearLayout rowsOf(KernelContext& cx, ValueRange sources, Rows& rows) {
  LinearLayout layout = cx.layoutOf(sources[0]);
  if (!isPlain(layout)) layout = layout::defaultBlocked(layout.shape(), 32, {cx.warpSize(), cx.numWarps});
  rows.assign(layout.numRegisters(), {});
  for (mlir::Value source : sources) {
    Regs held = cx.use(source);
    if (cx.layoutOf(source) != layout)
      held = convertLayout(cx, held, cx.layoutOf(source), layout, cx.typeOf(source.getType()), source.getLoc());
    for (auto [row, value] : llvm::zip(rows, held)) row.push_back(value);
  }
  return layout;
}

void defineRows(KernelContext& cx, Operation* op, const Rows& rows, const LinearLayout& layout) {
  for (auto [k, result] : llvm::enumerate(op->getResults())) {
    Regs held;
    for (const Regs& row : rows) held.push_back(row[k]);
    bool isTile = isa<RankedTensorType>(result.getType());
    if (isTile && cx.layoutOf(result) != layout)
      held = convertLayout(cx, held, layout, cx.layoutOf(result), cx.typeOf(result.getType()), op->getLoc());
    cx.define(result, held);
  }
}

}  // namespace tandem::lower::gpu
