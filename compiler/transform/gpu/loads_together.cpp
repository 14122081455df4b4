#include "compiler/transform/gpu/loads_together.h"
#include "compiler/analysis/usual_steps.h"
#include "compiler/dialect/tgpu/tgpu.h"
#include "compiler/transform/gpu/bring_into.h"
#include "compiler/transform/gpu/layout_rules.h"
#include <mlir/Dialect/SCF/IR/SCF.h>

namespace tandem::transform::gpu {
using namespace mlir;

// Returns true if the numbers of a tile come from divisions by variables, as far as a look at this many ops tells.
static bool isDivided(Value tile) {
  SmallVector<Value> left{tile};
  for (int budget = 64; !left.empty() && budget > 0; --budget) {
    Operation* op = left.pop_back_val().getDefiningOp();
    if (!op || !isMemoryEffectFree(op)) continue;
    if (dividesByVariable(op)) return true;
    llvm::copy_if(op->getOperands(), std::back_inserter(left),
                  [](Value v) { return isa<RankedTensorType>(v.getType()); });
  }
  return false;
}

// Returns true if each row of a tile along `axis` lies anywhere: a thread keeps the address of each row that it has part of.
static bool hasScatteredRows(Value pointers, unsigned axis, const analysis::AxisInfoAnalysis& axes) {
  auto shape = cast<RankedTensorType>(pointers.getType()).getShape();
  return llvm::any_of(llvm::seq<unsigned>(0, shape.size()),
                      [&](unsigned d) { return d != axis && shape[d] > 1 && !analysis::usualStep(pointers, d, axes); });
}

LoadsTogether::LoadsTogether(func::FuncOp kernel, const analysis::AxisInfoAnalysis& axes, layout::ThreadCounts threads)
    : axes_(axes), threads_(threads) {
  auto join = [&](Value one, Value other) { groups_.unionSets(one.getAsOpaquePointer(), other.getAsOpaquePointer()); };
  SmallVector<Operation*> loads;
  SmallVector<tile::StoreOp> stores;
  kernel.walk([&](Operation* op) {
    if (auto store = dyn_cast<tile::StoreOp>(op); store && isa<RankedTensorType>(store.getValue().getType())) {
      stores.push_back(store);
      groups_.insert(store.getValue().getAsOpaquePointer());
    }
    if (isa<tile::LoadOp, tile::BlockLoadOp>(op) && isa<RankedTensorType>(op->getResult(0).getType())) {
      loads.push_back(op);
      groups_.insert(op->getResult(0).getAsOpaquePointer());
    }
    SmallVector<Value> meeting;
    bool meets = isSameLayout(op) || isa<tile::SplitOp, tile::JoinOp, tile::ReshapeOp>(op);
    for (OpOperand& operand : op->getOpOperands()) {
      if (!isa<RankedTensorType>(operand.get().getType()) || isCheapTree(operand.get())) continue;
      for (Value tied : tiedTo(operand)) join(operand.get(), tied);
      if (meets) meeting.push_back(operand.get());
    }
    if (meets)
      llvm::copy_if(op->getResults(), std::back_inserter(meeting),
                    [](Value v) { return isa<RankedTensorType>(v.getType()); });
    for (Value other : meeting) join(meeting.front(), other);
    if (auto loop = dyn_cast<scf::ForOp>(op))
      for (auto [inside, result] : llvm::zip_equal(loop.getRegionIterArgs(), loop.getResults())) join(inside, result);
  });
  llvm::DenseSet<Key> dividing;
  for (Operation* load : loads) {
    Coalescing own = coalescedLoad(load, 0);
    Key key = keyOf(load->getResult(0), own.axis);
    constexpr int64_t kMany = 64;  // elements of a thread: one by one they are loaded sooner than they change threads
    if (own.layout.numRegisters() >= kMany && staysInLanes(load, own)) inLanes_.try_emplace(key, own.layout);
    most_[key].add(own);
    if (isa<tile::LoadOp>(load) && isDivided(load->getOperand(0))) dividing.insert(key);
  }
  // Neighbours share the quotients that say where they are, so that a thread has as many as the stores move.
  for (tile::StoreOp store : stores) {
    Coalescing own = coalesced(store.getPointer(), store.getMask(), axes_, threads_);
    if (Key key = keyOf(store.getValue(), own.axis); dividing.contains(key)) most_[key].add(own);
  }
}

// A descriptor's rows are neighbours along the last dimension, whatever is known of its strides.
Coalescing LoadsTogether::coalescedLoad(Operation* op, int64_t together) const {
  if (auto load = dyn_cast<tile::LoadOp>(op))
    return coalesced(load.getPointer(), load.getMask(), axes_, threads_, false, together);
  auto block = cast<tile::BlockLoadOp>(op);
  ValueRange strides = block.getDescriptor() ? ValueRange() : ValueRange(block.getStrides());
  return coalescedBlock(cast<RankedTensorType>(block.getResult().getType()), strides, threads_, together);
}

// Tiles of one group may be halves of each other, which have one dimension more or less.
LoadsTogether::Key LoadsTogether::keyOf(Value tile, unsigned axis) const {
  auto shape = cast<RankedTensorType>(tile.getType()).getShape();
  bool isLast = llvm::all_of(shape.drop_front(axis + 1), [](int64_t size) { return size == 1; });
  int64_t runs = isLast ? 0 : ShapedType::getNumElements(shape.take_front(axis + 1));
  return {groups_.getLeaderValue(tile.getAsOpaquePointer()), runs};
}

void LoadsTogether::Most::add(const Coalescing& access) {
  int64_t all = access.layout.numElements();
  if (all < elements) return;
  neighbours = all == elements ? std::max(neighbours, access.neighbours) : access.neighbours;
  elements = all;
}

// Returns true if the tile, or its transpose, goes to shared memory.
static bool isStored(Value tile) {
  return llvm::any_of(tile.getUsers(), [](Operation* user) {
    return isa<tgpu::LocalStoreOp>(user) || (isa<tile::PermuteOp>(user) && isStored(user->getResult(0)));
  });
}

// Returns true if a product reads the tile, from shared memory, in this iteration or in the next one.
static bool isMultiplied(Value tile) {
  return isStored(tile) || llvm::any_of(tile.getUses(), [&](OpOperand& use) {
           SmallVector<Value> tied = tiedTo(use);
           auto loop = tied.empty() ? scf::ForOp() : tied.front().getDefiningOp<scf::ForOp>();
           return loop && isStored(loop.getRegionIterArg(cast<OpResult>(tied.front()).getResultNumber()));
         });
}

// Returns true if neighbours that cannot move at once are best left in neighbouring lanes.
bool LoadsTogether::staysInLanes(Operation* op, const Coalescing& own) const {
  auto load = dyn_cast<tile::LoadOp>(op);
  return load && own.neighbours == 1 && axes_.of(load.getPointer()).contiguity(own.axis) > 1 &&
         !hasScatteredRows(load.getPointer(), own.axis, axes_);
}

Coalescing LoadsTogether::of(Operation* op) const {
  constexpr int64_t kWordBits = 32;
  Coalescing own = coalescedLoad(op, 0);
  Key key = keyOf(op->getResult(0), own.axis);
  Most most = most_.lookup(key);
  if (auto lanes = inLanes_.find(key); lanes != inLanes_.end() && lanes->second.shape() == own.layout.shape()) {
    own.layout = lanes->second;
    return own;
  }
  if (auto load = dyn_cast<tile::LoadOp>(op)) {
    bool isUnaligned = own.neighbours == 1 && axes_.of(load.getPointer()).contiguity(own.axis) > 1;
    Type element = getElementTypeOrSelf(load.getType());
    int64_t inWord = element.isIntOrFloat() ? kWordBits / std::max(8u, element.getIntOrFloatBitWidth()) : 1;
    if (isUnaligned && inWord > 1 && isMultiplied(load.getResult())) {
      own.layout = coalescedLoad(op, inWord).layout;
      return own;
    }
    if (staysInLanes(op, own)) return own;
  }
  int64_t share = std::max<int64_t>(1, most.neighbours * own.layout.numElements() / most.elements);
  own.layout = coalescedLoad(op, share).layout;
  own.neighbours = std::min(own.neighbours, share);
  return own;
}

}  // namespace tandem::transform::gpu
