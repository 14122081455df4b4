// The producer is a slice of the kernel. It waits for signals itself; at other ops that its copies must come after it
// passes a gate, which the consumers open behind them. Numbers that take all threads, such as a tile's sum, or that are
// taken from memory once, such as a ticket, it is told through shared memory, in a gate: several at one, where nothing
// but more numbers comes between them.
#include "compiler/transform/nvidia/warp_roles.h"
#include "compiler/dialect/dist/dist.h"
#include "compiler/dialect/simt/simt.h"
#include "compiler/dialect/tgpu/cluster.h"
#include "compiler/transform/gpu/accesses.h"
#include "compiler/transform/gpu/thread_dependence.h"
#include "compiler/transform/gpu/waits.h"
#include "compiler/transform/nvidia/producer.h"
#include "compiler/transform/nvidia/ring_copies.h"
#include <mlir/Dialect/Arith/IR/Arith.h>

namespace tandem::transform::nvidia {
using namespace mlir;
using namespace gpu;
namespace {

class ProducerSplit {
 public:
  ProducerSplit(func::FuncOp kernel, MutableArrayRef<RingPlan> rings)
      : kernel_(kernel), rings_(rings), blocks_(tgpu::blocksOf(kernel)) {
    for (RingPlan& p : rings) {
      for (tile::BlockLoadOp load : p.loads) loads_.push_back(load);
      for (const CopiedLoad& c : p.gathered) loads_.push_back(c.load);
      gathers_ |= !p.gathered.empty();
    }
    kernel.walk([&](Operation* op) {
      if (isWait(op) && mayPrecedeLoads(op)) waits_.push_back(op);
    });
    findGates();
  }

  tgpu::WarpSpecializeOp run(remark::Reason& whyNot) {
    Block& body = kernel_.getBody().front();
    if (body.getTerminator()->getNumOperands()) {
      whyNot = {"the function returns values, which a warp's role cannot", ""};
      return nullptr;
    }
    SmallVector<Operation*> roots = loads_;
    llvm::copy_if(waits_, std::back_inserter(roots), ordersAll);
    auto needed = neededFor(body, roots, gates_, gathers_);
    if (!needed) {
      whyNot = {"a producer warp cannot run ahead of what decides the loop or its addresses", ""};
      return nullptr;
    }
    llvm::erase_if(gates_, [&](Operation* op) { return needed->told.contains(op); });
    for (auto ops : {ArrayRef(gates_), needed->told.getArrayRef()})
      if (auto op = llvm::find_if(ops, isDivergent); op != ops.end()) {
        whyNot = {remark::lineOf(*op) + ", which comes before it, is reached by some threads only", ""};
        return nullptr;
      }
    if (!needed->told.empty() && blocks_ > 1) {
      whyNot = {"a number that one block makes of a tile, or takes from memory, decides the loop or its addresses",
                "num_ctas=1"};
      return nullptr;
    }
    if (gathers_ && !needed->told.empty()) {
      whyNot = {"a number that the consumers tell decides where a group of threads copies from", ""};
      return nullptr;
    }
    warnOfWaits(*needed);
    return split(body, *needed);
  }

 private:
  bool mayPrecedeLoads(Operation* op) const {
    return llvm::any_of(loads_, [&](Operation* load) { return mayPrecede(op, load); });
  }

  static Value baseOf(Operation* load) {
    if (auto block = dyn_cast<tile::BlockLoadOp>(load)) return block.getBase();
    return cast<tile::LoadOp>(load).getPointer();
  }

  // Finds the ops, other than waits, that the program must have done before its later copies start.
  void findGates() {
    SmallVector<BlockArgument> bases;
    for (Operation* load : loads_) addArgumentsBehind(baseOf(load), bases);
    kernel_.walk([&](Operation* op) {
      if (op != kernel_ && holdsUp(op, bases) && mayPrecedeLoads(op)) gates_.push_back(op);
    });
  }

  void warnOfWaits(const Needed& needed) {
    for (Operation* wait : waits_)
      for (Operation* load : loads_) {
        if (needed.ops.contains(wait) || !mayPrecede(wait, load)) continue;
        SmallVector<BlockArgument> bases;
        addArgumentsBehind(baseOf(load), bases);
        warnOfOvertaking(load, bases, wait);
      }
  }

  tgpu::WarpSpecializeOp split(Block& body, const Needed& needed) {
    analysis::AxisInfoAnalysis axes(kernel_);  // loops that are being copied have no end yet
    OpBuilder builder = OpBuilder::atBlockBegin(&body);
    for (auto [i, p] : llvm::enumerate(rings_)) {
      if (p.owner == int(i)) makeRing(p, builder);
      if (p.owner == int(i)) continue;
      const RingPlan& owner = rings_[p.owner];
      p.ring = owner.ring;
      p.buffers = llvm::map_to_vector<2>(p.places, [&](unsigned place) { return owner.buffers[place]; });
      p.gatheredBuffers = owner.gatheredBuffers;
    }
    Value gate = gates_.empty() && needed.told.empty() ? nullptr : makeGate(builder);
    llvm::DenseMap<Value, Value> places;
    for (Operation* op : needed.told)
      for (Value number : op->getResults())
        places[number] = simt::SmemAllocOp::create(
            builder, op->getLoc(), tile::SmemType::get(builder.getContext(), {1}, number.getType()), Value());
    auto groups = groupsOf(needed.told);
    auto roles = tgpu::WarpSpecializeOp::create(builder, kernel_.getLoc());
    Block& consumer = roles.getConsumer().emplaceBlock();
    Block& producer = roles.getProducer().emplaceBlock();
    consumer.getOperations().splice(consumer.end(), body.getOperations(), std::next(roles->getIterator()),
                                    std::prev(body.end()));

    OpBuilder inProducer = OpBuilder::atBlockEnd(&producer);
    IRMapping mapping;
    cloneNeeded(consumer, needed, inProducer, mapping, [&](Operation* op, OpBuilder& b, IRMapping& map) {
      if (auto group = groups.find(op); group != groups.end()) return learn(group->second, gate, places, b, map);
      if (needed.told.contains(op)) return true;  // learned before
      if (llvm::is_contained(gates_, op)) return passGate(op, gate, b);
      return copyLoad(op, axes, b, map);
    });
    for (Operation* op : gates_) openGate(op, gate);
    for (auto& [first, group] : groups) tell(group, gate, places);
    dropWaits(needed);
    return roles;
  }

  void makeRing(RingPlan& p, OpBuilder& builder) {
    Location loc = p.loads.front().getLoc();
    bool cluster = llvm::any_of(rings_, [&](const RingPlan& other) {
      return &rings_[other.owner] == &p &&
             llvm::any_of(other.loads, [&](auto load) { return isMulticast(load, blocks_); });
    });
    p.ring = tgpu::RingOp::create(builder, loc, builder.getI32Type(), p.slots, p.bytes, false, false, cluster);
    for (tile::BlockLoadOp load : p.loads) {
      auto type = cast<RankedTensorType>(load.getResult().getType());
      p.buffers.push_back(makeBuffer(builder, load.getLoc(), type, p.slots));
    }
    for (const CopiedLoad& c : p.gathered)
      p.gatheredBuffers.push_back(makeBuffer(builder, tile::LoadOp(c.load).getLoc(), c.type(), p.slots));
  }

  bool copyLoad(Operation* op, const analysis::AxisInfoAnalysis& axes, OpBuilder& builder, IRMapping& mapping) {
    auto load = dyn_cast<tile::BlockLoadOp>(op);
    auto plan = llvm::find_if(
        rings_, [&](const RingPlan& p) { return (load && llvm::is_contained(p.loads, load)) || p.gathers(op); });
    if (plan == rings_.end()) return false;
    SmallVector<Operation*> all(plan->loads.begin(), plan->loads.end());
    for (const CopiedLoad& c : plan->gathered) all.push_back(c.load);
    if (llvm::all_of(all, [&](Operation* o) { return o == op || op->isBeforeInBlock(o); }))
      tgpu::AcquireOp::create(builder, op->getLoc(), plan->ring, bytesInSlot(*plan, builder));
    if (load) copyIntoSlot(*plan, load, blocks_, axes, builder, mapping);
    for (const CopiedLoad& c : plan->gathered)
      if (tile::LoadOp(c.load).getOperation() == op) gatherIntoSlot(*plan, c, builder, mapping);
    if (llvm::all_of(all, [&](Operation* o) { return o == op || o->isBeforeInBlock(op); }))
      tgpu::CommitOp::create(builder, op->getLoc(), plan->ring);
    return true;
  }

  // Null where they are as many as of the loop that the ring was made for.
  IntegerAttr bytesInSlot(const RingPlan& p, OpBuilder& builder) const {
    return p.bytes == rings_[p.owner].bytes ? IntegerAttr() : builder.getI32IntegerAttr(p.bytes);
  }

  // A ring without bytes in which the roles meet: the consumers come first, the producer passes when all are there.
  Value makeGate(OpBuilder& builder) const {
    return tgpu::RingOp::create(builder, builder.getUnknownLoc(), builder.getI32Type(), 1, 0, true, false, blocks_ > 1);
  }

  static bool passGate(Operation* op, Value gate, OpBuilder& builder, llvm::function_ref<void()> inGate = [] {}) {
    tgpu::AcquireOp::create(builder, op->getLoc(), gate, IntegerAttr());
    inGate();
    tgpu::CommitOp::create(builder, op->getLoc(), gate);
    return true;
  }

  // The ops that are told at one gate, in their order, by the first of them.
  using Groups = llvm::MapVector<Operation*, SmallVector<Operation*>>;
  Groups groupsOf(const llvm::SetVector<Operation*>& told) const {
    Groups groups;
    llvm::DenseSet<Operation*> grouped;
    kernel_->walk([&](Operation* first) {
      if (!told.contains(first) || grouped.contains(first)) return;
      auto& group = groups[first];
      for (Operation* op = first; op && (told.contains(op) || isMemoryEffectFree(op)); op = op->getNextNode()) {
        if (op->getNumRegions() && hasAny(op, told)) break;
        if (!told.contains(op)) continue;
        group.push_back(op);
        grouped.insert(op);
      }
    });
    return groups;
  }

  static bool hasAny(Operation* op, const llvm::SetVector<Operation*>& told) {
    return op
        ->walk([&](Operation* inner) {
          return inner != op && told.contains(inner) ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  }

  // All threads have the same numbers. They go on when the producer has read them, so the next may take their places.
  static void tell(ArrayRef<Operation*> group, Value gate, const llvm::DenseMap<Value, Value>& places) {
    openGate(group.back(), gate);
    for (Operation* op : group) {
      OpBuilder builder(op->getNextNode());
      Value zero = arith::ConstantIntOp::create(builder, op->getLoc(), 0, 32);
      for (Value number : op->getResults())
        simt::SmemStoreOp::create(builder, op->getLoc(), places.lookup(number), number, zero);
    }
  }

  static bool learn(ArrayRef<Operation*> group, Value gate, const llvm::DenseMap<Value, Value>& places,
                    OpBuilder& builder, IRMapping& mapping) {
    return passGate(group.front(), gate, builder, [&] {
      for (Operation* op : group) {
        Value zero = arith::ConstantIntOp::create(builder, op->getLoc(), 0, 32);
        for (Value number : op->getResults())
          mapping.map(number,
                      simt::SmemLoadOp::create(builder, op->getLoc(), number.getType(), places.lookup(number), zero));
      }
    });
  }

  static void openGate(Operation* op, Value gate) {
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    tgpu::ReleaseOp::create(builder, op->getLoc(), gate);
    tgpu::AwaitOp::create(builder, op->getLoc(), gate);
    tgpu::AdvanceOp::create(builder, op->getLoc(), gate);
  }

  // The producer has waited before it fills a slot, and consumers come after that through the slot's barrier: where a
  // token reaches nothing else, they need not wait as well.
  void dropWaits(const Needed& needed) {
    for (Operation* op : needed.ops) {
      auto wait = dyn_cast<dist::WaitOp>(op);
      if (!wait || wait.getToken().use_empty()) continue;
      auto reached = reachedBy(wait.getToken());
      if (!reached || !llvm::all_of(*reached, [&](Operation* access) { return llvm::is_contained(loads_, access); }))
        continue;
      OpBuilder builder(wait);
      wait.getToken().replaceAllUsesWith(arith::ConstantIntOp::create(builder, wait.getLoc(), 0, 32));
      wait.erase();
    }
  }

  func::FuncOp kernel_;
  MutableArrayRef<RingPlan> rings_;
  int64_t blocks_;
  SmallVector<Operation*> loads_, waits_, gates_;
  bool gathers_ = false;
};

}  // namespace

tgpu::WarpSpecializeOp addProducer(func::FuncOp kernel, MutableArrayRef<RingPlan> rings, remark::Reason& whyNot) {
  return ProducerSplit(kernel, rings).run(whyNot);
}

}  // namespace tandem::transform::nvidia
