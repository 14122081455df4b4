// One product after the other; tiles that several read are stored once.
#include "compiler/transform/nvidia/wgmma_products.h"
#include "compiler/analysis/boxes.h"
#include "compiler/dialect/tgpu/tgpu.h"
#include "compiler/dialect/tile/attributes.h"
#include "compiler/transform/gpu/anchor_layouts.h"
#include "compiler/transform/gpu/layout_rules.h"
#include "compiler/transform/nvidia/loop_registers.h"
#include "compiler/transform/nvidia/operands.h"
#include "compiler/transform/nvidia/ring_copies.h"
#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tandem::transform::nvidia {
using namespace mlir;
namespace {

struct Operand {
  Value value, ring;
  bool transposed = false;
};

// A left operand of 64 rows takes longer to be read from shared memory than the product of so few columns does.
bool isNarrow(tile::DotOp dot) {
  constexpr int64_t kColumns = 64;
  return cast<RankedTensorType>(dot.getType()).getDimSize(1) < kColumns &&
         getElementTypeOrSelf(dot.getLhs().getType()).getIntOrFloatBitWidth() == 16;
}

// Returns the products of `loop` that read the same left operands in all iterations from registers, as narrow ones do if there is room
// for all: a thread of four warps alone has 255 registers.
SmallVector<tile::DotOp> productsOfHeld(scf::ForOp loop, int numWarps) {
  constexpr int64_t kRoom = 208;
  if (numWarps > kFewWarps) return {};
  SmallVector<tile::DotOp> products;
  llvm::SmallDenseSet<Value> held;
  int64_t registers = registersOfLoop(loop, numWarps);
  for (auto dot : loop.getBody()->getOps<tile::DotOp>()) {
    Value lhs = dot.getLhs();
    if (!isNarrow(dot) || throughTranspose(lhs).transposed || loop->isAncestor(lhs.getParentBlock()->getParentOp()))
      continue;
    products.push_back(dot);
    if (held.insert(lhs).second) registers += registersOf(lhs, numWarps);
  }
  return registers <= kRoom ? products : SmallVector<tile::DotOp>();
}

class Multiplication {
 public:
  Multiplication(func::FuncOp kernel, ArrayRef<tile::DotOp> dots, ArrayRef<RingPlan> rings)
      : kernel_(kernel), rings_(rings), axes_(kernel) {
    if (!rings.empty()) return;  // a producer's registers are planned
    kernel.walk([&](scf::ForOp loop) {
      for (tile::DotOp dot : productsOfHeld(loop, tile::numWarps(kernel)))
        if (llvm::is_contained(dots, dot)) held_.insert(dot);
    });
  }

  void replace(tile::DotOp dot, const ProductTiming& timing) {
    OpBuilder builder(dot);
    Operand lhs = operandOf(dot, true), rhs = operandOf(dot, false);
    auto product =
        tgpu::WgmmaOp::create(builder, dot.getLoc(), dot.getType(), lhs.value, rhs.value, dot.getAcc(), lhs.ring,
                              rhs.ring, lhs.transposed, rhs.transposed, timing.beginsAtZero, timing.joinsPrevious);
    Value result = product.getResult();
    if (timing.pending)
      result = tgpu::WgmmaWaitOp::create(builder, dot.getLoc(), result, builder.getI32IntegerAttr(*timing.pending));
    dot.getResult().replaceAllUsesWith(result);
    dot.erase();
  }

 private:
  Operand operandOf(tile::DotOp dot, bool isLhs) {
    Value value = isLhs ? dot.getLhs() : dot.getRhs();
    OperandSource source = throughTranspose(value);
    for (const RingPlan& p : rings_)
      for (auto [load, buffer] : llvm::zip(p.loads, p.buffers))
        if (load == blockLoadBehind(source.source)) return {buffer, p.ring, source.transposed};
    for (const RingPlan& p : rings_)
      for (auto [copied, buffer] : llvm::zip(p.gathered, p.gatheredBuffers))
        if (tile::LoadOp(copied.load).getOperation() == source.source.getDefiningOp())
          return {buffer, p.ring, source.transposed};
    if (isLhs && (held_.contains(dot) || staysInRegisters(dot) || isTurnedByThreads(value)))
      return {value, nullptr, false};
    if (!readsFromShared(dot, isLhs, source)) source = {kMajorCopy(dot, isLhs), !isLhs};
    if (OperandSource columns{turned(source.source), !source.transposed}; columns.source) source = columns;
    return {stage(source.source), nullptr, source.transposed};
  }

  // wgmma reads columns of 32-bit elements from no shared memory. Threads do, one element at a time, as well as they would store them there
  // in rows.
  bool isTurnedByThreads(Value lhs) const {
    return getElementTypeOrSelf(lhs.getType()).getIntOrFloatBitWidth() == 32 && isLoadedByColumns(lhs);
  }

  // Returns the transpose of a matrix of which threads have pieces of columns: stored as it is, each element would be a
  // store of its own. wgmma reads 16 bits in either order. Null for other tiles.
  Value turned(Value tile) {
    auto type = cast<RankedTensorType>(tile.getType());
    if (type.getRank() != 2 || type.getElementTypeBitWidth() != 16) return nullptr;
    auto flipped = RankedTensorType::get({type.getDimSize(1), type.getDimSize(0)}, type.getElementType());
    if (!analysis::panelSwizzle(flipped) || !isLoadedByColumns(tile)) return nullptr;
    Value& result = turned_[tile];
    if (result) return result;
    OpBuilder builder(kernel_.getContext());
    builder.setInsertionPointAfterValue(tile);
    return result =
               tile::PermuteOp::create(builder, tile.getLoc(), flipped, tile, builder.getDenseI32ArrayAttr({1, 0}));
  }

  // Ops that keep the layout leave the elements with the threads that loaded them; of branches, one that loads columns
  // decides, since the other may only be masked more narrowly.
  bool isLoadedByColumns(Value tile) const {
    while (Operation* op = tile.getDefiningOp()) {
      if (auto branch = dyn_cast<scf::IfOp>(op)) {
        unsigned result = cast<OpResult>(tile).getResultNumber();
        return isLoadedByColumns(branch.thenYield().getOperand(result)) ||
               isLoadedByColumns(branch.elseYield().getOperand(result));
      }
      if (auto load = dyn_cast<tile::BlockLoadOp>(op))
        return !load.getDescriptor() && getConstantIntValue(load.getStrides().front()) == int64_t(1);
      if (auto load = dyn_cast<tile::LoadOp>(op)) {
        gpu::Coalescing c =
            gpu::coalesced(load.getPointer(), load.getMask(), axes_, threadsOf(tile::numWarps(kernel_)));
        return c.axis == 0;
      }
      if (!gpu::isSameLayout(op) || op->getNumOperands() == 0 || !isa<RankedTensorType>(op->getOperand(0).getType()))
        return false;
      tile = op->getOperand(0);
    }
    return false;
  }

  // The operand's transpose, computed in registers once for all products, where wgmma wants K innermost.
  Value kMajorCopy(tile::DotOp dot, bool isLhs) {
    Value tile = isLhs ? dot.getLhs() : dot.getRhs();
    if (isLhs) return tile;
    Value& result = flipped_[tile];
    if (result) return result;
    auto type = cast<RankedTensorType>(tile.getType());
    auto flipped = RankedTensorType::get({type.getDimSize(1), type.getDimSize(0)}, type.getElementType());
    OpBuilder builder(kernel_.getContext());
    builder.setInsertionPointAfterValue(tile);
    return result = tile::PermuteOp::create(builder, dot.getLoc(), flipped, tile, builder.getDenseI32ArrayAttr({1, 0}));
  }

  // A tile in shared memory, stored where it is computed, once for all products that read it.
  Value stage(Value tile) {
    Value& buffer = staged_[tile];
    if (buffer) return buffer;
    OpBuilder top = OpBuilder::atBlockBegin(&kernel_.getBody().front());
    buffer = makeBuffer(top, tile.getLoc(), cast<RankedTensorType>(tile.getType()), 1);
    OpBuilder builder(kernel_.getContext());
    builder.setInsertionPointAfterValue(tile);
    tgpu::LocalStoreOp::create(builder, tile.getLoc(), tile, buffer);
    return buffer;
  }

  func::FuncOp kernel_;
  ArrayRef<RingPlan> rings_;
  analysis::AxisInfoAnalysis axes_;
  llvm::DenseMap<Value, Value> staged_, turned_, flipped_;
  llvm::DenseSet<Operation*> held_;  // products whose left operands wait in registers
};

void eraseWithUsers(Operation* op) {
  while (!op->use_empty()) eraseWithUsers(*op->user_begin());
  op->erase();
}

}  // namespace

void multiplyByWgmma(func::FuncOp kernel, ArrayRef<tile::DotOp> dots, ArrayRef<RingPlan> rings,
                     const ProductTimings& timings) {
  Multiplication multiplication(kernel, dots, rings);
  for (tile::DotOp dot : dots) multiplication.replace(dot, timings.lookup(dot));
  for (const RingPlan& p : rings)
    for (tile::BlockLoadOp load : p.loads) eraseWithUsers(load);
  for (const RingPlan& p : rings)
    for (const CopiedLoad& c : p.gathered) eraseWithUsers(c.load);
}

}  // namespace tandem::transform::nvidia
