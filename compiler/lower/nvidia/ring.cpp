// Rings of slots in shared memory: their barriers, and the counters that each role keeps in registers.
#include "compiler/lower/nvidia/ring.h"
#include "compiler/analysis/boxes.h"
#include "compiler/analysis/buffer_lives.h"
#include "compiler/dialect/tgpu/bulk_store.h"
#include "compiler/dialect/tgpu/products.h"
#include "compiler/lower/gpu/simt_shared.h"
#include "compiler/lower/nvidia/cluster.h"
#include "compiler/lower/nvidia/copies.h"
#include "compiler/lower/nvidia/made_maps.h"
#include "compiler/lower/nvidia/roles.h"
#include "compiler/target/nvidia_units.h"
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <limits>
#include <map>

namespace tandem::lower::nvidia {
using namespace mlir;
using analysis::Life;
namespace {

// Returns true if each slot that is taken is let go before anything else happens to the ring: then takes and releases
// are at one slot.
bool releasesAtOnce(Value ring, func::FuncOp kernel) {
  llvm::SmallVector<Operation*> events;
  kernel.walk<WalkOrder::PreOrder>([&](Operation* op) {
    if (llvm::is_contained(op->getOperands(), ring) && !isa<tgpu::AcquireOp, tgpu::CommitOp>(op)) events.push_back(op);
  });
  events.push_back(nullptr);
  for (auto [before, after] : llvm::zip(events, llvm::drop_begin(events))) {
    bool advances = isa<tgpu::AdvanceOp>(before), releases = isa_and_nonnull<tgpu::ReleaseOp>(after);
    if (advances != releases || (advances && before->getBlock() != after->getBlock())) return false;
  }
  return !isa_and_nonnull<tgpu::ReleaseOp>(events.front());
}

}  // namespace

constexpr int kProducers = 128;

// True if the producer's threads copy to the ring by cp.async beside TMA.
static bool isGathered(mlir::Value ring) {
  return ring.getDefiningOp<tgpu::RingOp>() && llvm::any_of(ring.getUsers(), llvm::IsaPred<tgpu::CopyAsyncOp>);
}

static bool isRunByGroup(Operation* op) {
  auto roles = op->getParentOfType<tgpu::WarpSpecializeOp>();
  return roles && roles.getProducer().isAncestor(op->getParentRegion()) && producesByGroup(roles);
}

void byOneProducer(KernelContext& cx, Operation* op, llvm::function_ref<void()> act) {
  if (!isRunByGroup(op)) return act();
  cx.when(cx.b.CreateICmpEQ(cx.threadId(), cx.b.getInt32(cx.numThreads())), act);
}

// The loop that reads the ring.
static Operation* loopOf(tgpu::CopyRingOp ring) {
  for (Operation* user : ring->getUsers())
    if (isa<tgpu::AwaitOp>(user)) return user->getParentOp();
  return nullptr;
}

// True if the kernel has copied rings and TMA stores, and all of these come while no such ring is in use.
static bool storesBetweenRings(func::FuncOp kernel) {
  auto haveStores = [](Operation* in) {
    return in
        ->walk([](tile::BlockStoreOp store) {
          return tgpu::isBulk(store) ? WalkResult::interrupt() : WalkResult::advance();
        })
        .wasInterrupted();
  };
  bool haveRings = false, isBetween = true;
  kernel.walk([&](tgpu::CopyRingOp op) {
    haveRings = true;
    isBetween &= !haveStores(loopOf(op));
  });
  return haveRings && isBetween && haveStores(kernel);
}

// Two panels of TMA stores for each group of four warps, or as many as a group stores where there is room: then none
// waits for another. One, which is filled when it has been read out, where there is no room for two.
static void allocateStaging(KernelContext& cx, func::FuncOp kernel) {
  int64_t groups = std::max(1, cx.numWarps / 4);
  auto [panelBytes, panels] =
      analysis::stagedPanels(kernel, cx.numWarps, [](tile::BlockStoreOp op) { return tgpu::isBulk(op); });
  if (!panelBytes) return;
  constexpr int64_t kKeptForScratch = 10 * 1024;
  int64_t left = cx.target.maxSharedBytes() / cx.blocksPerMultiprocessor - cx.sharedBytes,
          ofPanel = groups * panelBytes, room = (left - kKeptForScratch) / ofPanel, least = left < 2 * ofPanel ? 1 : 2;
  cx.stagingPanels = std::min(std::max<int64_t>(1, panels), std::max<int64_t>(least, room));
  cx.stagingBytes = groups * cx.stagingPanels * panelBytes;  // the groups' shares are equal, whatever they store
  cx.staging = cx.allocateShared(cx.stagingBytes, 1024);
}

// Bytes that are taken during a life.
struct Taken {
  int64_t begin, end;
  Life life;
};

// Returns the lowest place from `begin` on that is free during `life`, and takes it.
static int64_t takeLowest(llvm::SmallVectorImpl<Taken>& taken, int64_t begin, int64_t bytes, int64_t alignment,
                          Life life) {
  begin = llvm::alignTo(begin, alignment);
  auto isInTheWay = [&](const Taken& t) { return t.life.meets(life) && begin < t.end && t.begin < begin + bytes; };
  for (auto* t = llvm::find_if(taken, isInTheWay); t != taken.end(); t = llvm::find_if(taken, isInTheWay))
    begin = llvm::alignTo(t->end, alignment);
  taken.push_back({begin, begin + bytes, life});
  return begin;
}

void allocateBuffers(KernelContext& cx, func::FuncOp kernel) {
  constexpr Life kAlways{0, std::numeric_limits<unsigned>::max()};
  analysis::BufferLives lives(kernel);
  llvm::SmallVector<Taken> taken;
  // Buffers and rings may lie from here on, in one place if they are not in use at once.
  int64_t begin = cx.sharedBytes, end = begin;
  auto allocate = [&](llvm::ArrayRef<tgpu::AllocOp> ops, Life life) {  // beside each other in each slot
    int64_t slotBytes = 0, alignment = 128;
    for (tgpu::AllocOp op : ops) {
      auto type = cast<tile::SmemType>(op.getType());
      int64_t bytes = ShapedType::getNumElements(type.getShape()) * type.getElementType().getIntOrFloatBitWidth() / 8;
      if (op.getSwizzle()) alignment = 1024;
      Buffer& buffer = cx.buffers[op.getResult()];
      buffer = {slotBytes, 0, static_cast<int>(op.getSwizzle()), std::nullopt};
      if (op.getFastest()) buffer.fastest = *op.getFastest();
      slotBytes += llvm::alignTo(bytes, alignment);
    }
    int64_t bytes = slotBytes * tgpu::AllocOp(ops.front()).getSlots();
    int64_t place = takeLowest(taken, begin, bytes, alignment, life);
    end = std::max(end, place + bytes);
    for (tgpu::AllocOp op : ops) {
      Buffer& buffer = cx.buffers[op.getResult()];
      buffer.offset += place;
      buffer.slotBytes = slotBytes;
    }
  };
  kernel.walk([&](tgpu::WgmmaOp op) {
    llvm::SmallVector<tgpu::AllocOp> right;
    for (tgpu::WgmmaOp product : tgpu::withJoined(op)) right.push_back(product.getRhs().getDefiningOp<tgpu::AllocOp>());
    if (right.size() > 1) allocate(right, kAlways);
  });
  auto isCopied = [](tgpu::AllocOp op) {
    return llvm::any_of(op->getUsers(), [](Operation* user) {
      auto copy = dyn_cast<tgpu::CopyAsyncOp>(user);
      return copy && copy.getRing().getDefiningOp<tgpu::CopyRingOp>();
    });
  };
  // Those that are in use for long lie below those that take turns.
  std::multimap<unsigned, std::pair<tgpu::AllocOp, Life>, std::greater<>> alone;
  kernel.walk([&](tgpu::AllocOp op) {
    if (cx.buffers.contains(op.getResult()) || isCopied(op)) return;
    Life life = (cx.blocks == 1 ? lives.of(op.getResult()) : std::nullopt).value_or(kAlways);
    alone.emplace(life.end - life.begin, std::pair(op, life));
  });
  for (auto& [length, buffer] : alone) allocate(buffer.first, buffer.second);
  cx.sharedBytes = end;
  cx.stagesInRings = storesBetweenRings(kernel);
  if (!cx.stagesInRings) allocateStaging(cx, kernel);
  gpu::allocateSmem(cx, kernel);  // Behind the buffers, most of which begin at multiples of 1024 bytes.
  kernel.walk([&](tgpu::RingOp op) {
    Ring ring;
    ring.slots = op.getSlots();
    ring.bytes = op.getBytes();
    ring.isGate = op.getGate();
    ring.isMailbox = op.getMailbox();
    ring.isCluster = op.getCluster();
    // This is not done for two warpgroups that take turns: ptxas gives the turn after the release
    // (docs/performance/attention.md).
    if (cx.numWarps != 8 && releasesAtOnce(op.getResult(), kernel)) ring.release = kTake;
    ring.full = cx.allocateShared(8 * ring.slots, 8);
    ring.empty = cx.allocateShared(8 * ring.slots, 8);
    cx.rings[op.getResult()] = ring;
  });
  kernel.walk([&](tgpu::CopyRingOp op) {
    Ring ring;
    ring.slots = op.getSlots();
    ring.isCopied = true;
    ring.isOfGroups = op.getOfGroups();
    ring.ahead = op.getAhead();
    ring.feedsProducts = llvm::any_of(op->getUsers(), llvm::IsaPred<tgpu::WgmmaOp>);
    cx.rings[op.getResult()] = ring;
  });
  allocateMeeting(cx, kernel);
  placeMadeMaps(cx);

  // Rings of loops lie where nothing else is in use at that time, as does what is needed between the loops.
  bool haveCopied = llvm::any_of(cx.rings, [](const auto& entry) { return entry.second.isCopied; });
  if (end < cx.sharedBytes) taken.push_back({end, cx.sharedBytes, kAlways});
  end = llvm::alignTo(cx.sharedBytes, haveCopied ? 1024 : 128);
  cx.freeBegin = cx.sharedBytes = end;
  if (cx.stagesInRings) {
    allocateStaging(cx, kernel);
    cx.freeBegin = end = llvm::alignTo(cx.sharedBytes, 128);
  }
  kernel.walk<WalkOrder::PreOrder>([&](tgpu::CopyRingOp op) {
    Life life = lives.of(op.getResult()).value_or(kAlways);
    for (Operation* user : op->getUsers())
      if (auto copy = dyn_cast<tgpu::CopyAsyncOp>(user))
        if (auto buffer = copy.getBuffer().getDefiningOp<tgpu::AllocOp>(); !cx.buffers.contains(buffer.getResult()))
          allocate(buffer, life);
  });
  cx.sharedBytes = end;
}

// The warps whose first lanes arrive at a slot's barrier by ops of this kind; the signaller is one thread.
template <class Op>
static int arrivals(KernelContext& cx, mlir::Value ring) {
  bool ofConsumers = false, ofPreparer = false, ofSignaller = false;
  for (Operation* user : ring.getUsers()) {
    auto roles = user->getParentOfType<tgpu::WarpSpecializeOp>();
    if (!isa<Op>(user) || !roles) continue;
    auto isIn = [&](mlir::Region& region) { return region.isAncestor(user->getParentRegion()); };
    ofConsumers |= isIn(roles.getConsumer());
    ofPreparer |= isIn(roles.getPreparer());
    ofSignaller |= isIn(roles.getSignaller());
  }
  return ofConsumers * cx.numWarps + ofPreparer * target::kPreparerWarps + ofSignaller;
}

// One thread makes the barriers ready: a slot is full when its bytes have come, empty when every warp that reads it has let
// it go.
void initialiseBarriers(KernelContext& cx) {
  bool haveBarriers = llvm::any_of(cx.rings, [](const auto& entry) { return !entry.second.isCopied; });
  if (!haveBarriers && cx.meeting < 0) return;
  if (cx.meeting >= 0) {
    cx.meetingParity = cx.b.CreateAlloca(cx.b.getInt32Ty());
    cx.b.CreateStore(cx.b.getInt32(0), cx.meetingParity);
  }
  cx.when(cx.isFirstThread(), [&] {
    for (auto& [value, ring] : cx.rings)
      for (int slot = 0; slot < ring.slots && !ring.isCopied; ++slot) {
        ptx::mbarrierInit(cx.b, cx.sharedAddress(ring.full + 8 * slot),
                          cx.b.getInt32(ring.isMailbox      ? arrivals<tgpu::CommitOp>(cx, value)
                                        : ring.isGate       ? 1 + arrivals<tgpu::CommitOp>(cx, value)
                                        : isGathered(value) ? 1 + kProducers
                                                            : 1));
        int releases = std::max(1, arrivals<tgpu::ReleaseOp>(cx, value)) * (ring.isCluster ? cx.blocks : 1);
        ptx::mbarrierInit(cx.b, cx.sharedAddress(ring.empty + 8 * slot), cx.b.getInt32(releases));
      }
    if (cx.meeting >= 0) ptx::mbarrierInit(cx.b, cx.sharedAddress(cx.meeting), cx.b.getInt32(cx.numWarps * cx.blocks));
    ptx::fenceBarrierInit(cx.b);
  });
  if (reachesOthers(cx)) return clusterBarrier(cx);
  cx.b.CreateIntrinsic(cx.b.getVoidTy(), llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_all, {cx.b.getInt32(0)});
}

// The counters are made in the function's entry, where LLVM turns them into registers.
void makeCounters(KernelContext& cx, Ring& ring) {
  llvm::IRBuilder<>::InsertPointGuard guard(cx.b);
  llvm::BasicBlock& entry = cx.function->getEntryBlock();
  cx.b.SetInsertPoint(&entry, entry.begin());
  for (int c = 0; c < 3; ++c) {
    ring.slot[c] = cx.b.CreateAlloca(cx.b.getInt32Ty());
    ring.parity[c] = cx.b.CreateAlloca(cx.b.getInt32Ty());
  }
}

// Each role counts for itself.
void resetCounters(KernelContext& cx) {
  for (auto& [value, ring] : cx.rings) makeCounters(cx, ring);
  for (auto& [value, ring] : cx.rings)
    for (int c = 0; c < 3; ++c) {
      cx.b.CreateStore(cx.b.getInt32(0), ring.slot[c]);
      // The first round of fills waits for the phase before the first, which has passed; at a gate consumers come
      // first.
      cx.b.CreateStore(cx.b.getInt32(c == kFill && !ring.isGate ? 1 : 0), ring.parity[c]);
    }
}

void advance(KernelContext& cx, Ring& ring, int counter) {
  llvm::Value* next = cx.b.CreateAdd(cx.b.CreateLoad(cx.b.getInt32Ty(), ring.slot[counter]), cx.b.getInt32(1));
  llvm::Value* wraps = cx.b.CreateICmpEQ(next, cx.b.getInt32(ring.slots));
  llvm::Value* parity = cx.b.CreateLoad(cx.b.getInt32Ty(), ring.parity[counter]);
  cx.b.CreateStore(cx.b.CreateSelect(wraps, cx.b.getInt32(0), next), ring.slot[counter]);
  cx.b.CreateStore(cx.b.CreateXor(parity, cx.b.CreateZExt(wraps, cx.b.getInt32Ty())), ring.parity[counter]);
}

llvm::Value* barrierOf(KernelContext& cx, Ring& ring, int64_t barriers, int counter) {
  llvm::Value* slot = cx.b.CreateLoad(cx.b.getInt32Ty(), ring.slot[counter]);
  return cx.sharedAddress(cx.b.CreateAdd(cx.b.CreateMul(slot, cx.b.getInt32(8)), cx.b.getInt32(barriers)));
}

llvm::Value* slotOffset(KernelContext& cx, mlir::Value buffer, mlir::Value ring, int counter) {
  const Buffer& place = cx.buffers.find(buffer)->second;
  if (!ring) return cx.b.getInt32(place.offset);
  llvm::Value* slot = cx.b.CreateLoad(cx.b.getInt32Ty(), cx.ringOf(ring).slot[counter]);
  return cx.b.CreateAdd(cx.b.CreateMul(slot, cx.b.getInt32(place.slotBytes)), cx.b.getInt32(place.offset));
}

// All writes of the warp's threads come before the signaller's work.
static void post(KernelContext& cx, Ring& mailbox) {
  cx.emit.completeStores();
  ptx::syncWarp(cx.b);
  ptx::mbarrierArrive(cx.b, barrierOf(cx, mailbox, mailbox.full, kFill),
                      cx.b.CreateICmpEQ(cx.laneId(), cx.b.getInt32(0)));
}

// Consumers go on when everybody whom they have told something at the gate has read it, so that the next may take its place.
static void leaveGate(KernelContext& cx, Operation* op, Ring& gate) {
  llvm::Value* address = barrierOf(cx, gate, gate.full, kFill);
  if (cx.role == Role::Preparer) {
    ptx::syncWarp(cx.b);
    ptx::mbarrierArrive(cx.b, address, cx.b.CreateICmpEQ(cx.laneId(), cx.b.getInt32(0)));
    return;
  }
  if (isRunByGroup(op)) ptx::barrierSync(cx.b, KernelContext::kProducersBarrier, kProducers);
  byOneProducer(cx, op, [&] { ptx::mbarrierArrive(cx.b, address); });
}

void completeBulkStores(KernelContext& cx) {
  if (cx.role == Role::Signaller ? !cx.signallerStores : !cx.stagingBytes) return;
  ptx::waitBulk(cx.b, 0, false);
  ptx::fenceProxyAsync(cx.b);
}

void registerRing(Lowerings& table) {
  on<tgpu::AllocOp, tgpu::RingOp>(table, [](KernelContext&, auto) {});
  on<tgpu::AcquireOp>(table, [](KernelContext& cx, auto o) {
    Ring& ring = cx.ringOf(o.getRing());
    ptx::mbarrierWait(cx.b, barrierOf(cx, ring, ring.empty, kFill),
                      cx.b.CreateLoad(cx.b.getInt32Ty(), ring.parity[kFill]));
    if (ring.isGate && ring.isCluster) ptx::fence(cx.b, ptx::Scope::Cluster);
    if (ring.isGate) ptx::fenceProxyAsync(cx.b);
    if (cx.role == Role::Signaller) cx.emit.completeStores();
    if (!ring.isMailbox && !ring.isGate && cx.role != Role::Preparer)
      byOneProducer(cx, o, [&] {
        ptx::mbarrierArriveExpect(cx.b, barrierOf(cx, ring, ring.full, kFill),
                                  cx.b.getInt32(o.getBytes().value_or(ring.bytes)));
      });
  });
  on<tgpu::CommitOp>(table, [](KernelContext& cx, auto o) {
    Ring& ring = cx.ringOf(o.getRing());
    if (ring.isCopied) ptx::commitCopies(cx.b);
    if (isGathered(o.getRing())) ptx::mbarrierArriveCopies(cx.b, barrierOf(cx, ring, ring.full, kFill));
    if (ring.isMailbox) post(cx, ring);
    if (ring.isGate) leaveGate(cx, o, ring);
    advance(cx, ring, kFill);
  });
  on<tgpu::AwaitOp>(table, [](KernelContext& cx, auto o) {
    Ring& ring = cx.ringOf(o.getRing());
    if (ring.isCopied) return awaitCopies(cx, ring);
    ptx::mbarrierWait(cx.b, barrierOf(cx, ring, ring.full, kTake),
                      cx.b.CreateLoad(cx.b.getInt32Ty(), ring.parity[kTake]));
    if (isGathered(o.getRing())) ptx::fenceProxyAsync(cx.b, ptx::ProxySpace::Shared);
  });
  on<tgpu::AdvanceOp>(table, [](KernelContext& cx, auto o) {
    Ring& ring = cx.ringOf(o.getRing());
    if (ring.release != kTake) advance(cx, ring, kTake);
  });
  on<tgpu::ReleaseOp>(table, [](KernelContext& cx, auto o) {
    Ring& ring = cx.ringOf(o.getRing());
    llvm::Value* address = barrierOf(cx, ring, ring.empty, ring.release);
    if (ring.isGate) {  // all threads' writes go before TMA's reads
      ptx::fenceProxyAsync(cx.b);
      ptx::syncWarp(cx.b);
    }
    if (ring.isCluster)
      arriveEverywhere(cx, address, ring.isGate);
    else
      ptx::mbarrierArrive(cx.b, address, cx.b.CreateICmpEQ(cx.laneId(), cx.b.getInt32(0)));
    advance(cx, ring, ring.release);
  });
}

}  // namespace tandem::lower::nvidia
