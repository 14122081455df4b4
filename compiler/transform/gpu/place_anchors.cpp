// Anchors: the layouts that products, accesses and units want of their tiles.
#include "compiler/dialect/tgpu/attributes.h"
#include "compiler/layout/shape.h"
#include "compiler/transform/gpu/layout_assignment.h"
#include <mlir/Dialect/SCF/IR/SCF.h>

namespace tandem::transform::gpu {

void LayoutAssignment::placeAnchors() {
  kernel_.walk([&](Operation* op) {
    if (std::optional<Units::Anchors> anchors = units_.anchorsOf(op, int(threadsOf(op).warps))) {
      if (anchors->result) anchor(op->getResult(0), *anchors->result, products_[depthOf(op)]);
      for (auto& [operand, layout] : anchors->operands) require(*operand, layout);
      llvm::append_range(operands_, anchors->operands);
    } else if (auto o = dyn_cast<tile::DotOp>(op)) {
      anchor(o.getResult(), patches(cast<RankedTensorType>(o.getAcc().getType()).getShape(), threads_),
             products_[depthOf(op)]);
    } else if (auto o = dyn_cast<tile::LoadOp>(op); o && isTile(o.getPointer())) {
      coalescedAccess(op, o.getPointer(), o.getMask());
      offered_.try_emplace(o.getResult());
    } else if (auto o = dyn_cast<tgpu::CopyAsyncOp>(op)) {
      tgpu::Neighbours at = *tgpu::neighboursOf(op);
      auto type = cast<RankedTensorType>(o.getPointer().getType());
      if (auto ring = o.getRing().getDefiningOp<tgpu::CopyRingOp>())
        access(op, ring.getOfGroups() ? copiedByGroups(type, at.count, threads_)
                                      : copiedBlock(type, at.count, at.axis, threads_));
      else
        accessOfProducers(op, copiedBlock(type, at.count, at.axis, threadsOf(op)));
    } else if (auto o = dyn_cast<tile::BlockLoadOp>(op)) {
      anchor(o.getResult(), together_.of(op).layout, loads_);
    } else if (auto o = dyn_cast<tile::StoreOp>(op); o && isTile(o.getPointer())) {
      coalescedStores_.emplace_back(o, coalescedAccess(op, o.getPointer(), o.getMask()));
      access(op, coalescedStores_.back().second.layout);
    } else if (auto o = dyn_cast<tile::BlockStoreOp>(op); o && !units_.mayStore(o)) {
      require(o.getValueMutable(), blockOf(o).layout);
    } else if (auto o = dyn_cast<tile::AtomicRmwOp>(op); o && isTile(o.getPointer())) {
      Coalescing best = coalescedAccess(op, o.getPointer(), o.getMask());
      if (o->use_empty() && best.neighbours == 1)
        updates_.emplace_back(o, best);
      else
        anchor(o.getResult(), best.layout, loads_);
    } else if (auto o = dyn_cast<tile::AtomicCasOp>(op); o && isTile(o.getPointer())) {
      anchor(o.getResult(), coalesced(o.getPointer(), nullptr, axes_, threads_).layout, loads_);
    }
  });
}

Coalescing LayoutAssignment::blockOf(tile::BlockStoreOp op) const {
  ValueRange strides = op.getDescriptor() ? ValueRange() : ValueRange(op.getStrides());
  return coalescedBlock(cast<RankedTensorType>(op.getValue().getType()), strides, threads_);
}

void LayoutAssignment::placeCarried() {
  kernel_.walk([&](tgpu::CopyAsyncOp copy) {
    llvm::DenseSet<Value> seen;
    for (OpOperand& operand : copy->getOpOperands())
      if (auto wanted = required_.find(&operand); wanted != required_.end()) carry(operand.get(), wanted->second, seen);
  });
}

bool LayoutAssignment::isLoaded(scf::ForOp loop, unsigned index) {
  return loop.getYieldedValues()[index].getDefiningOp<tile::LoadOp>() != nullptr;
}

void LayoutAssignment::carry(Value value, const LinearLayout& layout, llvm::DenseSet<Value>& seen) {
  Value home = homeOf(value);
  Operation* op = home.getDefiningOp();
  if (!op || !seen.insert(home).second) return;
  if (auto loop = dyn_cast<scf::ForOp>(op); loop && isLoaded(loop, cast<OpResult>(home).getResultNumber())) return;
  if (isLoop(op)) return anchor(home, layout, loads_);
  for (OpOperand& operand : op->getOpOperands())
    if (isTile(operand.get()))
      if (auto wanted = backward(operand, layout)) carry(operand.get(), *wanted, seen);
}

bool LayoutAssignment::isProducers(Operation* op) {
  auto roles = op->getParentOfType<tgpu::WarpSpecializeOp>();
  return roles && roles.getProducer().isAncestor(op->getParentRegion());
}

layout::ThreadCounts LayoutAssignment::threadsOf(Operation* op) const {
  auto roles = op->getParentOfType<tgpu::WarpSpecializeOp>();
  bool isAdded = roles && !roles.getConsumer().isAncestor(op->getParentRegion());
  return isAdded ? layout::ThreadCounts{threads_.lanes, 4} : threads_;
}

int LayoutAssignment::depthOf(Operation* op) {
  int depth = 0;
  while ((op = op->getParentOfType<LoopLikeOpInterface>())) ++depth;
  return depth;
}

int64_t LayoutAssignment::bytesOf(Value tile) {
  Type element = cast<RankedTensorType>(tile.getType()).getElementType();
  return isa<tile::PtrType>(element) ? 8 : std::max(1u, element.getIntOrFloatBitWidth() / 8);
}

Coalescing LayoutAssignment::coalescedAccess(Operation* op, Value pointer, Value mask) {
  int64_t most = coalesced(pointer, mask, axes_, threads_, /*whole=*/true).neighbours;
  Coalescing c = coalesced(pointer, mask, axes_, threadsOf(op));
  tgpu::setNeighbours(op, {static_cast<int32_t>(most), static_cast<int32_t>(c.axis)});
  return c;
}

void LayoutAssignment::anchor(Value value, const LinearLayout& layout, Queue& queue) {
  Value home = homeOf(value);
  if (auto load = offered_.find(home); load != offered_.end()) {
    if (!load->second) load->second = layout;
    return;
  }
  bool joined = isa_and_nonnull<tile::JoinOp>(home.getDefiningOp());
  if (!known_.try_emplace(home, joined ? withPairInRegister(layout) : layout).second) return;
  queue.push_back(home);
}

void LayoutAssignment::require(OpOperand& operand, const LinearLayout& layout) {
  required_[&operand] = layout;
  if (operand.get().getDefiningOp() && !isCheapTree(operand.get())) return;
  anchor(operand.get(), layout, stores_);
}

void LayoutAssignment::access(Operation* op, const LinearLayout& layout) {
  for (OpOperand& operand : op->getOpOperands())
    if (isTile(operand.get())) require(operand, layout);
}

void LayoutAssignment::accessOfProducers(Operation* op, const LinearLayout& layout) {
  for (OpOperand& operand : op->getOpOperands()) {
    if (!isTile(operand.get())) continue;
    required_[&operand] = layout;
    anchor(operand.get(), layout, products_[depthOf(op)]);
  }
}

}  // namespace tandem::transform::gpu
