// Layouts of the tiles that anchors leave open: loads, updates, values that no load places, stores.
#include "compiler/dialect/tgpu/attributes.h"
#include "compiler/layout/shape.h"
#include "compiler/transform/gpu/layout_assignment.h"
#include <algorithm>
#include <mlir/Dialect/SCF/IR/SCF.h>

namespace tandem::transform::gpu {

void LayoutAssignment::placeLoads() {
  auto offered = std::move(offered_);
  offered_.clear();
  auto place = [&](Value result) {
    placeLoad(result, offered.find(result)->second, together_.of(result.getDefiningOp()));
  };
  // A tile that either of two branches loads has the layout of the branch with the wider accesses.
  SmallVector<Value> repeated;
  for (bool isNarrow : {false, true})
    for (auto& [result, layout] : offered)
      if (!layout && isRepeated(result))
        repeated.push_back(result);
      else if (isNarrowBranch(result) == isNarrow)
        place(result);
  if (repeated.empty()) return;
  spread(loads_);
  for (Value result : repeated)
    if (!known_.count(homeOf(result))) place(result);
}

bool LayoutAssignment::isRepeated(Value tile) const {
  Value pointers = tile.getDefiningOp<tile::LoadOp>().getPointer();
  int64_t different = 1;
  for (auto [d, size] : llvm::enumerate(cast<RankedTensorType>(pointers.getType()).getShape()))
    different *= size / std::min(size, axes_.of(pointers).constancy(d));
  return different <= threads_.lanes && different < cast<RankedTensorType>(pointers.getType()).getNumElements();
}

void LayoutAssignment::placeLoad(Value result, const std::optional<LinearLayout>& layout, const Coalescing& best) {
  if (layout && isProducers(result.getDefiningOp())) {
    anchor(result, *layout, loads_);
    return;
  }
  anchor(result, (layout ? nearby(*layout, best, bytesOf(result)) : std::nullopt).value_or(best.layout), loads_);
}

bool LayoutAssignment::isNarrowBranch(Value tile) const {
  auto branch = dyn_cast<scf::IfOp>(tile.getDefiningOp()->getParentOp());
  if (!branch || !tile.hasOneUse()) return false;
  Operation* user = *tile.user_begin();
  if (!isa<scf::YieldOp>(user) || user->getParentOp() != branch) return false;
  unsigned result = tile.use_begin()->getOperandNumber();
  bool isThen = branch.getThenRegion().isAncestor(tile.getParentRegion());
  auto other = (isThen ? branch.elseYield() : branch.thenYield())->getOperand(result).getDefiningOp<tile::LoadOp>();
  auto neighbours = [&](tile::LoadOp load) { return tgpu::neighboursOf(load)->count; };
  return other && neighbours(tile.getDefiningOp<tile::LoadOp>()) < neighbours(other);
}

void LayoutAssignment::placeUpdates() {
  for (auto& [update, best] : updates_) {
    auto known = known_.find(homeOf(update.getValue()));
    bool isPlaced = known != known_.end() && !isCheapTree(update.getValue()) && !known->second.freeMask(Dim::Register);
    Coalescing pairs{best.layout, 2, best.axis};
    std::optional<LinearLayout> layout =
        isPlaced ? nearby(known->second, pairs, bytesOf(update.getValue())) : std::nullopt;
    anchor(update.getResult(), layout.value_or(best.layout), loads_);
  }
  spread(loads_);
}

void LayoutAssignment::placeUnloaded() {
  for (auto& [store, best] : coalescedStores_) {
    if (!known_.count(homeOf(store.getValue()))) anchor(store.getValue(), best.layout, stores_);
    spread(stores_);
  }
}

void LayoutAssignment::placeOperands() {
  for (auto& [operand, layout] : operands_) {
    bool isCopied = layout.freeMask(Dim::Register) || layout.freeMask(Dim::Lane) || layout.freeMask(Dim::Warp);
    if (!isCopied && !known_.count(homeOf(operand->get()))) anchor(operand->get(), layout, loads_);
    spread(loads_);
  }
}

void LayoutAssignment::placeBuffered() {
  auto place = [&](Operation* op, Value tile, Value buffer) {
    auto alloc = buffer.getDefiningOp<tgpu::AllocOp>();
    if (!alloc || known_.count(homeOf(tile))) return;
    auto type = cast<RankedTensorType>(tile.getType());
    unsigned bits = std::max(8u, type.getElementType().getIntOrFloatBitWidth());
    anchor(tile,
           layout::defaultBlocked(type.getShape(), bits, threadsOf(op),
                                  fastestFirst(type.getRank(), alloc.getFastest().value_or(type.getRank() - 1))),
           loads_);
    spread(loads_);
  };
  kernel_.walk([&](tgpu::LocalStoreOp op) { place(op, op.getValue(), op.getBuffer()); });
  kernel_.walk([&](tgpu::LocalLoadOp op) { place(op, op.getResult(), op.getBuffer()); });
}

void LayoutAssignment::placeDefaults() {
  placesDefaults_ = true;
  kernel_.walk<WalkOrder::PreOrder>([&](Operation* op) {
    if (op->getParentOp() && isa<tile::ReduceOp, tile::ScanOp, tile::MapElementwiseOp>(op->getParentOp())) return;
    SmallVector<Value> values(op->getResults());
    if (auto loop = dyn_cast<scf::WhileOp>(op)) llvm::append_range(values, loop.getBeforeArguments());
    for (Value value : values) {
      if (!isTile(value) || known_.count(homeOf(value))) continue;
      auto type = cast<RankedTensorType>(value.getType());
      // Whatever place it comes from, an element costs one access: what is gathered lies as what it is gathered from.
      if (auto gather = dyn_cast<tile::GatherOp>(op);
          gather && type.getShape() == cast<RankedTensorType>(gather.getSource().getType()).getShape()) {
        anchor(value, known_.find(homeOf(gather.getSource()))->second, loads_);
        spread(loads_);
        continue;
      }
      Type element = type.getElementType();
      unsigned bits = isa<tile::PtrType>(element) ? 64 : std::max(8u, element.getIntOrFloatBitWidth());
      anchor(value, layout::defaultBlocked(type.getShape(), bits, threadsOf(op), orderOf(op, type.getRank())), loads_);
      spread(loads_);
    }
  });
}

SmallVector<unsigned> LayoutAssignment::orderOf(Operation* op, unsigned rank) {
  auto load = dyn_cast<tgpu::LocalLoadOp>(op);
  auto buffer = load ? load.getBuffer().getDefiningOp<tgpu::AllocOp>() : tgpu::AllocOp();
  if (!buffer || !buffer.getFastest()) return {};
  SmallVector<unsigned> order{*buffer.getFastest()};
  for (unsigned d = rank; d-- > 0;)
    if (d != order.front()) order.push_back(d);
  return order;
}

void LayoutAssignment::placeStores() {
  for (auto& [store, best] : coalescedStores_) {
    if (isCheapTree(store.getValue())) continue;
    const LinearLayout& computed = known_.find(homeOf(store.getValue()))->second;
    if (computed == best.layout || computed.freeMask(Dim::Register)) continue;
    if (std::optional<LinearLayout> layout = nearby(computed, best, bytesOf(store.getValue()))) access(store, *layout);
  }
}

void LayoutAssignment::placeBlockStore(tile::BlockStoreOp op) {
  Coalescing best = blockOf(op);
  const LinearLayout& computed = known_.find(homeOf(op.getValue()))->second;
  bool stays = !isCheapTree(op.getValue()) && !computed.freeMask(Dim::Register);
  std::optional<LinearLayout> layout = stays ? nearby(computed, best, bytesOf(op.getValue())) : std::nullopt;
  required_[&op.getValueMutable()] = layout.value_or(best.layout);
}

void LayoutAssignment::chooseStores() {
  kernel_.walk([&](tile::BlockStoreOp op) {
    if (!units_.mayStore(op) || !units_.takeStore(op, known_.find(homeOf(op.getValue()))->second, axes_))
      placeBlockStore(op);
  });
}

void LayoutAssignment::placeOperandsOfUnits() {
  kernel_.walk([&](Operation* op) {
    for (OpOperand& operand : op->getOpOperands()) {
      if (!isTile(operand.get())) continue;
      auto layout = [&]() -> const LinearLayout& { return known_.find(homeOf(operand.get()))->second; };
      if (auto wanted = units_.required(operand, layout, int(threadsOf(op).warps))) required_[&operand] = *wanted;
    }
  });
}

}  // namespace tandem::transform::gpu
