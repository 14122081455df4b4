// Sorts what chains of `tile.addptr` in one block add; sums of addresses are exact in any order.
#include "compiler/dialect/tile/tile.h"
#include "compiler/transform/gpu/passes.h"
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Interfaces/LoopLikeInterface.h>

namespace tandem::transform::gpu {
using namespace mlir;
#define GEN_PASS_DEF_ORDEROFFSETS
#include "compiler/transform/gpu/passes.h.inc"
namespace {

// One bit for each dimension of a tile.
using Dims = uint64_t;

Dims longDims(RankedTensorType type) {
  Dims dims = 0;
  for (auto [d, size] : llvm::enumerate(type.getShape()))
    if (size > 1) dims |= Dims(1) << d;
  return dims;
}

// This class says along which dimensions the values in a block differ, and which change from iteration to iteration.
class Terms {
 public:
  explicit Terms(Block& block) : body_(isa<LoopLikeOpInterface>(block.getParentOp()) ? &block : nullptr) {}

  // The dimensions along which a tile's elements may differ.
  Dims dimsOf(Value v) {
    auto type = dyn_cast<RankedTensorType>(v.getType());
    if (!type) return 0;
    auto [known, isNew] = dims_.try_emplace(v, longDims(type));
    if (!isNew) return known->second;
    Dims found = longDims(type) & find(v);
    return dims_[v] = found;
  }

  // Returns true if the value may be another one in each iteration.
  bool varies(Value v) {
    if (!body_ || !body_->getParent()->isAncestor(v.getParentRegion())) return false;
    Operation* op = v.getDefiningOp();
    if (!op || op->getNumRegions() || !isMemoryEffectFree(op)) return true;
    auto [known, isNew] = varies_.try_emplace(v, true);
    if (!isNew) return known->second;
    bool found = llvm::any_of(op->getOperands(), [&](Value operand) { return varies(operand); });
    return varies_[v] = found;
  }

 private:
  Dims find(Value v) {
    Operation* op = v.getDefiningOp();
    if (!op) return ~Dims(0);
    if (isa<tile::SplatOp>(op)) return 0;
    if (auto broadcast = dyn_cast<tile::BroadcastOp>(op)) return dimsOf(broadcast.getSource());
    if (auto expand = dyn_cast<tile::ExpandDimsOp>(op)) {
      Dims source = dimsOf(expand.getSource()), low = (Dims(1) << expand.getAxis()) - 1;
      return (source & low) | (source & ~low) << 1;
    }
    if (auto constant = dyn_cast<arith::ConstantOp>(op))
      return isa<SplatElementsAttr>(constant.getValue()) ? 0 : ~Dims(0);
    if (!isa<tile::AddPtrOp>(op) && !op->hasTrait<OpTrait::Elementwise>()) return ~Dims(0);
    Dims all = 0;
    for (Value operand : op->getOperands()) all |= dimsOf(operand);
    return all;
  }

  Block* body_;  // of a loop; null: in none
  llvm::DenseMap<Value, Dims> dims_;
  llvm::DenseMap<Value, bool> varies_;
};

// The sum that `op` only carries on, if nobody else wants it and its author has promised nothing about it.
tile::AddPtrOp before(tile::AddPtrOp op) {
  auto inner = op.getPointer().getDefiningOp<tile::AddPtrOp>();
  bool isLink =
      inner && inner->getBlock() == op->getBlock() && inner->hasOneUse() && inner->getDiscardableAttrs().empty();
  return isLink ? inner : nullptr;
}

// Puts next of a chain's terms the one that leaves the sum the fewest dimensions.
void order(tile::AddPtrOp last, Terms& values) {
  SmallVector<Value> terms{last.getOffset()};
  SmallVector<tile::AddPtrOp> links;
  tile::AddPtrOp first = last;
  while (tile::AddPtrOp inner = before(first)) {
    links.push_back(first = inner);
    terms.push_back(inner.getOffset());
  }
  if (links.empty()) return;
  std::reverse(terms.begin(), terms.end());
  SmallVector<Value> left(terms), ordered;
  for (Dims dims = values.dimsOf(first.getPointer()); !left.empty(); dims |= values.dimsOf(ordered.back())) {
    auto rank = [&](Value term) { return std::pair(values.varies(term), llvm::popcount(dims | values.dimsOf(term))); };
    auto next = std::min_element(left.begin(), left.end(), [&](Value a, Value b) { return rank(a) < rank(b); });
    ordered.push_back(*next);
    left.erase(next);
  }
  if (ordered == terms) return;
  OpBuilder b(last);
  Value sum = first.getPointer();
  for (Value term : ArrayRef(ordered).drop_back())
    sum = tile::AddPtrOp::create(b, last.getLoc(), last.getType(), sum, term);
  last.getPointerMutable().assign(sum);
  last.getOffsetMutable().assign(ordered.back());
  for (tile::AddPtrOp link : links) link.erase();
}

struct OrderOffsets : impl::OrderOffsetsBase<OrderOffsets> {
  using Base::Base;
  void runOnOperation() override {
    getOperation().walk([&](Block* block) {
      // Beside a loop the order is left to LLVM and ptxas: what it saves there is little, and may cost registers.
      if (llvm::any_of(*block, [](Operation& op) { return isa<LoopLikeOpInterface>(op); })) return;
      Terms values(*block);
      for (auto op : llvm::make_early_inc_range(block->getOps<tile::AddPtrOp>())) {
        Operation* user = op->hasOneUse() ? *op->getUsers().begin() : nullptr;
        auto next = dyn_cast_or_null<tile::AddPtrOp>(user);
        bool isLast = !next || before(next) != op;
        if (isLast && isa<RankedTensorType>(op.getType())) order(op, values);
      }
    });
  }
};

}  // namespace
}  // namespace tandem::transform::gpu
