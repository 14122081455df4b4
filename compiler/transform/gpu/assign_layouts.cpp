// Anchors, spreading, defaults, conversions: the four steps of the header.
#include "compiler/dialect/tgpu/attributes.h"
#include "compiler/dialect/tile/attributes.h"
#include "compiler/dialect/tgpu/layouts.h"
#include "compiler/dialect/tgpu/tgpu.h"
#include "compiler/layout/distributed.h"
#include "compiler/layout/shape.h"
#include "compiler/transform/gpu/anchor_layouts.h"
#include "compiler/transform/gpu/bring_into.h"
#include "compiler/transform/gpu/invariants.h"
#include "compiler/transform/gpu/layout_rules.h"
#include "compiler/transform/gpu/loads_together.h"
#include "compiler/transform/gpu/passes.h"
#include "compiler/transform/gpu/units.h"
#include <algorithm>
#include <deque>
#include <functional>
#include <llvm/ADT/MapVector.h>
#include <map>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/IR/Iterators.h>

namespace tandem::transform::gpu {
using namespace mlir;
using layout::Dim;
using layout::LinearLayout;
#define GEN_PASS_DEF_ASSIGNTHREADLAYOUTS
#include "compiler/transform/gpu/passes.h.inc"
namespace {

bool isTile(Value value) { return isa<RankedTensorType>(value.getType()); }

class LayoutAssignment {
 public:
  LayoutAssignment(func::FuncOp kernel, const Units& units)
      : kernel_(kernel), units_(units), axes_(kernel), change_(kernel), threads_{units.lanes(), tile::numWarps(kernel)},
        together_(kernel, axes_, threads_) {}

  void run() {
    placeAnchors();
    placeCarried();
    for (auto& [depth, products] : products_) spread(products);
    placeLoads();
    spread(loads_);
    spread(stores_);
    placeUpdates();
    if (products_.empty()) placeUnloaded();  // What products want comes first.
    placeBuffered();
    placeDefaults();
    placeStores();
    chooseStores();
    placeOperandsOfUnits();
    insertConversions();
    hoistConversions();
    hoistDivisions();
    dropUnused();
  }

 private:
  // Step 1. The queues hold the values whose layouts begin to spread.
  void placeAnchors() {
    kernel_.walk([&](Operation* op) {
      if (std::optional<Units::Anchors> anchors = units_.anchorsOf(op, int(threadsOf(op).warps))) {
        if (anchors->result) anchor(op->getResult(0), *anchors->result, products_[depthOf(op)]);
        for (auto& [operand, layout] : anchors->operands) require(*operand, layout);
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

  // A descriptor's rows are neighbours along the last dimension, whatever is known of its strides.
  Coalescing blockOf(tile::BlockStoreOp op) const {
    ValueRange strides = op.getDescriptor() ? ValueRange() : ValueRange(op.getStrides());
    return coalescedBlock(cast<RankedTensorType>(op.getValue().getType()), strides, threads_);
  }

  // Lays out what loops carry and branches choose as the addresses of copies want it, for it cannot be computed again in
  // another layout.
  void placeCarried() {
    kernel_.walk([&](tgpu::CopyAsyncOp copy) {
      llvm::DenseSet<Value> seen;
      for (OpOperand& operand : copy->getOpOperands())
        if (auto wanted = required_.find(&operand); wanted != required_.end())
          carry(operand.get(), wanted->second, seen);
    });
  }

  // Returns true if an iteration loads the value for a later one: such a value keeps the load's layout.
  static bool isLoaded(scf::ForOp loop, unsigned index) {
    return loop.getYieldedValues()[index].getDefiningOp<tile::LoadOp>() != nullptr;
  }

  void carry(Value value, const LinearLayout& layout, llvm::DenseSet<Value>& seen) {
    Value home = homeOf(value);
    Operation* op = home.getDefiningOp();
    if (!op || !seen.insert(home).second) return;
    if (auto loop = dyn_cast<scf::ForOp>(op); loop && isLoaded(loop, cast<OpResult>(home).getResultNumber())) return;
    if (isLoop(op)) return anchor(home, layout, loads_);
    for (OpOperand& operand : op->getOpOperands())
      if (isTile(operand.get()))
        if (auto wanted = backward(operand, layout)) carry(operand.get(), *wanted, seen);
  }

  static bool isProducers(Operation* op) {
    auto roles = op->getParentOfType<tgpu::WarpSpecializeOp>();
    return roles && roles.getProducer().isAncestor(op->getParentRegion());
  }

  // Tiles of added warps are of four.
  layout::ThreadCounts threadsOf(Operation* op) const {
    auto roles = op->getParentOfType<tgpu::WarpSpecializeOp>();
    bool isAdded = roles && !roles.getConsumer().isAncestor(op->getParentRegion());
    return isAdded ? layout::ThreadCounts{threads_.lanes, 4} : threads_;
  }

  static int depthOf(Operation* op) {
    int depth = 0;
    while ((op = op->getParentOfType<LoopLikeOpInterface>())) ++depth;
    return depth;
  }

  // Loads coalesce; where what joins them from products does so as well, their tiles need not change threads.
  void placeLoads() {
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

  // Returns true if a tile repeats few elements of memory: wherever it lies, a warp's access is of few lines.
  bool isRepeated(Value tile) const {
    Value pointers = tile.getDefiningOp<tile::LoadOp>().getPointer();
    int64_t different = 1;
    for (auto [d, size] : llvm::enumerate(cast<RankedTensorType>(pointers.getType()).getShape()))
      different *= size / std::min(size, axes_.of(pointers).constancy(d));
    return different <= threads_.lanes && different < cast<RankedTensorType>(pointers.getType()).getNumElements();
  }

  void placeLoad(Value result, const std::optional<LinearLayout>& layout, const Coalescing& best) {
    if (layout && isProducers(result.getDefiningOp())) {
      anchor(result, *layout, loads_);
      return;
    }
    anchor(result, (layout ? nearby(*layout, best, bytesOf(result)) : std::nullopt).value_or(best.layout), loads_);
  }

  // Returns true if a branch loads the tile with fewer neighbours at once than the other branch does.
  bool isNarrowBranch(Value tile) const {
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

  static int64_t bytesOf(Value tile) {
    Type element = cast<RankedTensorType>(tile.getType()).getElementType();
    return isa<tile::PtrType>(element) ? 8 : std::max(1u, element.getIntOrFloatBitWidth() / 8);
  }

  // Leaves at the op how many neighbours one access may move, and along which dimension: in another layout a thread may
  // have more of a small tile than in this one.
  Coalescing coalescedAccess(Operation* op, Value pointer, Value mask) {
    int64_t most = coalesced(pointer, mask, axes_, threads_, /*whole=*/true).neighbours;
    Coalescing c = coalesced(pointer, mask, axes_, threadsOf(op));
    tgpu::setNeighbours(op, {static_cast<int32_t>(most), static_cast<int32_t>(c.axis)});
    return c;
  }

  using Queue = std::deque<Value>;

  void anchor(Value value, const LinearLayout& layout, Queue& queue) {
    Value home = homeOf(value);
    if (auto load = offered_.find(home); load != offered_.end()) {
      if (!load->second) load->second = layout;
      return;
    }
    bool joined = isa_and_nonnull<tile::JoinOp>(home.getDefiningOp());
    if (!known_.try_emplace(home, joined ? withPairInRegister(layout) : layout).second) return;
    queue.push_back(home);
  }

  void require(OpOperand& operand, const LinearLayout& layout) {
    required_[&operand] = layout;
    if (operand.get().getDefiningOp() && !isCheapTree(operand.get())) return;
    anchor(operand.get(), layout, stores_);
  }

  // An access without a result: all its operands in one layout.
  void access(Operation* op, const LinearLayout& layout) {
    for (OpOperand& operand : op->getOpOperands())
      if (isTile(operand.get())) require(operand, layout);
  }

  // The same by a producer's threads, which exchange nothing: what the operands are computed from is in these layouts, too.
  void accessOfProducers(Operation* op, const LinearLayout& layout) {
    for (OpOperand& operand : op->getOpOperands()) {
      if (!isTile(operand.get())) continue;
      required_[&operand] = layout;
      anchor(operand.get(), layout, products_[depthOf(op)]);
    }
  }

  // A loop's carried argument and its result are one.
  static Value homeOf(Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument) return value;
    if (auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()))
      return loop.getResult(argument.getArgNumber() - 1);
    if (auto loop = dyn_cast<scf::WhileOp>(argument.getOwner()->getParentOp()))
      if (argument.getOwner() == loop.getAfterBody()) return loop.getResult(argument.getArgNumber());
    return value;
  }

  // The values that stand for one home inside a loop.
  static SmallVector<Value> namesOf(Value home) {
    SmallVector<Value> names{home};
    auto result = dyn_cast<OpResult>(home);
    if (!result) return names;
    if (auto loop = dyn_cast<scf::ForOp>(result.getOwner()))
      names.push_back(loop.getRegionIterArg(result.getResultNumber()));
    if (auto loop = dyn_cast<scf::WhileOp>(result.getOwner()))
      names.push_back(loop.getAfterArguments()[result.getResultNumber()]);
    return names;
  }

  // Step 2.
  void spread(Queue& queue) {
    while (!queue.empty()) {
      Value home = queue.front();
      queue.pop_front();
      LinearLayout layout = known_.find(home)->second;
      for (Value name : namesOf(home))
        for (OpOperand& use : name.getUses()) spreadToUser(use, layout, queue);
      spreadToSources(home, layout, queue);
    }
  }

  void spreadToUser(OpOperand& use, const LinearLayout& layout, Queue& queue) {
    Operation* op = use.getOwner();
    bool isCheap = isCheapTree(use.get());  // computed again wherever it is wanted, it decides nothing for others
    for (Value tied : tiedTo(use)) anchor(tied, layout, queue);
    for (OpResult result : op->getResults())
      if (isTile(result) && !isLoop(op) && !(isCheap && !isCheapTree(result)))
        if (auto passed = forward(use, layout, result.getResultNumber()); passed && !isHeldTwice(op, *passed))
          anchor(result, *passed, queue);
    if (isa<tile::StoreOp>(op)) return;
    if (op->getNumResults() == 0 && isSameLayout(op)) access(op, layout);
  }

  // Returns true if a small tile that several threads hold would make each of them hold much of a large one. In kernels with
  // products two threads may, since pairs share rows of operands; in others a pair of elements is much in a default layout.
  bool isHeldTwice(Operation* op, const LinearLayout& layout) const {
    if (!isa<tile::BroadcastOp>(op)) return false;
    const bool multiplies = !products_.empty();
    const int64_t fewestThreads = multiplies ? 4 : 2, fewestElements = placesDefaults_ && !multiplies ? 2 : 4;
    int copies = llvm::popcount(layout.freeMask(Dim::Lane)) + llvm::popcount(layout.freeMask(Dim::Warp));
    int64_t held = layout.numRegisters() >> llvm::popcount(layout.freeMask(Dim::Register));
    return held >= fewestElements && (int64_t(1) << copies) >= fewestThreads;
  }

  static bool isLoop(Operation* op) { return isa<scf::ForOp, scf::WhileOp, scf::IfOp>(op); }

  void spreadToSources(Value home, const LinearLayout& layout, Queue& queue) {
    if (auto argument = dyn_cast<BlockArgument>(home)) {  // of a while's condition region
      auto loop = cast<scf::WhileOp>(argument.getOwner()->getParentOp());
      anchor(loop.getInits()[argument.getArgNumber()], layout, queue);
      anchor(loop.getYieldOp()->getOperand(argument.getArgNumber()), layout, queue);
      return;
    }
    auto result = cast<OpResult>(home);
    Operation* op = result.getOwner();
    unsigned i = result.getResultNumber();
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      anchor(loop.getInitArgs()[i], layout, queue);
      anchor(loop.getYieldedValues()[i], layout, queue);
    } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      anchor(loop.getConditionOp().getArgs()[i], layout, queue);
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      anchor(branch.thenYield()->getOperand(i), layout, queue);
      anchor(branch.elseYield()->getOperand(i), layout, queue);
    } else if (i == 0 || isSameLayout(op)) {
      for (OpOperand& operand : op->getOpOperands())
        if (isTile(operand.get()) && !required_.count(&operand))
          if (auto wanted = backward(operand, layout)) anchor(operand.get(), *wanted, queue);
    }
  }

  // Updates one by one whose old values nobody reads are done where their values are, of which a thread may have pairs.
  void placeUpdates() {
    for (auto& [update, best] : updates_) {
      auto known = known_.find(homeOf(update.getValue()));
      bool isPlaced =
          known != known_.end() && !isCheapTree(update.getValue()) && !known->second.freeMask(Dim::Register);
      Coalescing pairs{best.layout, 2, best.axis};
      std::optional<LinearLayout> layout =
          isPlaced ? nearby(known->second, pairs, bytesOf(update.getValue())) : std::nullopt;
      anchor(update.getResult(), layout.value_or(best.layout), loads_);
    }
    spread(loads_);
  }

  // Values that no load places, such as random numbers and sums, lie as they are stored.
  void placeUnloaded() {
    for (auto& [store, best] : coalescedStores_) {
      if (!known_.count(homeOf(store.getValue()))) anchor(store.getValue(), best.layout, stores_);
      spread(stores_);
    }
  }

  // Tiles that only go from shared memory to shared memory, converted on the way say, lie as the buffers do, those that are
  // written first: a thread takes neighbours there.
  void placeBuffered() {
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

  // Step 3. It goes in the order of the program, so that a layout that follows from a default is not a default itself.
  void placeDefaults() {
    placesDefaults_ = true;
    kernel_.walk<WalkOrder::PreOrder>([&](Operation* op) {
      if (op->getParentOp() && isa<tile::ReduceOp, tile::ScanOp, tile::MapElementwiseOp>(op->getParentOp())) return;
      SmallVector<Value> values(op->getResults());
      if (auto loop = dyn_cast<scf::WhileOp>(op)) llvm::append_range(values, loop.getBeforeArguments());
      for (Value value : values) {
        if (!isTile(value) || known_.count(homeOf(value))) continue;
        auto type = cast<RankedTensorType>(value.getType());
        Type element = type.getElementType();
        unsigned bits = isa<tile::PtrType>(element) ? 64 : std::max(8u, element.getIntOrFloatBitWidth());
        anchor(value, layout::defaultBlocked(type.getShape(), bits, threadsOf(op), orderOf(op, type.getRank())),
               loads_);
        spread(loads_);
      }
    });
  }

  // The dimensions of what an op gives as they lie in a slot that it reads, from the fastest; empty for row-major.
  static SmallVector<unsigned> orderOf(Operation* op, unsigned rank) {
    auto load = dyn_cast<tgpu::LocalLoadOp>(op);
    auto buffer = load ? load.getBuffer().getDefiningOp<tgpu::AllocOp>() : tgpu::AllocOp();
    if (!buffer || !buffer.getFastest()) return {};
    SmallVector<unsigned> order{*buffer.getFastest()};
    for (unsigned d = rank; d-- > 0;)
      if (d != order.front()) order.push_back(d);
    return order;
  }

  void placeStores() {
    for (auto& [store, best] : coalescedStores_) {
      if (isCheapTree(store.getValue())) continue;
      const LinearLayout& computed = known_.find(homeOf(store.getValue()))->second;
      if (computed == best.layout || computed.freeMask(Dim::Register)) continue;
      if (std::optional<LinearLayout> layout = nearby(computed, best, bytesOf(store.getValue())))
        access(store, *layout);
    }
  }

  void placeBlockStore(tile::BlockStoreOp op) {
    Coalescing best = blockOf(op);
    const LinearLayout& computed = known_.find(homeOf(op.getValue()))->second;
    bool stays = !isCheapTree(op.getValue()) && !computed.freeMask(Dim::Register);
    std::optional<LinearLayout> layout = stays ? nearby(computed, best, bytesOf(op.getValue())) : std::nullopt;
    required_[&op.getValueMutable()] = layout.value_or(best.layout);
  }

  // Blocks that no unit stores want to coalesce.
  void chooseStores() {
    kernel_.walk([&](tile::BlockStoreOp op) {
      if (!units_.mayStore(op) || !units_.takeStore(op, known_.find(homeOf(op.getValue()))->second, axes_))
        placeBlockStore(op);
    });
  }

  void placeOperandsOfUnits() {
    kernel_.walk([&](Operation* op) {
      for (OpOperand& operand : op->getOpOperands()) {
        if (!isTile(operand.get())) continue;
        auto layout = [&]() -> const LinearLayout& { return known_.find(homeOf(operand.get()))->second; };
        if (auto wanted = units_.required(operand, layout, int(threadsOf(op).warps))) required_[&operand] = *wanted;
      }
    });
  }

  // Step 4.
  void insertConversions() {
    SmallVector<Operation*> ops;
    kernel_.walk<WalkOrder::PreOrder>([&](Operation* op) { ops.push_back(op); });
    for (auto& [value, layout] : known_) tgpu::setLayout(value, layout);
    for (Operation* op : ops) {
      if (op->getParentOp() && isa<tile::ReduceOp, tile::ScanOp, tile::MapElementwiseOp>(op->getParentOp())) continue;
      for (OpOperand& operand : op->getOpOperands())
        if (isTile(operand.get())) bringInto(operand);
    }
  }

  void bringInto(OpOperand& operand) {
    std::optional<LinearLayout> wanted = needed(operand);
    if (!wanted || *wanted == tgpu::layoutOf(operand.get())) return;
    operand.set(change_.bring(operand.get(), *wanted, operand.getOwner()));
  }

  // The layout an operand must have, given those of the results.
  std::optional<LinearLayout> needed(OpOperand& operand) {
    if (auto it = required_.find(&operand); it != required_.end()) return it->second;
    Operation* op = operand.getOwner();
    if (SmallVector<Value> tied = tiedTo(operand); !tied.empty()) return tgpu::layoutOf(tied.front());
    if (auto o = dyn_cast<tile::ScanOp>(op)) return tgpu::layoutOf(o.getResult(0));
    if (isa<tile::ReduceOp>(op)) return tgpu::layoutOf(op->getOperand(0));
    for (OpResult result : op->getResults())
      if (isTile(result)) return backward(operand, tgpu::layoutOf(result));
    if (!isSameLayout(op)) return std::nullopt;
    for (Value other : op->getOperands())
      if (isTile(other)) return tgpu::layoutOf(other);
    return std::nullopt;
  }

  static constexpr size_t kMostHoisted = 9;  // ops that go before a loop together

  // A tile that a loop hands on again and again, to other ranks above all, goes through shared memory once.
  void hoistConversions() {
    kernel_.walk([](tgpu::ConvertLayoutOp convert) {
      while (auto loop = dyn_cast<scf::ForOp>(convert->getParentOp())) {
        SmallVector<Operation*> chain;
        if (!isInvariant(convert.getResult(), loop, chain, kMostHoisted)) return;
        for (Operation* op : chain) op->moveBefore(loop);
      }
    });
  }

  // A quotient from before a loop that is wanted in another layout inside is computed once more, before the loop, too: LLVM
  // moves out of loops what cannot fail, and a division can.
  void hoistDivisions() {
    for (auto [again, first] : change_.divisions())
      while (auto loop = dyn_cast<scf::ForOp>(again->getParentOp())) {
        SmallVector<Operation*> chain;
        if (loop->isAncestor(first) || !isInvariant(again->getResult(0), loop, chain, kMostHoisted)) break;
        for (Operation* op : chain) op->moveBefore(loop);
      }
  }

  // Ops whose results are only wanted in other layouts.
  void dropUnused() {
    kernel_.walk<WalkOrder::PostOrder, ReverseIterator>([](Operation* op) {
      if (isOpTriviallyDead(op)) op->erase();
    });
  }

  func::FuncOp kernel_;
  const Units& units_;
  analysis::AxisInfoAnalysis axes_;
  LayoutChange change_;
  layout::ThreadCounts threads_;
  LoadsTogether together_;
  // Products by the loops around them, most first: what a loop carries changes threads before and behind it, not in it.
  std::map<int, Queue, std::greater<>> products_;
  Queue loads_, stores_;
  bool placesDefaults_ = false;
  std::vector<std::pair<tile::StoreOp, Coalescing>> coalescedStores_;
  std::vector<std::pair<tile::AtomicRmwOp, Coalescing>> updates_;
  llvm::MapVector<Value, LinearLayout> known_;  // by home
  llvm::MapVector<Value, std::optional<LinearLayout>>
      offered_;  // loads whose layouts are open, what products would have
  llvm::DenseMap<OpOperand*, LinearLayout> required_;
};

struct AssignThreadLayouts : impl::AssignThreadLayoutsBase<AssignThreadLayouts> {
  using Base::Base;
  void runOnOperation() override {
    if (failed(assignLayouts(getOperation(), Units(lanes)))) signalPassFailure();
  }
};

}  // namespace

LogicalResult assignLayouts(func::FuncOp kernel, const Units& units) {
  for (BlockArgument parameter : kernel.getArguments())
    if (isTile(parameter))
      return kernel.emitOpError() << "has a tile as parameter " << parameter.getArgNumber()
                                  << "; a kernel's parameters are scalars and pointers";
  LayoutAssignment(kernel, units).run();
  return success();
}

}  // namespace tandem::transform::gpu
