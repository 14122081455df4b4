// The decisions for each loop in their order: how many stages, which loads, which products read slots, how many slots
// fit. Each of the last three has its own file.
#include "compiler/dialect/tile/attributes.h"
#include "compiler/dialect/tgpu/cluster.h"
#include "compiler/transform/gpu/drop_carried.h"
#include "compiler/transform/gpu/thread_dependence.h"
#include "compiler/transform/nvidia/copied_loads.h"
#include "compiler/transform/nvidia/copies_ahead.h"
#include "compiler/transform/nvidia/copy_room.h"
#include "compiler/transform/nvidia/loop_registers.h"
#include "compiler/transform/nvidia/operands.h"
#include "compiler/transform/nvidia/passes.h"
#include "compiler/transform/nvidia/slot_readers.h"
#include <limits>
#include <llvm/Support/FormatVariadic.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tandem::transform::nvidia {
using namespace mlir;
using namespace gpu;
#define GEN_PASS_DEF_PIPELINELOADS
#include "compiler/transform/nvidia/passes.h.inc"
namespace {

constexpr remark::Source kRemarks{remark::RemarkKind::Load, "pipeline-loads"};
constexpr int64_t kMaxSlots = 8, kDefaultStages = 3;

bool multiplies(scf::ForOp loop) { return llvm::any_of(*loop.getBody(), llvm::IsaPred<tile::DotOp, tgpu::WgmmaOp>); }

// Returns true if the loop asks for one stage, and its products would read more operands from the threads' registers than there is room
// for: one slot, filled again behind each iteration, takes no more memory than what operands change threads through otherwise.
bool needsSlot(scf::ForOp loop, int64_t asked) {
  constexpr int64_t kRoom = 224;
  if (asked != 1 || !multiplies(loop) || llvm::any_of(*loop.getBody(), llvm::IsaPred<tgpu::WgmmaOp>)) return false;
  int64_t registers = 0;
  int numWarps = tile::numWarps(loop->getParentOfType<func::FuncOp>());
  for (Operation& op : *loop.getBody())
    if (isa<tile::LoadOp, tile::BlockLoadOp>(op)) registers += registersOf(op.getResult(0), numWarps);
  return registers > kRoom;
}

// A loop's own number of stages, else, if it has products, the kernel's.
int64_t stagesAsked(scf::ForOp loop) {
  std::optional<int64_t> asked = tile::numStages(loop);
  if (!asked && !multiplies(loop)) return 0;
  if (!asked) asked = tile::numStages(loop->getParentOfType<func::FuncOp>());
  return std::min(asked.value_or(kDefaultStages), kMaxSlots);
}

// Returns true if `value` is the program's number when the loops around it begin.
bool beginsAtProgram(Value value, llvm::SmallDenseSet<Value>& seen) {
  if (!seen.insert(value).second) return false;
  if (Operation* op = value.getDefiningOp()) {
    if (isa<tile::ProgramIdOp>(op)) return true;
    unsigned i = cast<OpResult>(value).getResultNumber();
    if (auto loop = dyn_cast<scf::ForOp>(op)) return beginsAtProgram(loop.getInitArgs()[i], seen);
    auto loop = dyn_cast<scf::WhileOp>(op);
    return loop && beginsAtProgram(loop.getConditionOp().getArgs()[i], seen);
  }
  auto argument = cast<BlockArgument>(value);
  Operation* parent = argument.getOwner()->getParentOp();
  if (auto loop = dyn_cast<scf::ForOp>(parent))
    return argument != loop.getInductionVar() &&
           beginsAtProgram(loop.getInitArgs()[argument.getArgNumber() - loop.getNumInductionVars()], seen);
  auto loop = dyn_cast<scf::WhileOp>(parent);
  if (!loop) return false;
  bool isBefore = argument.getOwner() == loop.getBeforeBody();
  return beginsAtProgram(
      isBefore ? loop.getInits()[argument.getArgNumber()] : loop.getConditionOp().getArgs()[argument.getArgNumber()],
      seen);
}

// Returns true if each program does a tile, then the one that is a constant number further on, and there are no more such programs than
// multiprocessors: each has one to itself. So it is taken to be where the number is that of the launch's programs.
bool hasMultiprocessorAlone(func::FuncOp kernel, const target::TargetInfo& target) {
  auto isFew = [&](Value step) {
    if (step.getDefiningOp<tile::NumProgramsOp>()) return true;
    std::optional<int64_t> programs = getConstantIntValue(step);
    return programs && *programs > 1 && *programs <= target.mostMultiprocessors();
  };
  auto begins = [](Value value) {
    llvm::SmallDenseSet<Value> seen;
    return beginsAtProgram(value, seen);
  };
  return kernel
      .walk([&](Operation* op) {
        auto loop = dyn_cast<scf::ForOp>(op);
        auto add = dyn_cast<arith::AddIOp>(op);
        bool isFound = (loop && isFew(loop.getStep()) && begins(loop.getLowerBound())) ||
                       (add && isFew(add.getRhs()) && begins(add.getLhs()));
        return isFound ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

// Gives a reason for all loads that are the loop's own and have none.
void refuse(scf::ForOp loop, const remark::Reason& why, Reasons& reasons) {
  for (Operation& op : *loop.getBody())
    if (isa<tile::LoadOp, tile::BlockLoadOp>(op)) reasons.try_emplace(&op, why);
}

std::string aheadBy(int64_t iterations) {
  return llvm::formatv(iterations == 1 ? "{0} iteration ahead" : "{0} iterations ahead", iterations);
}

void remarkCopies(const CopiedLoads& copied, RingSize size, Reasons& reasons) {
  std::string ahead = aheadBy(size.ahead),
              slots = llvm::formatv(size.slots == 1 ? "{0} slot" : "{0} slots", size.slots);
  if (size.refillsBehind()) slots += ", filled again behind each iteration";
  for (const CopiedLoad& c : copied.loads) {
    const char* text = "copied by cp.async {0}, {1} bytes a thread at once, into a ring of {2}";
    remark::passed(c.load, kRemarks, llvm::formatv(text, ahead, c.bytesAtOnce(), slots).str());
  }
  for (Operation* op : copied.slice.ops) {
    if (!isa<tile::LoadOp>(op)) continue;
    remark::passed(op, kRemarks, "loaded into registers " + ahead + ": addresses of copies need it");
    reasons[op] = {};
  }
}

// Returns true if products in the loop read slots that a producer fills beside tiles that threads load.
bool readsBesideProducer(scf::ForOp loop) {
  return llvm::any_of(loop.getBody()->getOps<tgpu::WgmmaOp>(), [](tgpu::WgmmaOp product) {
    auto isStored = [&](Value operand, Value ring) {
      return !ring && operand.getDefiningOp<tgpu::AllocOp>() && llvm::any_of(operand.getUsers(), [&](Operation* user) {
        return isa<tgpu::LocalStoreOp>(user) && user->getBlock() == product->getBlock();
      });
    };
    Value lhs = product.getLhsRing(), rhs = product.getRhsRing();
    return (lhs && isStored(product.getRhs(), rhs)) || (rhs && isStored(product.getLhs(), lhs));
  });
}

// Returns true if threads that a producer supplies load large tiles of their own behind a product of the same iteration, as masks of
// scores, where no product hides the way to memory.
bool loadsBehindProducts(scf::ForOp loop) {
  constexpr int64_t kMany = 8;  // elements of a thread
  auto products = loop.getBody()->getOps<tgpu::WgmmaOp>();
  if (!loop->getParentOfType<tgpu::WarpSpecializeOp>() || products.empty()) return false;
  int64_t threads = threadsOf(tile::numWarps(loop->getParentOfType<func::FuncOp>())).count();
  return llvm::any_of(*loop.getBody(), [&](Operation& op) {
    auto type =
        isa<tile::LoadOp, tile::BlockLoadOp>(op) ? dyn_cast<RankedTensorType>(op.getResult(0).getType()) : nullptr;
    return type && type.getRank() > 1 && type.getNumElements() >= kMany * threads &&
           (*products.begin())->isBeforeInBlock(&op);
  });
}

// Returns as many of `slots` slots as leave a multiprocessor two blocks of few warps: these hide more of each other's
// waits than an earlier start of copies. All of them where not even one does.
int64_t slotsOfTwoBlocks(scf::ForOp loop, int64_t slots, int64_t bytes, int64_t room,
                         const target::TargetInfo& target) {
  if (tile::numWarps(loop->getParentOfType<func::FuncOp>()) > kFewWarps) return slots;
  int64_t used = roomOf(target.maxSharedBytes()) - room;
  int64_t half = target.sharedBytesPerMultiprocessor() / 2 - target.sharedBytesReserved();
  // Other buffers may share places later, so several slots are given up only where the slots alone leave no second block.
  int64_t fit = (roomOf(half) - used) / bytes, least = slots * bytes > half ? 1 : slots - 1;
  return fit < std::max<int64_t>(1, least) ? slots : std::min(slots, fit);
}

// Tiles wait for the numbers that say where they are: these come one iteration ahead where the tiles do not. Returns true
// if there are any.
bool loadIndices(scf::ForOp loop, Reasons& reasons) {
  if (isDivergent(loop.getBody()->getTerminator())) return false;
  Slice slice = chooseIndices(loop);
  if (slice.ops.empty()) return false;
  loadAhead(loop, slice, reasons);
  return true;
}

// Returns true if `value` is computed from a tile that the loop carries; of a buffer, if what the loop stores there is.
bool dependsOnCarried(Value value, scf::ForOp loop, llvm::SmallDenseSet<Value>& seen) {
  if (!seen.insert(value).second) return false;
  auto depends = [&](Value v) { return dependsOnCarried(v, loop, seen); };
  if (auto argument = dyn_cast<BlockArgument>(value))
    return argument.getOwner() == loop.getBody() && isa<RankedTensorType>(argument.getType());
  if (isa<tile::SmemType>(value.getType()))
    return llvm::any_of(value.getUsers(), [&](Operation* user) {
      auto store = dyn_cast<tgpu::LocalStoreOp>(user);
      return store && store->getBlock() == loop.getBody() && depends(store.getValue());
    });
  Operation* op = value.getDefiningOp();
  return op->getBlock() == loop.getBody() && llvm::any_of(op->getOperands(), depends);
}

// Returns true if no product of an iteration can begin before the one before has its results.
bool isRecurrence(scf::ForOp loop) {
  auto products = loop.getBody()->getOps<tgpu::WgmmaOp>();
  return !products.empty() && llvm::all_of(products, [&](tgpu::WgmmaOp product) {
    llvm::SmallDenseSet<Value> seen;
    return dependsOnCarried(product.getLhs(), loop, seen) || dependsOnCarried(product.getRhs(), loop, seen);
  });
}

// Makes the consumers of a producer's tiles load their own tiles one iteration ahead, where a thread has few registers of these: in a
// recurrence each iteration would wait for them. Returns true if there are any.
bool loadBesideProducer(scf::ForOp loop, Reasons& reasons) {
  if (!isRecurrence(loop) || isDivergent(loop.getBody()->getTerminator())) return false;
  Slice slice = chooseSmall(loop);
  if (slice.ops.empty()) return false;
  loadAhead(loop, slice, reasons);
  return true;
}

// Returns how many elements that are loaded one by one a thread has registers for, beside the loop's sums and what it computes with
// addresses: each has one until it is there. Where these would be very many, fewer blocks share a multiprocessor.
int64_t registersLeft(scf::ForOp loop, const target::TargetInfo& target) {
  constexpr int64_t kBesideTiles = 72, kMost = 64;
  int numWarps = tile::numWarps(loop->getParentOfType<func::FuncOp>());
  int64_t left =
      std::min<int64_t>(kRegistersOfThread, target.registersPerMultiprocessor() / threadsOf(numWarps).count()) -
      kBesideTiles;
  for (Value carried : loop.getRegionIterArgs()) left -= registersOf(carried, numWarps);
  return std::min(left, kMost);
}

// Makes rows of odd lengths come an iteration ahead in registers: the way to memory takes longer than to store them then. Where a thread
// has too few, each tile is stored when it is there. Returns true if there are any; `loop` is the new loop.
bool loadNarrow(scf::ForOp& loop, const target::TargetInfo& target, Reasons& reasons) {
  Reasons narrow;
  Slice slice = chooseNarrow(loop, registersLeft(loop, target), narrow);
  if (slice.ops.empty()) {
    constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
    return readThroughBuffers(loop, chooseNarrow(loop, kAny, narrow));
  }
  for (const auto& [load, why] : narrow)
    remark::missed(load, kRemarks, "not copied ahead of its loop, but loaded into registers " + aheadBy(1), why);
  loop = loadAhead(loop, slice, reasons, /*duringProducts=*/true);
  return true;
}

// Returns true if the loop has changed. Beside a producer only what products read is copied, and large tiles behind them.
bool pipeline(scf::ForOp loop, const target::TargetInfo& target, bool besideProducer, Reasons& reasons) {
  bool ownTiles = besideProducer && loadsBehindProducts(loop);
  int64_t asked = stagesAsked(loop);
  bool isSingle = !besideProducer && needsSlot(loop, asked);
  if (asked < 2 && !isSingle) {
    refuse(loop,
           asked ? remark::Reason{"its loop has one stage", "num_stages=3"}
                 : remark::Reason{"its loop multiplies nothing and asks for no stages", "tl.range(..., num_stages=3)"},
           reasons);
    return !besideProducer && loadIndices(loop, reasons);
  }
  if (isDivergent(loop.getBody()->getTerminator()))
    return refuse(loop, {"its loop is different for threads of a block", ""}, reasons), false;
  bool changed = (!besideProducer || ownTiles) && usePointers(loop, reasons);
  if (multiplies(loop) && !besideProducer && !isSingle) changed |= loadNarrow(loop, target, reasons);
  CopiedLoads copied = chooseLoads(loop, reasons);
  for (CopiedLoad& c : copied.loads) c.feeds = feedsOf(c);
  if (besideProducer && !ownTiles) llvm::erase_if(copied.loads, [](const CopiedLoad& c) { return c.feeds.empty(); });
  if (copied.loads.empty()) return changed;
  SlotSums sums = findSums(loop, copied.loads);
  int64_t bytes = bytesInSlot(copied.loads);
  int64_t room = roomForSlots(loop->getParentOfType<func::FuncOp>(), copied.loads, target, loop);
  // Nothing else hides the way from the second cache.
  bool isAlone = !isSingle && multiplies(loop) && hasMultiprocessorAlone(loop->getParentOfType<func::FuncOp>(), target);
  if (isAlone) asked = std::min(asked + 1, kMaxSlots);
  // So many bytes are under way that more of them gain nothing.
  constexpr int64_t kEnough = 32 << 10;
  if (!multiplies(loop) && bytes >= kEnough) asked = 2;
  int64_t slots = std::min(asked, room / bytes);
  if (slots == 1 && !isSingle && room + spareOf(target.maxSharedBytes()) >= 2 * bytes) slots = 2;
  remark::Reason noRoom{
      llvm::formatv("the shared memory of {0} has no room for more of {1} bytes", target.name(), bytes),
      "smaller tiles"};
  bool mayRefill = sums.waits.empty() && multiplies(loop);
  if (slots < (mayRefill ? 1 : 2)) return refuse(loop, noRoom, reasons), changed;
  if (slots < asked)
    remark::missed(loop, kRemarks, llvm::formatv("{0} stages instead of {1}", std::max<int64_t>(2, slots), asked).str(),
                   noRoom);
  RingSize size{slots, slots - 1};
  int64_t fewer = isAlone ? slots : slotsOfTwoBlocks(loop, slots, bytes, room, target);
  if (mayRefill && (slots == 1 || fewer < slots)) size.slots = size.ahead = fewer;
  remarkCopies(copied, size, reasons);
  copyAhead(loop, copied, size, sums, reasons);
  return true;
}

struct PipelineLoads : impl::PipelineLoadsBase<PipelineLoads> {
  using Base::Base;
  void runOnOperation() override {
    const target::TargetInfo* gpu = targetOf(target);
    if (!gpu) return;
    func::FuncOp kernel = getOperation();
    bool haveRoles = kernel.walk([](tgpu::WarpSpecializeOp) { return WalkResult::interrupt(); }).wasInterrupted();
    Reasons reasons;
    if (tgpu::blocksOf(kernel) > 1)
      return remarkOthers(reasons, {"programs of several blocks have no copies by cp.async", "num_ctas=1"});
    SmallVector<scf::ForOp> loops;
    kernel.walk([&](scf::ForOp loop) {
      if (!haveRoles || readsBesideProducer(loop) || loadsBehindProducts(loop)) loops.push_back(loop);
    });
    bool changed = false;
    for (scf::ForOp loop : loops) changed |= pipeline(loop, *gpu, haveRoles, reasons);
    SmallVector<scf::ForOp> consumers;
    if (haveRoles)
      kernel.walk([&](scf::ForOp loop) {
        if (loop->getParentOfType<tgpu::WarpSpecializeOp>()) consumers.push_back(loop);
      });
    for (scf::ForOp loop : consumers) changed |= loadBesideProducer(loop, reasons);
    remarkOthers(reasons,
                 haveRoles
                     ? remark::Reason{"a producer warp copies what the kernel's products read, and nothing else", ""}
                     : remark::Reason{"it is in a branch, or in a loop whose end is not known before it begins", ""});
    if (changed) dropCarried(kernel);
    cleanUp(changed);
  }

  // Says of each other load in a loop why it is not copied ahead, for its own reason or else for `others`.
  void remarkOthers(const Reasons& reasons, const remark::Reason& others) {
    getOperation().walk([&](Operation* op) {
      if (!isa<tile::LoadOp, tile::BlockLoadOp>(op) || !isa<RankedTensorType>(op->getResult(0).getType()) ||
          op->use_empty())
        return;
      if (!op->getParentOfType<scf::ForOp>() && !op->getParentOfType<scf::WhileOp>()) return;
      auto found = reasons.find(op);
      const remark::Reason& why = found == reasons.end() ? others : found->second;
      if (!why.why.empty()) remark::missed(op, kRemarks, "not copied ahead of its loop", why);
    });
  }
};

}  // namespace
}  // namespace tandem::transform::nvidia
