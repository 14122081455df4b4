// This pass follows a carried tile from the yield back to the argument, then changes the loop's carried values in
// place.
#include "compiler/dialect/tile/tile.h"
#include "compiler/transform/gpu/passes.h"
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/IR/Matchers.h>

namespace tandem::transform::gpu {
using namespace mlir;
#define GEN_PASS_DEF_CARRYOFFSETS
#include "compiler/transform/gpu/passes.h.inc"
namespace {

bool isPointerTile(Type type) { return isa<RankedTensorType>(type) && isa<tile::PtrType>(getElementTypeOrSelf(type)); }

bool isIntegerTile(Type type) {
  Type element = getElementTypeOrSelf(type);
  return isa<RankedTensorType>(type) && (element.isInteger(32) || element.isInteger(64));
}

// Offsets of pointers are 64 bits wide; integers wrap around in their own width.
Type offsetType(Type tile) {
  Type element = getElementTypeOrSelf(tile);
  return element.isInteger() ? element : IntegerType::get(tile.getContext(), 64);
}

// The number that `tile` has at all places; null when there is none.
Value uniform(Value tile, OpBuilder& builder) {
  if (auto splat = tile.getDefiningOp<tile::SplatOp>()) return splat.getSource();
  if (auto grown = tile.getDefiningOp<tile::BroadcastOp>()) return uniform(grown.getSource(), builder);
  DenseElementsAttr elements;
  if (!matchPattern(tile, m_Constant(&elements)) || !elements.isSplat()) return nullptr;
  return arith::ConstantOp::create(builder, tile.getLoc(), elements.getSplatValue<IntegerAttr>());
}

// Returns the values added between the argument and `last`, innermost first; nothing if another op lies between.
std::optional<SmallVector<Value>> addends(Value last, Value argument) {
  SmallVector<Value> added;
  while (last != argument) {
    Operation* op = last.getDefiningOp();
    if (!op || !isa<tile::AddPtrOp, arith::AddIOp>(op)) return std::nullopt;
    bool isSecond = isa<arith::AddIOp>(op) && op->getOperand(1) == argument;
    added.push_back(op->getOperand(isSecond ? 0 : 1));
    last = op->getOperand(isSecond ? 1 : 0);
  }
  if (added.empty()) return std::nullopt;
  return added;
}

Value widened(Value number, Type to, OpBuilder& builder) {
  return number.getType() == to ? number : arith::ExtSIOp::create(builder, number.getLoc(), to, number).getResult();
}

class Carrying {
 public:
  explicit Carrying(scf::ForOp loop) : loop_(loop) {}

  bool apply() {
    for (auto [i, argument] : llvm::enumerate(loop_.getRegionIterArgs())) find(i, argument);
    if (offsets_.empty()) return false;
    carryNumbers();
    return true;
  }

 private:
  void find(unsigned index, BlockArgument argument) {
    if (!isPointerTile(argument.getType()) && !isIntegerTile(argument.getType())) return;
    Operation* yield = loop_.getBody()->getTerminator();
    auto added = addends(yield->getOperand(index), argument);
    if (!added) return;
    OpBuilder builder(yield);
    Type type = offsetType(argument.getType());
    SmallVector<Value> numbers;
    for (Value tile : *added) {
      Value number = uniform(tile, builder);
      if (!number) return;
      numbers.push_back(widened(number, type, builder));
    }
    offsets_.push_back({index, type, numbers});
  }

  void carryNumbers() {
    Operation* yield = loop_.getBody()->getTerminator();
    OpBuilder before(loop_), top = OpBuilder::atBlockBegin(loop_.getBody()), atEnd(yield), behind(loop_->getNextNode());
    for (const Offset& o : offsets_) {
      Value offset = loop_.getRegionIterArg(o.index), last = loop_.getResult(o.index), sum = offset;
      OpOperand& init = loop_.getInitArgsMutable()[o.index];
      Value first = init.get();
      init.set(arith::ConstantOp::create(before, loop_.getLoc(), before.getIntegerAttr(o.type, 0)));
      offset.setType(o.type);
      last.setType(o.type);
      moveBy(offset, first, top);
      if (!last.use_empty()) moveBy(last, first, behind);
      for (Value number : o.numbers) sum = arith::AddIOp::create(atEnd, number.getLoc(), sum, number);
      yield->setOperand(o.index, sum);
    }
  }

  // Whoever uses `offset` gets the tile that lies so far from `first`.
  static void moveBy(Value offset, Value first, OpBuilder& builder) {
    Location loc = first.getLoc();
    auto type = RankedTensorType::get(cast<RankedTensorType>(first.getType()).getShape(), offset.getType());
    auto distance = tile::SplatOp::create(builder, loc, type, offset);
    Value moved = isPointerTile(first.getType())
                      ? tile::AddPtrOp::create(builder, loc, first.getType(), first, distance).getResult()
                      : arith::AddIOp::create(builder, loc, first, distance).getResult();
    offset.replaceAllUsesExcept(moved, distance);
  }

  struct Offset {
    unsigned index;  // among the loop's carried values
    Type type;
    SmallVector<Value> numbers;  // that an iteration adds
  };

  scf::ForOp loop_;
  SmallVector<Offset> offsets_;
};

struct CarryOffsets : impl::CarryOffsetsBase<CarryOffsets> {
  using Base::Base;
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    bool changed = false;
    for (scf::ForOp loop : loops) changed |= Carrying(loop).apply();
    cleanUp(changed);
  }
};

}  // namespace
}  // namespace tandem::transform::gpu
