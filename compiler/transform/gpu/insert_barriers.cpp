// This pass walks the program in order with the accesses since the last barrier. Loop bodies are walked twice, for
// accesses at the end that conflict with those at the beginning.
#include "compiler/analysis/axis_info.h"
#include "compiler/analysis/remainders.h"
#include "compiler/dialect/simt/simt.h"
#include "compiler/dialect/tgpu/bulk_store.h"
#include "compiler/dialect/tgpu/cluster.h"
#include "compiler/dialect/tgpu/layouts.h"
#include "compiler/dialect/tgpu/tgpu.h"
#include "compiler/dialect/tile/attributes.h"
#include "compiler/transform/gpu/passes.h"
#include "compiler/transform/gpu/thread_dependence.h"
#include <map>
#include <mlir/Dialect/SCF/IR/SCF.h>

namespace tandem::transform::gpu {
using namespace mlir;
#define GEN_PASS_DEF_INSERTBARRIERS
#include "compiler/transform/gpu/passes.h.inc"
namespace {

bool isTile(Value value) { return isa<RankedTensorType>(value.getType()); }

struct Access {
  Operation* op = nullptr;
  Value pointer, root;  // root: the kernel's parameter that the pointer comes from; null when unknown
  bool reads = false, writes = false;
  bool isBulk = false;           // by the asynchronous unit
  bool isWhole = false;          // reads: by every block of the cluster; writes: by the first
  bool dependsOnThread = false;  // an operand of the op does
  bool metInBlock = false;       // its block's threads have met since, the other blocks have not
};

// Looks through ops that move a pointer inside one buffer.
Value rootOf(Value pointer) {
  for (int depth = 0; depth < 64; ++depth) {
    if (Operation* op = pointer.getDefiningOp()) {
      if (auto loop = dyn_cast<scf::ForOp>(op)) {
        pointer = loop.getInitArgs()[cast<OpResult>(pointer).getResultNumber()];
        continue;
      }
      if (!op->hasTrait<tile::DerivesPointer>()) return nullptr;
      pointer = op->getOperand(0);
      continue;
    }
    auto argument = cast<BlockArgument>(pointer);
    Operation* parent = argument.getOwner()->getParentOp();
    if (isa<func::FuncOp>(parent)) return argument;
    auto loop = dyn_cast<scf::ForOp>(parent);
    if (!loop || argument.getArgNumber() == 0) return nullptr;
    pointer = loop.getInitArgs()[argument.getArgNumber() - 1];
  }
  return nullptr;
}

bool isSame(Value a, Value b, int& budget) {
  if (a == b) return true;
  Operation *x = a.getDefiningOp(), *y = b.getDefiningOp();
  if (!x || !y || --budget < 0 || x->getName() != y->getName() || x->getNumRegions() || !isMemoryEffectFree(x))
    return false;
  if (cast<OpResult>(a).getResultNumber() != cast<OpResult>(b).getResultNumber() ||
      x->getAttrDictionary() != y->getAttrDictionary())
    return false;
  if (x->getNumOperands() != y->getNumOperands()) return false;
  return llvm::all_of(llvm::zip(x->getOperands(), y->getOperands()),
                      [&](auto pair) { return isSame(std::get<0>(pair), std::get<1>(pair), budget); });
}

// Returns true if two values are computed by the same ops from the same values, as far as a look at this many
// operations tells.
bool isSame(Value a, Value b) {
  int budget = 64;
  return isSame(a, b, budget);
}

bool holdsCopies(const layout::LinearLayout& layout) {
  return layout.freeMask(layout::Dim::Register) || layout.freeMask(layout::Dim::Lane) ||
         layout.freeMask(layout::Dim::Warp);
}

// One thread stores for the program.
bool isFirstThreads(const Access& access) {
  return isa<tile::StoreOp>(access.op) && !isTile(access.pointer) && !access.dependsOnThread;
}

// Returns true if each element is touched by one thread, the same in both accesses, in order.
bool inSameThreads(const Access& a, const Access& b) {
  if (isFirstThreads(a) && isFirstThreads(b)) return true;
  if (isa<tgpu::CopyAsyncOp>(a.op) || isa<tgpu::CopyAsyncOp>(b.op)) return false;
  if (a.isBulk || b.isBulk || !isTile(a.pointer) || !isTile(b.pointer) || !isSame(a.pointer, b.pointer)) return false;
  layout::LinearLayout layout = tgpu::layoutOf(a.pointer);
  return layout == tgpu::layoutOf(b.pointer) && !holdsCopies(layout);
}

// How an access updates memory, if nobody asks for the old values.
std::optional<tile::Rmw> updateOf(Operation* op) {
  if (auto block = dyn_cast<tile::BlockStoreOp>(op)) return block.getReduce();
  auto update = dyn_cast<tile::AtomicRmwOp>(op);
  return update && update.getResult().use_empty() ? std::optional(update.getRmw()) : std::nullopt;
}

// Such updates may happen in any order.
bool commute(const Access& a, const Access& b) {
  std::optional<tile::Rmw> how = updateOf(a.op);
  return how && how == updateOf(b.op) && *how != tile::Rmw::Xchg;
}

// Returns true if the accesses are made by different blocks, even to one element.
bool inOtherBlocks(const Access& a, const Access& b) {
  return a.isWhole != b.isWhole || (a.isWhole && (a.reads || b.reads));
}

// Returns true if all elements that both touch are one block's. Stores by TMA are to tensors that the kernel's
// parameters alone describe.
bool stayInBlock(const Access& a, const Access& b) {
  auto x = dyn_cast<tile::BlockStoreOp>(a.op), y = dyn_cast<tile::BlockStoreOp>(b.op);
  if (!a.isBulk || !b.isBulk || !x || !y || !tgpu::ownPart(x) || tgpu::ownPart(x) != tgpu::ownPart(y) ||
      !isSame(x.getBase(), y.getBase()))
    return false;
  return llvm::equal(x.getStrides(), y.getStrides(), [](Value s, Value t) { return isSame(s, t); });
}

// Returns, for each group of four warps, the place where the part of a tile that it stores begins. One thread of the
// group issues the copies.
SmallVector<SmallVector<int64_t>> partsOfGroups(tile::BlockStoreOp store) {
  layout::LinearLayout layout = tgpu::layoutOf(store.getValue());
  ArrayRef<uint64_t> warps = layout.bases(layout::Dim::Warp);
  SmallVector<SmallVector<int64_t>> parts;
  for (uint64_t basis : warps.drop_front(std::min<size_t>(2, warps.size()))) parts.push_back(layout.coordinates(basis));
  return parts;
}

// Returns true if every element that both store by TMA is in the part of the same group in both. Tiles begin at
// multiples of their size wherever groups divide them, so that parts of different groups are never in one place.
bool stayInGroup(const Access& a, const Access& b, const analysis::AxisInfoAnalysis& integers) {
  auto x = dyn_cast<tile::BlockStoreOp>(a.op), y = dyn_cast<tile::BlockStoreOp>(b.op);
  if (!a.isBulk || !b.isBulk || !x || !y || !isSame(x.getBase(), y.getBase())) return false;
  if (!llvm::equal(x.getStrides(), y.getStrides(), [](Value s, Value t) { return isSame(s, t); })) return false;
  if (!tgpu::uncertainOffsets(x).empty() || !tgpu::uncertainOffsets(y).empty()) return false;
  auto parts = partsOfGroups(x);
  if (parts != partsOfGroups(y)) return false;
  auto isAligned = [&](tile::BlockStoreOp store, size_t dim, int64_t size) {
    return cast<RankedTensorType>(store.getValue().getType()).getDimSize(dim) == size &&
           integers.of(store.getOffsets()[dim]).divisibility(0) % size == 0;
  };
  for (const SmallVector<int64_t>& part : parts)
    for (auto [dim, begin] : llvm::enumerate(part)) {
      int64_t size = cast<RankedTensorType>(x.getValue().getType()).getDimSize(dim);
      if (begin && !(isAligned(x, dim, size) && isAligned(y, dim, size))) return false;
    }
  return true;
}

// Returns true if the access touches the elements that its pointers name and no others.
bool isElementwise(const Access& access) {
  return isa<tile::LoadOp, tile::StoreOp, tile::AtomicRmwOp>(access.op) && !access.isBulk;
}

// Returns true if the kernel is launched with one memory behind both roots.
bool areOneMemory(Value a, Value b) {
  return a && b && (a == b || tile::overlap(cast<BlockArgument>(a), cast<BlockArgument>(b)));
}

// The threads of a block that read two parameters' memory have met before anything that follows from the values is
// written, unless a launch says that it is the same memory. Different blocks have not met.
bool conflict(const Access& earlier, const Access& later) {
  if (!earlier.writes && !later.writes) return false;
  if (earlier.metInBlock && stayInBlock(earlier, later)) return false;
  bool readAfterWrite = earlier.writes && later.reads, overtakesRead = earlier.isWhole && earlier.reads;
  bool unknown = !earlier.root || !later.root;
  if (!readAfterWrite && !overtakesRead && !areOneMemory(earlier.root, later.root)) return false;
  if ((!inOtherBlocks(earlier, later) && inSameThreads(earlier, later)) || commute(earlier, later)) return false;
  if (isElementwise(earlier) && isElementwise(later) && analysis::areInterleaved(earlier.pointer, later.pointer))
    return false;
  return unknown || earlier.root == later.root ||
         !tile::takeApart(cast<BlockArgument>(earlier.root), cast<BlockArgument>(later.root));
}

// Each access is compared with those that are pending: beyond this number a barrier costs less than the comparisons.
constexpr size_t kMostPending = 32;

class Inserter {
 public:
  using Pending = SmallVector<Access>;

  explicit Inserter(func::FuncOp kernel) : kernel_(kernel), integers_(kernel), isCluster_(tgpu::blocksOf(kernel) > 1) {
    kernel.walk([&](Operation* op) {
      std::optional<tile::Concurrency> does = tile::concurrencyOf(op);
      if (!does) return;
      for (const tile::MemoryAccess& access : does->accesses)
        if (access.writes && access.order == tile::AccessOrder::Program && access.memory != tile::Memory::Shared)
          written_.insert(rootOf(access.address));
    });
  }

  void visit(Block& block, Pending& pending) {
    for (Operation& op : llvm::make_early_inc_range(block)) visit(&op, pending);
  }

 private:
  void visit(Operation* op, Pending& pending) {
    if (auto roles = dyn_cast<tgpu::WarpSpecializeOp>(op)) {
      roles.getProducer().walk([&](tile::LoadOp load) {
        if (Value root = rootOf(load.getPointer())) readAhead_.insert(root);
      });
      return visit(roles.getConsumer().front(), pending);
    }
    if (isa<LoopLikeOpInterface>(op)) return visitLoop(op, pending);
    if (auto branch = dyn_cast<scf::IfOp>(op)) return visitBranch(branch, pending);
    if (isa<scf::ExecuteRegionOp>(op)) return visit(op->getRegion(0).front(), pending);
    if (auto barrier = dyn_cast<simt::BarrierOp>(op); barrier && !barrier.getInBlock()) completeIn(barrier, pending);
    if (std::optional<tile::Concurrency> does = tile::concurrencyOf(op)) visitAccesses(op, *does, pending);
  }

  // Per-thread code is in order by its own barriers alone.
  void visitLoop(Operation* op, Pending& pending) {
    Operation* condition = op;
    if (auto loop = dyn_cast<scf::WhileOp>(op)) condition = loop.getConditionOp();
    if (threads_.anyOf(condition->getOperands().take_front(isa<scf::WhileOp>(op) ? 1 : 3))) return;
    if (!relieve(op, pending)) meetBefore(op, pending);
    auto [at, isNew] = loops_.try_emplace(op);
    LoopVisit& known = at->second;
    if (!isNew && llvm::all_of(pending, [&](const Access& access) { return holds(known.before, access); })) {
      pending = known.after;
      return;
    }
    merge(known.before, pending);
    pending = known.before;
    for (int pass = 0; pass < 2; ++pass)
      for (Region& region : op->getRegions()) visit(region.front(), pending);
    merge(pending, known.before);
    known.after = pending;
  }

  // Puts a barrier before the loop for earlier accesses that one in the loop must follow, unless other accesses of the loop
  // need a barrier before that one anyway: inside, threads would meet in every iteration for what the first alone needs.
  void meetBefore(Operation* loop, Pending& pending) {
    if (pending.empty()) return;
    Pending inside;
    size_t first = 0;  // accesses that no thread makes before all have met in the loop
    bool isFirst = true;
    loop->walk<WalkOrder::PreOrder>([&](Operation* op) {
      if (op == loop) return WalkResult::advance();
      std::optional<tile::Concurrency> does = tile::concurrencyOf(op);
      if (does && allMeet(op, *does)) isFirst = false;
      if (!does) return WalkResult::advance();
      for (const tile::MemoryAccess& access : does->accesses)
        if (access.order == tile::AccessOrder::Program && access.memory != tile::Memory::Shared)
          inside.push_back(accessOf(op, access));
      if (isFirst) first = inside.size();
      return WalkResult::advance();
    });
    Pending conflicts;
    for (const Access& access : ArrayRef(inside).take_front(first))
      if (!threads_.anyOf(access.pointer) && conflictsWith(access, inside).empty())
        conflicts.append(conflictsWith(access, pending));
    if (!conflicts.empty()) meet(loop, false, conflicts, pending);
  }

  static bool holds(const Pending& all, const Access& access) {
    return llvm::any_of(all, [&](const Access& a) { return a.op == access.op && a.metInBlock <= access.metInBlock; });
  }

  void visitBranch(scf::IfOp op, Pending& pending) {
    if (threads_.anyOf(op->getOperands())) return;
    relieve(op, pending);
    Pending otherwise = pending;
    visit(*op.thenBlock(), pending);
    if (!op.getElseRegion().empty()) visit(*op.elseBlock(), otherwise);
    merge(pending, otherwise);
  }

  // Where each group of threads acts for itself, its accesses are per-thread code.
  void visitAccesses(Operation* op, const tile::Concurrency& does, Pending& pending) {
    bool meets = allMeet(op, does);
    if (meets) pass(does, pending);
    if (does.meetsAgain && !meets) return;
    for (const tile::MemoryAccess& access : does.accesses)
      if (access.order == tile::AccessOrder::Program && access.memory != tile::Memory::Shared)
        visitAccess(accessOf(op, access), !does.meetsAgain, pending);
  }

  void visitAccess(const Access& access, bool stays, Pending& pending) {
    if (threads_.anyOf(access.pointer)) return;
    Pending conflicts = conflictsWith(access, pending);
    llvm::erase_if(conflicts, [&](const Access& earlier) { return waitsAlone(earlier, access); });
    if (!relieve(access.op, pending) && !conflicts.empty()) {
      bool inBlock = llvm::all_of(conflicts, [&](const Access& earlier) { return stayInBlock(earlier, access); });
      meetEarly(access.op, inBlock, conflicts, pending);
    }
    if (stays && mayBeAwaited(access)) merge(pending, access);
  }

  // A write follows reads of its own memory; one of another block of the cluster those of any.
  bool mayBeAwaited(const Access& access) const {
    return access.writes || isCluster_ || !access.root || written_.contains(nullptr) ||
           llvm::any_of(written_, [&](Value root) { return areOneMemory(access.root, root); });
  }

  Pending conflictsWith(const Access& access, ArrayRef<Access> pending) const {
    Pending conflicts;
    for (const Access& earlier : pending)
      if (conflict(earlier, access) && !isAheadOf(earlier, access)) conflicts.push_back(earlier);
    return conflicts;
  }

  // Puts a barrier before an access and those loads before it that may as well come behind the barrier, because nothing in
  // their block is written where they read: they are then under way together with the access.
  void meetEarly(Operation* access, bool inBlock, const Pending& conflicts, Pending& pending) {
    Operation* first = access;
    Pending passed;
    const llvm::DenseSet<Value>& written = writtenIn(access->getBlock());
    for (Operation* op = access->getPrevNode(); op && inBlock && !written.contains(nullptr); op = op->getPrevNode()) {
      if (auto load = dyn_cast<tile::LoadOp>(op)) {
        Value root = rootOf(load.getPointer());
        if (!root || written.contains(root)) break;
        first = op;
        llvm::copy_if(pending, std::back_inserter(passed), [&](const Access& earlier) { return earlier.op == op; });
      } else if (op->getNumRegions() || !isMemoryEffectFree(op)) {
        break;
      }
    }
    meet(first, inBlock, conflicts, pending);
    merge(pending, passed);
  }

  // The parameters that a block writes through, with null where what is written is not known.
  const llvm::DenseSet<Value>& writtenIn(Block* block) {
    auto [at, isNew] = writtenIn_.try_emplace(block);
    if (!isNew) return at->second;
    block->walk([&](Operation* op) {
      std::optional<tile::Concurrency> does = tile::concurrencyOf(op);
      if (!does) return;
      for (const tile::MemoryAccess& access : does->accesses)
        if (access.writes && access.memory != tile::Memory::Shared)
          at->second.insert(access.address ? rootOf(access.address) : nullptr);
    });
    return at->second;
  }

  // Stores by the asynchronous unit go on behind the barrier unless it is for them: to complete them takes about a microsecond.
  void meet(Operation* before, bool inBlock, const Pending& conflicts, Pending& pending) {
    OpBuilder builder(before);
    auto barrier = simt::BarrierOp::create(builder, before->getLoc(), inBlock, false);
    completeIn(barrier, conflicts);
    pass(barrier.getConcurrency(), pending);
  }

  static void completeIn(simt::BarrierOp barrier, const Pending& pending) {
    if (llvm::any_of(pending, [](const Access& earlier) { return earlier.isBulk; })) barrier.setCompleting(true);
  }

  // A barrier before `op` where too much is pending; in a branch of its own it would leave the other side's as it is.
  bool relieve(Operation* op, Pending& pending) {
    if (pending.size() < kMostPending) return false;
    meet(op, false, Pending(pending), pending);
    return true;
  }

  // A producer reads its arguments at a time of its own, since nothing of the kernel writes through them; a write
  // through another address, a loaded one too, is taken as one of other memory. So consumers need not meet either.
  bool isAheadOf(const Access& earlier, const Access& later) const {
    return earlier.writes && !later.writes && later.root && earlier.root != later.root &&
           readAhead_.contains(later.root);
  }

  // The thread that issued the earlier store waits for it before it issues the later one, and nobody else need know.
  bool waitsAlone(const Access& earlier, const Access& later) const {
    if ((isCluster_ && !stayInBlock(earlier, later)) || !stayInGroup(earlier, later, integers_)) return false;
    tgpu::setCompletesOwn(cast<tile::BlockStoreOp>(later.op));
    return true;
  }

  // Stores by the asynchronous unit may be under way behind a meeting that does not complete them.
  void pass(const tile::Concurrency& meeting, Pending& pending) const {
    bool inBlock = isCluster_ && meeting.meets == tile::Meeting::Block;
    llvm::erase_if(pending, [&](Access& access) {
      if (access.isBulk && !meeting.completes) return false;
      access.metInBlock |= inBlock;
      return !inBlock;
    });
  }

  // Returns true if no access passes `op`, because all threads meet in it.
  bool allMeet(Operation* op, const tile::Concurrency& does) {
    if (does.meets != tile::Meeting::Callers) return does.meets >= tile::Meeting::Block;
    return !threads_.anyOf(op->getOperands()) && !(does.repeats && isPerThread(kernel_));
  }

  Access accessOf(Operation* op, const tile::MemoryAccess& access) {
    return {op,
            access.address,
            rootOf(access.address),
            access.reads,
            access.writes,
            tgpu::isBulk(op),
            tgpu::isWhole(op),
            threads_.anyOf(op->getOperands())};
  }

  static void merge(Pending& into, const Access& access) {
    Access* known =
        llvm::find_if(into, [&](const Access& a) { return a.op == access.op && a.pointer == access.pointer; });
    if (known == into.end()) return into.push_back(access);
    known->metInBlock &= access.metInBlock;
  }
  static void merge(Pending& into, const Pending& other) {
    for (const Access& access : other) merge(into, access);
  }

  // The accesses pending before and after all visits of a loop. A loop inside others is visited again only for accesses
  // that are new before it.
  struct LoopVisit {
    Pending before, after;
  };

  func::FuncOp kernel_;
  std::map<Operation*, LoopVisit> loops_;
  analysis::AxisInfoAnalysis integers_;
  ThreadDependence threads_;
  llvm::DenseSet<Value> readAhead_;  // by a producer
  llvm::DenseSet<Value> written_;    // with null where what is written is not known
  std::map<Block*, llvm::DenseSet<Value>> writtenIn_;
  bool isCluster_;
};

struct InsertBarriers : impl::InsertBarriersBase<InsertBarriers> {
  using Base::Base;
  void runOnOperation() override {
    Inserter::Pending pending;
    Inserter(getOperation()).visit(getOperation().getBody().front(), pending);
  }
};

}  // namespace
}  // namespace tandem::transform::gpu
