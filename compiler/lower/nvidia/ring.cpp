// Rings of slots in shared memory: their barriers, and the counters that each role keeps in registers.
#include "compiler/analysis/boxes.h"
#include "compiler/dialect/tgpu/bulk_store.h"
#include "compiler/dialect/tgpu/products.h"
#include "compiler/lower/nvidia/kernel_lowering.h"
#include <llvm/ADT/TypeSwitch.h>
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

void KernelLowering::allocateBuffers(func::FuncOp kernel) {
  allocateSmem(kernel);
  auto allocate = [&](llvm::ArrayRef<tgpu::AllocOp> ops) {  // beside each other in each slot
    int64_t slotBytes = 0, alignment = 128;
    for (tgpu::AllocOp op : ops) {
      auto type = cast<tile::SmemType>(op.getType());
      int64_t bytes = ShapedType::getNumElements(type.getShape()) * type.getElementType().getIntOrFloatBitWidth() / 8;
      if (op.getSwizzle()) alignment = 1024;
      Buffer& buffer = buffers_[op.getResult()];
      buffer = {slotBytes, 0, static_cast<int>(op.getSwizzle()), std::nullopt};
      if (op.getFastest()) buffer.fastest = *op.getFastest();
      slotBytes += llvm::alignTo(bytes, alignment);
    }
    int64_t begin = allocateShared(slotBytes * tgpu::AllocOp(ops.front()).getSlots(), alignment);
    for (tgpu::AllocOp op : ops) {
      Buffer& buffer = buffers_[op.getResult()];
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
    if (!buffers_.contains(op.getResult()) && !isCopied(op)) allocate(op);
  });
  stagesInRings_ = storesBetweenRings(kernel);
  if (!stagesInRings_) allocateStaging(kernel);
  kernel.walk([&](tgpu::RingOp op) {
    Ring ring;
    ring.slots = op.getSlots();
    ring.bytes = op.getBytes();
    ring.isGate = op.getGate();
    ring.isMailbox = op.getMailbox();
    ring.isCluster = op.getCluster();
    // This is not done for two warpgroups that take turns: ptxas gives the turn after the release
    // (docs/performance/attention.md).
    if (numWarps_ != 8 && releasesAtOnce(op.getResult(), kernel)) ring.release = kTake;
    ring.full = allocateShared(8 * ring.slots, 8);
    ring.empty = allocateShared(8 * ring.slots, 8);
    rings_[op.getResult()] = ring;
  });
  kernel.walk([&](tgpu::CopyRingOp op) {
    Ring ring;
    ring.slots = op.getSlots();
    ring.isCopied = true;
    ring.ahead = op.getAhead();
    ring.feedsProducts = llvm::any_of(op->getUsers(), llvm::IsaPred<tgpu::WgmmaOp>);
    rings_[op.getResult()] = ring;
  });
  allocateMeeting(kernel);

  // Rings of loops that are not inside one another lie in one place, as does what is needed between the loops.
  bool haveCopied = llvm::any_of(rings_, [](const auto& entry) { return entry.second.isCopied; });
  int64_t begin = llvm::alignTo(sharedBytes_, haveCopied ? 1024 : 128), end = begin;
  freeBegin_ = sharedBytes_ = begin;
  if (stagesInRings_) {
    allocateStaging(kernel);
    freeBegin_ = end = llvm::alignTo(sharedBytes_, 128);
  }
  llvm::DenseMap<Operation*, int64_t> endOf;  // by the loop
  kernel.walk<WalkOrder::PreOrder>([&](tgpu::CopyRingOp op) {
    sharedBytes_ = begin;
    for (Operation* around = op->getParentOp(); around; around = around->getParentOp())
      sharedBytes_ = std::max(sharedBytes_, endOf.lookup(around));
    for (Operation* user : op->getUsers())
      if (auto copy = dyn_cast<tgpu::CopyAsyncOp>(user))
        if (auto buffer = copy.getBuffer().getDefiningOp<tgpu::AllocOp>(); !buffers_.contains(buffer.getResult())) allocate(buffer);
    endOf[loopOf(op)] = sharedBytes_;
    end = std::max(end, sharedBytes_);
  });
  sharedBytes_ = end;
}

// The loop that reads the ring.
Operation* KernelLowering::loopOf(tgpu::CopyRingOp ring) {
  for (Operation* user : ring->getUsers())
    if (isa<tgpu::AwaitOp>(user)) return user->getParentOp();
  return nullptr;
}

// True if the kernel has copied rings and TMA stores, and all of these come while no such ring is in use.
bool KernelLowering::storesBetweenRings(func::FuncOp kernel) {
  auto haveStores = [](Operation* in) {
    return in->walk([](tile::BlockStoreOp store) { return tgpu::isBulk(store) ? WalkResult::interrupt() : WalkResult::advance(); })
        .wasInterrupted();
  };
  bool haveRings = false, isBetween = true;
  kernel.walk([&](tgpu::CopyRingOp op) {
    haveRings = true;
    isBetween &= !haveStores(loopOf(op));
  });
  return haveRings && isBetween && haveStores(kernel);
}

// Two panels of TMA stores for each group of four warps, or as many as a group stores where there is room: then none waits for another.
void KernelLowering::allocateStaging(func::FuncOp kernel) {
  int64_t groups = std::max(1, numWarps_ / 4);
  auto [panelBytes, panels] =
      analysis::stagedPanels(kernel, numWarps_, [](tile::BlockStoreOp op) { return tgpu::isBulk(op); });
  if (!panelBytes) return;
  constexpr int64_t kKeptForScratch = 10 * 1024;
  int64_t room =
      (target_.maxSharedBytes() / blocksPerMultiprocessor_ - sharedBytes_ - kKeptForScratch) / (groups * panelBytes);
  stagingPanels_ = std::min(std::max<int64_t>(1, panels), std::max<int64_t>(2, room));
  stagingBytes_ = groups * stagingPanels_ * panelBytes;  // the groups' shares are equal, whatever they store
  staging_ = allocateShared(stagingBytes_, 1024);
}

// One thread makes the barriers ready: a slot is full when its bytes have come, empty when every consumer warp has let it go.
void KernelLowering::initialiseBarriers() {
  bool haveBarriers = llvm::any_of(rings_, [](const auto& entry) { return !entry.second.isCopied; });
  if (!haveBarriers && meeting_ < 0) return;
  if (meeting_ >= 0) {
    meetingParity_ = b_.CreateAlloca(b_.getInt32Ty());
    b_.CreateStore(b_.getInt32(0), meetingParity_);
  }
  when(isFirstThread(), [&] {
    for (auto& [value, ring] : rings_)
      for (int slot = 0; slot < ring.slots && !ring.isCopied; ++slot) {
        ptx::mbarrierInit(b_, sharedAddress(ring.full + 8 * slot), b_.getInt32(ring.isMailbox ? numWarps_ : 1));
        int releases = ring.isMailbox ? 1 : ring.isCluster ? numWarps_ * blocks_ : numWarps_;
        ptx::mbarrierInit(b_, sharedAddress(ring.empty + 8 * slot), b_.getInt32(releases));
      }
    if (meeting_ >= 0) ptx::mbarrierInit(b_, sharedAddress(meeting_), b_.getInt32(numWarps_ * blocks_));
    ptx::fenceBarrierInit(b_);
  });
  if (reachesOthers()) return clusterBarrier();
  b_.CreateIntrinsic(b_.getVoidTy(), llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_all, {b_.getInt32(0)});
}

// The counters are made in the function's entry, where LLVM turns them into registers.
void KernelLowering::makeCounters(Ring& ring) {
  llvm::IRBuilder<>::InsertPointGuard guard(b_);
  llvm::BasicBlock& entry = function_->getEntryBlock();
  b_.SetInsertPoint(&entry, entry.begin());
  for (int c = 0; c < 3; ++c) {
    ring.slot[c] = b_.CreateAlloca(b_.getInt32Ty());
    ring.parity[c] = b_.CreateAlloca(b_.getInt32Ty());
  }
}

// Each role counts for itself.
void KernelLowering::resetCounters() {
  for (auto& [value, ring] : rings_) makeCounters(ring);
  for (auto& [value, ring] : rings_)
    for (int c = 0; c < 3; ++c) {
      b_.CreateStore(b_.getInt32(0), ring.slot[c]);
      // The first round of fills waits for the phase before the first, which has passed; at a gate consumers come first.
      b_.CreateStore(b_.getInt32(c == kFill && !ring.isGate ? 1 : 0), ring.parity[c]);
    }
}

void KernelLowering::advance(Ring& ring, int counter) {
  llvm::Value* next = b_.CreateAdd(b_.CreateLoad(b_.getInt32Ty(), ring.slot[counter]), b_.getInt32(1));
  llvm::Value* wraps = b_.CreateICmpEQ(next, b_.getInt32(ring.slots));
  llvm::Value* parity = b_.CreateLoad(b_.getInt32Ty(), ring.parity[counter]);
  b_.CreateStore(b_.CreateSelect(wraps, b_.getInt32(0), next), ring.slot[counter]);
  b_.CreateStore(b_.CreateXor(parity, b_.CreateZExt(wraps, b_.getInt32Ty())), ring.parity[counter]);
}

llvm::Value* KernelLowering::barrierOf(Ring& ring, int64_t barriers, int counter) {
  llvm::Value* slot = b_.CreateLoad(b_.getInt32Ty(), ring.slot[counter]);
  return sharedAddress(b_.CreateAdd(b_.CreateMul(slot, b_.getInt32(8)), b_.getInt32(barriers)));
}

llvm::Value* KernelLowering::slotOffset(mlir::Value buffer, mlir::Value ring, int counter) {
  const Buffer& place = buffers_.find(buffer)->second;
  if (!ring) return b_.getInt32(place.offset);
  llvm::Value* slot = b_.CreateLoad(b_.getInt32Ty(), ringOf(ring).slot[counter]);
  return b_.CreateAdd(b_.CreateMul(slot, b_.getInt32(place.slotBytes)), b_.getInt32(place.offset));
}

// All writes of the warp's threads come before the signaller's work.
void KernelLowering::post(Ring& mailbox) {
  completeBulkStores();
  ptx::syncWarp(b_);
  ptx::mbarrierArrive(b_, barrierOf(mailbox, mailbox.full, kFill), b_.CreateICmpEQ(laneId(), b_.getInt32(0)));
}

bool KernelLowering::lowerRing(Operation* op) {
  return llvm::TypeSwitch<Operation*, bool>(op)
      .Case<tgpu::AllocOp, tgpu::RingOp>([](auto) { return true; })
      .Case<tgpu::AcquireOp>([&](auto o) {
        Ring& ring = ringOf(o.getRing());
        ptx::mbarrierWait(b_, barrierOf(ring, ring.empty, kFill), b_.CreateLoad(b_.getInt32Ty(), ring.parity[kFill]));
        if (ring.isGate && ring.isCluster) ptx::fence(b_, ptx::Scope::Cluster);
        if (ring.isGate) ptx::fenceProxyAsync(b_);
        if (role_ == 3) completeBulkStores();
        if (!ring.isMailbox) ptx::mbarrierArriveExpect(b_, barrierOf(ring, ring.full, kFill), b_.getInt32(ring.bytes));
        return true;
      })
      .Case<tgpu::CommitOp>([&](auto o) {
        Ring& ring = ringOf(o.getRing());
        if (ring.isCopied) ptx::commitCopies(b_);
        if (ring.isMailbox) post(ring);
        return advance(ring, kFill), true;
      })
      .Case<tgpu::AwaitOp>([&](auto o) {
        Ring& ring = ringOf(o.getRing());
        if (ring.isCopied) return awaitCopies(ring), true;
        ptx::mbarrierWait(b_, barrierOf(ring, ring.full, kTake), b_.CreateLoad(b_.getInt32Ty(), ring.parity[kTake]));
        return true;
      })
      .Case<tgpu::AdvanceOp>([&](auto o) {
        Ring& ring = ringOf(o.getRing());
        if (ring.release != kTake) advance(ring, kTake);
        return true;
      })
      .Case<tgpu::ReleaseOp>([&](auto o) {
        Ring& ring = ringOf(o.getRing());
        llvm::Value* address = barrierOf(ring, ring.empty, ring.release);
        if (ring.isGate) {  // all threads' writes go before TMA's reads
          ptx::fenceProxyAsync(b_);
          ptx::syncWarp(b_);
        }
        if (ring.isCluster)
          arriveEverywhere(address, ring.isGate);
        else
          ptx::mbarrierArrive(b_, address, b_.CreateICmpEQ(laneId(), b_.getInt32(0)));
        return advance(ring, ring.release), true;
      })
      .Default([](Operation*) { return false; });
}

}  // namespace tandem::lower::nvidia
