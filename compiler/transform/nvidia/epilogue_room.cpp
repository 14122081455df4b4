// Looks at the kernel before rings and layouts; knows nothing of either.
#include "compiler/transform/nvidia/epilogue_room.h"
#include "compiler/analysis/boxes.h"
#include "compiler/transform/nvidia/operands.h"
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>

namespace tandem::transform::nvidia {
using namespace mlir;
namespace {

bool isTile(Value v) { return isa<RankedTensorType>(v.getType()); }

// Returns true if `op` leaves every element of a tile where a product has put it, or only brings operands of products.
bool keepsPlaces(Operation* op, ArrayRef<tile::DotOp> products) {
  if (llvm::none_of(op->getOperands(), isTile) && llvm::none_of(op->getResults(), isTile)) return true;
  if (auto dot = dyn_cast<tile::DotOp>(op)) return llvm::is_contained(products, dot);
  if (auto store = dyn_cast<tile::BlockStoreOp>(op)) return fitsTma(store);
  if (isa<tile::BlockLoadOp, tile::PermuteOp, tile::ReshapeOp>(op))
    return llvm::all_of(op->getUsers(),
                        [](Operation* user) { return isa<tile::DotOp, tile::PermuteOp, tile::ReshapeOp>(user); });
  return isa<tile::SplatOp, tile::FpToFpOp>(op) || isa<arith::ArithDialect, scf::SCFDialect>(op->getDialect());
}

}  // namespace

int64_t epilogueBytes(func::FuncOp kernel, ArrayRef<tile::DotOp> products, int numWarps) {
  constexpr int64_t kBarriers = 1024, kMost = 32 * 1024 + kBarriers;
  bool areStored = !kernel
                        .walk([&](Operation* op) {
                          return keepsPlaces(op, products) ? WalkResult::advance() : WalkResult::interrupt();
                        })
                        .wasInterrupted();
  if (!areStored) return kMost;
  analysis::StagedPanels panels = analysis::stagedPanels(kernel, numWarps, [](tile::BlockStoreOp) { return true; });
  int64_t staged =
      std::clamp<int64_t>(panels.perGroup, 1, 2) * panels.bytes * std::max(1, numWarps / int(target::kWgmma.warps));
  return staged ? std::min(kMost, staged + kBarriers) : kMost;
}

}  // namespace tandem::transform::nvidia
