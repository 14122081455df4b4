// Turns products, and what loops carry of their sums and results at once.
#include "compiler/dialect/tile/attributes.h"
#include "compiler/transform/nvidia/carried_sums.h"
#include "compiler/transform/nvidia/operands.h"
#include "compiler/transform/nvidia/passes.h"
#include "compiler/analysis/zeros.h"
#include <llvm/ADT/SetVector.h>
#include <mlir/Dialect/Arith/IR/Arith.h>

namespace tandem::transform::nvidia {
using namespace mlir;
using namespace gpu;
#define GEN_PASS_DEF_TURNPRODUCTS
#include "compiler/transform/nvidia/passes.h.inc"
namespace {

RankedTensorType turnedType(Type type) {
  auto tile = cast<RankedTensorType>(type);
  return RankedTensorType::get({tile.getDimSize(1), tile.getDimSize(0)}, tile.getElementType());
}

Value turned(Value tile, OpBuilder& builder) {
  if (OperandSource source = throughTranspose(tile); source.transposed) return source.source;
  if (analysis::isZero(tile))
    return arith::ConstantOp::create(builder, tile.getLoc(), builder.getZeroAttr(turnedType(tile.getType())));
  return tile::PermuteOp::create(builder, tile.getLoc(), turnedType(tile.getType()), tile,
                                 builder.getDenseI32ArrayAttr({1, 0}));
}

// Returns true if the block computes the tile from others, which wgmma would find in no memory.
bool isComputed(Value operand, Block* body) {
  Operation* op = throughTranspose(operand).source.getDefiningOp();
  return op && op->getBlock() == body && !isa<tile::LoadOp, tile::BlockLoadOp, arith::ConstantOp>(op);
}

// Returns true if the block loads what the tile is computed from in elements no wider than its own: threads read them
// from shared memory one by one where the product wants them, and by 16 bytes otherwise.
bool comesNarrow(Value operand, Block* body) {
  unsigned width = getElementTypeOrSelf(operand.getType()).getIntOrFloatBitWidth();
  llvm::SetVector<Operation*> behind;
  auto add = [&](Value v) {
    if (Operation* op = v.getDefiningOp(); op && op->getBlock() == body) behind.insert(op);
  };
  add(operand);
  for (size_t i = 0; i < behind.size(); ++i) {
    Operation* op = behind[i];
    if (!isa<tile::LoadOp, tile::BlockLoadOp>(op)) {
      llvm::for_each(op->getOperands(), add);
      continue;
    }
    auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    bool isWhole = type && type.getNumElements() == cast<RankedTensorType>(operand.getType()).getNumElements();
    if (isWhole && type.getElementTypeBitWidth() > width) return false;
  }
  return true;
}

bool isLoadedOnce(Value repeated) {
  Operation* op = repeated.getDefiningOp();
  while (isa_and_nonnull<tile::BroadcastOp, tile::ExpandDimsOp>(op)) op = op->getOperand(0).getDefiningOp();
  return isa_and_nonnull<tile::LoadOp, tile::BlockLoadOp>(op);
}

// Returns true if elements of what the tile is computed from come apart, as scales and pairs of a byte do: for mma.sync's right operand
// they would change threads. What is loaded once for a run of elements is read by each thread of the run.
bool comesApart(Value operand, Block* body) {
  Operation* op = operand.getDefiningOp();
  if (!op || op->getBlock() != body || isa<tile::LoadOp, tile::BlockLoadOp>(op)) return false;
  return (isa<tile::ReshapeOp>(op) && !isLoadedOnce(op->getOperand(0))) ||
         llvm::any_of(op->getOperands(), [&](Value v) { return comesApart(v, body); });
}

bool gainsByTurning(tile::DotOp dot, scf::ForOp loop, int numWarps, const target::TargetInfo& target) {
  Block* body = loop.getBody();
  if (!fitsWgmma(dot, numWarps, target) && !comesApart(dot.getRhs(), body)) return false;
  return !whyNotWgmmaTurned(dot, numWarps, target) && onlyAdds(dot.getAcc(), dot.getResult(), loop) &&
         isComputed(dot.getRhs(), body) && !isComputed(dot.getLhs(), body) && comesNarrow(dot.getRhs(), body);
}

// Returns true if the product has fewer columns than one instruction of mma.sync, whose rows zeros can fill up, not its
// columns.
bool hasFewColumns(tile::DotOp dot, const target::TargetInfo& target) {
  auto sum = cast<RankedTensorType>(dot.getType());
  return sum.getRank() == 2 && sum.getDimSize(1) < target::kMmaSync.leastColumns &&
         sum.getDimSize(0) >= target::kMmaSync.leastColumns && !whyNotMmaTurned(dot, target);
}

// The operands become those of the transpose; the result has its type.
void turnOperands(tile::DotOp dot) {
  OpBuilder here(dot);
  Value lhs = turned(dot.getRhs(), here), rhs = turned(dot.getLhs(), here);
  dot.getLhsMutable().assign(lhs);
  dot.getRhsMutable().assign(rhs);
  dot.getResult().setType(cast<RankedTensorType>(dot.getAcc().getType()));
}

// The uses of `result`, which has become the transpose, read it turned back.
void turnBack(Value result, RankedTensorType type, OpBuilder& behind) {
  if (result.use_empty()) return;
  Value again = tile::PermuteOp::create(behind, result.getLoc(), type, result, behind.getDenseI32ArrayAttr({1, 0}));
  result.replaceAllUsesExcept(again, again.getDefiningOp());
}

void turnAlone(tile::DotOp dot) {
  OpBuilder here(dot), behind(dot->getContext());
  behind.setInsertionPointAfter(dot);
  auto type = cast<RankedTensorType>(dot.getType());
  dot.getAccMutable().assign(turned(dot.getAcc(), here));
  turnOperands(dot);
  turnBack(dot.getResult(), type, behind);
}

void turn(tile::DotOp dot, scf::ForOp loop) {
  OpBuilder before(loop), behind(loop->getContext());
  behind.setInsertionPointAfter(loop);
  unsigned index = carriedIndex(dot.getAcc(), loop);
  OpOperand& init = loop.getInitArgsMutable()[index];
  init.set(turned(init.get(), before));
  Value result = loop.getResult(index);
  loop.getRegionIterArg(index).setType(init.get().getType());
  auto type = cast<RankedTensorType>(result.getType());
  result.setType(init.get().getType());
  turnBack(result, type, behind);
  turnOperands(dot);
}

struct TurnProducts : impl::TurnProductsBase<TurnProducts> {
  using Base::Base;
  void runOnOperation() override {
    const target::TargetInfo* gpu = targetOf(target);
    if (!gpu) return;
    int numWarps = tile::numWarps(getOperation());
    SmallVector<tile::DotOp> sums, alone;
    getOperation().walk([&](tile::DotOp dot) {
      auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
      bool isFew = hasFewColumns(dot, *gpu);
      if (!isFew && !(loop && gainsByTurning(dot, loop, numWarps, *gpu))) return;
      (loop && onlyAdds(dot.getAcc(), dot.getResult(), loop) ? sums : alone).push_back(dot);
    });
    for (tile::DotOp dot : sums) turn(dot, cast<scf::ForOp>(dot->getParentOp()));
    llvm::for_each(alone, turnAlone);
    cleanUp(!sums.empty() || !alone.empty());
  }
};

}  // namespace
}  // namespace tandem::transform::nvidia
