// Rings of slots in shared memory: their barriers, and the counters that each role keeps in registers.
#include "compiler/lower/nvidia/ring.h"
#include "compiler/analysis/boxes.h"
#include "compiler/dialect/tgpu/bulk_store.h"
#include "compiler/dialect/tgpu/products.h"
#include "compiler/lower/gpu/simt_shared.h"
#include "compiler/lower/nvidia/cluster.h"
#include "compiler/lower/nvidia/copies.h"
#include "compiler/lower/nvidia/made_maps.h"
#include <llvm/IR/IntrinsicsNVPTX.h>

namespace tandem::lower::nvidia {
using namespace mlir;
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
// waits for another.
static void allocateStaging(KernelContext& cx, func::FuncOp kernel) {
  int64_t groups = std::max(1, cx.numWarps / 4);
  auto [panelBytes, panels] =
      analysis::stagedPanels(kernel, cx.numWarps, [](tile::BlockStoreOp op) { return tgpu::isBulk(op); });
  if (!panelBytes) return;
  constexpr int64_t kKeptForScratch = 10 * 1024;
  int64_t room = (cx.target.maxSharedBytes() / cx.blocksPerMultiprocessor - cx.sharedBytes - kKeptForScratch) /
                 (groups * panelBytes);
  cx.stagingPanels = std::min(std::max<int64_t>(1, panels), std::max<int64_t>(2, room));
  cx.stagingBytes = groups * cx.stagingPanels * panelBytes;  // the groups' shares are equal, whatever they store
  cx.staging = cx.allocateShared(cx.stagingBytes, 1024);
}

void allocateBuffers(KernelContext& cx, func::FuncOp kernel) {
  auto allocate = [&](llvm::ArrayRef<tgpu::AllocOp> ops) {  // beside each other in each slot
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
    int64_t begin = cx.allocateShared(slotBytes * tgpu::AllocOp(ops.front()).getSlots(), alignment);
    for (tgpu::AllocOp op : ops) {
      Buffer& buffer = cx.buffers[op.getResult()];
      buffer.offset += begin;
      buffer.slotBytes = slotBytes;
    }
  };
  kernel.walk([&](tgpu::WgmmaOp op) {
    llvm::SmallVector<tgpu::AllocOp> right;
    for (tgpu::WgmmaOp product : tgpu::withJoined(op)) right.push_back(product.getRhs().getDefiningOp<tgpu::AllocOp>());
    if (right.size() > 1) allocate(right);
  });
  auto isCopied = [](tgpu::AllocOp op) { return llvm::any_of(op->getUsers(), llvm::IsaPred<tgpu::CopyAsyncOp>); };
  kernel.walk([&](tgpu::AllocOp op) {
    if (!cx.buffers.contains(op.getResult()) && !isCopied(op)) allocate(op);
  });
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

  // Rings of loops that are not inside one another lie in one place, as does what is needed between the loops.
  bool haveCopied = llvm::any_of(cx.rings, [](const auto& entry) { return entry.second.isCopied; });
  int64_t begin = llvm::alignTo(cx.sharedBytes, haveCopied ? 1024 : 128), end = begin;
  cx.freeBegin = cx.sharedBytes = begin;
  if (cx.stagesInRings) {
    allocateStaging(cx, kernel);
    cx.freeBegin = end = llvm::alignTo(cx.sharedBytes, 128);
  }
  llvm::DenseMap<Operation*, int64_t> endOf;  // by the loop
  kernel.walk<WalkOrder::PreOrder>([&](tgpu::CopyRingOp op) {
    cx.sharedBytes = begin;
    for (Operation* around = op->getParentOp(); around; around = around->getParentOp())
      cx.sharedBytes = std::max(cx.sharedBytes, endOf.lookup(around));
    for (Operation* user : op->getUsers())
      if (auto copy = dyn_cast<tgpu::CopyAsyncOp>(user))
        if (auto buffer = copy.getBuffer().getDefiningOp<tgpu::AllocOp>(); !cx.buffers.contains(buffer.getResult()))
          allocate(buffer);
    endOf[loopOf(op)] = cx.sharedBytes;
    end = std::max(end, cx.sharedBytes);
  });
  cx.sharedBytes = end;
}

// One thread makes the barriers ready: a slot is full when its bytes have come, empty when every consumer warp has let
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
                          cx.b.getInt32(ring.isMailbox ? cx.numWarps : 1));
        int releases = ring.isMailbox ? 1 : ring.isCluster ? cx.numWarps * cx.blocks : cx.numWarps;
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
    if (!ring.isMailbox)
      ptx::mbarrierArriveExpect(cx.b, barrierOf(cx, ring, ring.full, kFill), cx.b.getInt32(ring.bytes));
  });
  on<tgpu::CommitOp>(table, [](KernelContext& cx, auto o) {
    Ring& ring = cx.ringOf(o.getRing());
    if (ring.isCopied) ptx::commitCopies(cx.b);
    if (ring.isMailbox) post(cx, ring);
    advance(cx, ring, kFill);
  });
  on<tgpu::AwaitOp>(table, [](KernelContext& cx, auto o) {
    Ring& ring = cx.ringOf(o.getRing());
    if (ring.isCopied) return awaitCopies(cx, ring);
    ptx::mbarrierWait(cx.b, barrierOf(cx, ring, ring.full, kTake),
                      cx.b.CreateLoad(cx.b.getInt32Ty(), ring.parity[kTake]));
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
