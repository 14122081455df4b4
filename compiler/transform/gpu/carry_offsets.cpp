// Follows a carried tile from the yield back to the argument, then rebuilds the loop.
#include "compiler/transform/gpu/carry_offsets.h"
#include "compiler/dialect/tile/tile.h"
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/IR/Matchers.h>

namespace tandem::transform::gpu {
using namespace mlir;
namespace {

bool isPointerTile(Type type) { return isa<RankedTensorType>(type) && isa<tile::PtrType>(getElementTypeOrSelf(type)); }

bool isIntegerTile(Type type) {
  Type element = getElementTypeOrSelf(type);
  return isa<RankedTensorType>(type) && (element.isInteger(32) || element.isInteger(64));
}

// Of pointers offsets are 64 bits wide; integers wrap around in their own width.
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

// What is added between the argument and `last`, innermost first. Nothing: something else happens to it.
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
    rebuild();
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

  void rebuild() {
    OpBuilder builder(loop_);
    SmallVector<Value> inits(loop_.getInitArgs());
    for (Offset& o : offsets_) {
      first_.push_back(inits[o.index]);
      inits[o.index] = arith::ConstantOp::create(builder, loop_.getLoc(), builder.getIntegerAttr(o.type, 0));
    }
    auto made = scf::ForOp::create(builder, loop_.getLoc(), loop_.getLowerBound(), loop_.getUpperBound(),
                                   loop_.getStep(), inits);
    made.setUnsignedCmp(loop_.getUnsignedCmp());
    made->setDiscardableAttrs(loop_->getDiscardableAttrDictionary());
    Operation* yield = loop_.getBody()->getTerminator();
    moveBody(made);
    OpBuilder atEnd(yield);
    for (Offset& o : offsets_) {
      Value sum = made.getRegionIterArg(o.index);
      for (Value number : o.numbers) sum = arith::AddIOp::create(atEnd, number.getLoc(), sum, number);
      yield->setOperand(o.index, sum);
    }
    replaceResults(made, builder);
  }

  void moveBody(scf::ForOp made) {
    Block& to = *made.getBody();
    if (!to.empty()) to.back().erase();
    OpBuilder top = OpBuilder::atBlockBegin(&to);
    SmallVector<Value> arguments(to.getArguments());
    for (auto [o, first] : llvm::zip(offsets_, first_))
      arguments[o.index + 1] = moved(first, arguments[o.index + 1], top);
    for (Offset& o : offsets_)
      for (Value& number : o.numbers)
        if (auto from = dyn_cast<BlockArgument>(number); from && from.getOwner() == loop_.getBody())
          number = arguments[from.getArgNumber()];
    for (auto [from, value] : llvm::zip(loop_.getBody()->getArguments(), arguments)) from.replaceAllUsesWith(value);
    to.getOperations().splice(to.end(), loop_.getBody()->getOperations());
  }

  void replaceResults(scf::ForOp made, OpBuilder& builder) {
    SmallVector<Value> results(made.getResults());
    for (auto [o, first] : llvm::zip(offsets_, first_))
      if (!loop_.getResult(o.index).use_empty()) results[o.index] = moved(first, results[o.index], builder);
    for (auto [from, value] : llvm::zip(loop_.getResults(), results)) from.replaceAllUsesWith(value);
    loop_.erase();
  }

  static Value moved(Value first, Value offset, OpBuilder& builder) {
    Location loc = first.getLoc();
    auto type = RankedTensorType::get(cast<RankedTensorType>(first.getType()).getShape(), offset.getType());
    Value tile = tile::SplatOp::create(builder, loc, type, offset);
    if (isPointerTile(first.getType())) return tile::AddPtrOp::create(builder, loc, first.getType(), first, tile);
    return arith::AddIOp::create(builder, loc, first, tile);
  }

  struct Offset {
    unsigned index;  // among what the loop carries
    Type type;
    SmallVector<Value> numbers;  // that an iteration adds
  };

  scf::ForOp loop_;
  SmallVector<Offset> offsets_;
  SmallVector<Value> first_;
};

}  // namespace

bool carryOffsets(func::FuncOp kernel) {
  SmallVector<scf::ForOp> loops;
  kernel.walk([&](scf::ForOp loop) { loops.push_back(loop); });
  bool changed = false;
  for (scf::ForOp loop : loops) changed |= Carrying(loop).apply();
  return changed;
}

}  // namespace tandem::transform::gpu
