// Turns a sum of products, its carried value and its result at once.
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

// The transpose of a product that wgmma does has its types and its K: rows and columns decide.
bool fitsTurned(RankedTensorType sum, int numWarps) {
  constexpr target::ProductShape one = target::kWgmma;
  int64_t groups = numWarps / one.warps, rowGroups = sum.getDimSize(1) / one.rows, columns = sum.getDimSize(0);
  return rowGroups >= 1 && (rowGroups >= groups || columns * rowGroups / groups >= one.leastColumns);
}

bool gainsByTurning(tile::DotOp dot, scf::ForOp loop, int numWarps, const target::TargetInfo& target) {
  Block* body = loop.getBody();
  return fitsWgmma(dot, numWarps, target) && fitsTurned(cast<RankedTensorType>(dot.getType()), numWarps) &&
         onlyAdds(dot.getAcc(), dot.getResult(), loop) && isComputed(dot.getRhs(), body) &&
         !isComputed(dot.getLhs(), body) && comesNarrow(dot.getRhs(), body);
}

void turn(tile::DotOp dot, scf::ForOp loop) {
  OpBuilder before(loop), here(dot), behind(loop->getContext());
  behind.setInsertionPointAfter(loop);
  unsigned index = carriedIndex(dot.getAcc(), loop);
  OpOperand& init = loop.getInitArgsMutable()[index];
  init.set(turned(init.get(), before));
  Value result = loop.getResult(index), again = result;
  loop.getRegionIterArg(index).setType(init.get().getType());
  Type type = result.getType();
  result.setType(init.get().getType());
  if (!result.use_empty()) {
    again = tile::PermuteOp::create(behind, dot.getLoc(), type, result, behind.getDenseI32ArrayAttr({1, 0}));
    result.replaceAllUsesExcept(again, again.getDefiningOp());
  }
  Value lhs = turned(dot.getRhs(), here), rhs = turned(dot.getLhs(), here);
  dot.getLhsMutable().assign(lhs);
  dot.getRhsMutable().assign(rhs);
  dot.getResult().setType(init.get().getType());
}

struct TurnProducts : impl::TurnProductsBase<TurnProducts> {
  using Base::Base;
  void runOnOperation() override {
    const target::TargetInfo* gpu = targetOf(target);
    if (!gpu) return;
    int numWarps = tile::numWarps(getOperation());
    SmallVector<tile::DotOp> dots;
    getOperation().walk([&](tile::DotOp dot) {
      auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
      if (loop && gainsByTurning(dot, loop, numWarps, *gpu)) dots.push_back(dot);
    });
    for (tile::DotOp dot : dots) turn(dot, cast<scf::ForOp>(dot->getParentOp()));
    cleanUp(!dots.empty());
  }
};

}  // namespace
}  // namespace tandem::transform::nvidia
