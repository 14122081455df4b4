// The ops of `simt` say here what they do to memory and threads: each thread acts for itself (M1, M3, M4, M16).
#include "compiler/dialect/simt/simt.h"

using namespace mlir;
using namespace tandem::tile;

namespace tandem::simt {

static Concurrency accesses(MemoryAccess access) {
  Concurrency c;
  c.accesses.push_back(access);
  return c;
}
static Concurrency meeting(Meeting meets) {
  Concurrency c;
  c.meets = meets;
  return c;
}

//===- memory that others see ----------------------------------------------------------------------------------===//
static MemoryAccess ofThread(Value pointer, bool reads, bool writes, bool strong) {
  return {.address = pointer, .order = AccessOrder::Thread, .reads = reads, .writes = writes, .strong = strong};
}
static Concurrency withOrder(Concurrency c, Semantic sem, Scope scope) {
  bool both = sem == Semantic::AcqRel || sem == Semantic::SeqCst;
  if (both || sem == Semantic::Acquire) c.acquires = scope;
  if (both || sem == Semantic::Release) c.releases = scope;
  return c;
}
Concurrency LdOp::getConcurrency() {
  return withOrder(accesses(ofThread(getPointer(), true, false, !getWeak())), getSem(), getScope());
}
Concurrency StOp::getConcurrency() {
  return withOrder(accesses(ofThread(getPointer(), false, true, !getWeak())), getSem(), getScope());
}
Concurrency AtomicRmwOp::getConcurrency() {
  return withOrder(accesses(ofThread(getPointer(), true, true, true)), getSem(), getScope());
}
Concurrency AtomicCasOp::getConcurrency() {
  return withOrder(accesses(ofThread(getPointer(), true, true, true)), getSem(), getScope());
}
Concurrency FenceOp::getConcurrency() { return withOrder({}, getSem(), getScope()); }

static Concurrency multimem(Value pointer, bool writes) {
  return accesses(
      {.address = pointer, .memory = Memory::Peer, .order = AccessOrder::Thread, .reads = !writes, .writes = writes});
}
Concurrency MultimemStOp::getConcurrency() { return multimem(getPointer(), true); }
Concurrency MultimemLdReduceOp::getConcurrency() { return multimem(getPointer(), false); }

//===- threads -------------------------------------------------------------------------------------------------===//
Concurrency SpecialOp::getConcurrency() { return {}; }
Concurrency BarrierOp::getConcurrency() {
  Concurrency c = meeting(getInBlock() ? Meeting::Block : Meeting::Program);
  c.completes = getCompleting();
  return c;
}
Concurrency GridBarrierOp::getConcurrency() {
  Concurrency c = meeting(Meeting::Program);
  c.meetsAgain = c.meetsOthers = c.completes = true;
  c.releases = c.acquires = Scope::Gpu;
  return c;
}
Concurrency NamedBarrierOp::getConcurrency() { return meeting(Meeting::Some); }
Concurrency WarpBarrierOp::getConcurrency() { return meeting(Meeting::Some); }
Concurrency ShuffleOp::getConcurrency() { return meeting(Meeting::Some); }
Concurrency BallotOp::getConcurrency() { return meeting(Meeting::Some); }
Concurrency ElectOp::getConcurrency() { return meeting(Meeting::Some); }

//===- shared memory -------------------------------------------------------------------------------------------===//
static MemoryAccess shared(Value buffer, bool reads, bool writes) {
  return {.address = buffer, .memory = Memory::Shared, .order = AccessOrder::Thread, .reads = reads, .writes = writes};
}
// The block meets before it fills the buffer, whose place may be in use, and when it is filled.
Concurrency SmemAllocOp::getConcurrency() {
  if (!getInit()) return {};
  Concurrency c = accesses(shared(getResult(), false, true));
  c.meets = Meeting::Block;
  c.meetsAgain = true;
  return c;
}
Concurrency SmemReadOp::getConcurrency() { return accesses(shared(getBuffer(), true, false)); }
Concurrency SmemLoadOp::getConcurrency() { return accesses(shared(getBuffer(), true, false)); }
Concurrency SmemStoreOp::getConcurrency() { return accesses(shared(getBuffer(), false, true)); }
Concurrency DynamicSmemOp::getConcurrency() { return {}; }

//===- mbarriers and bulk copies -------------------------------------------------------------------------------===//
static Concurrency countOn(Value barrier, Meeting meets) {
  Concurrency c = accesses(
      {.address = barrier, .memory = Memory::Shared, .order = AccessOrder::Rule, .reads = true, .writes = true});
  c.meets = meets;
  return c;
}
Concurrency MbarrierInitOp::getConcurrency() { return countOn(getBarrier(), Meeting::None); }
Concurrency MbarrierExpectOp::getConcurrency() { return countOn(getBarrier(), Meeting::None); }
Concurrency MbarrierInvalidateOp::getConcurrency() { return countOn(getBarrier(), Meeting::None); }
Concurrency MbarrierArriveOp::getConcurrency() { return countOn(getBarrier(), Meeting::Some); }
Concurrency MbarrierTryWaitOp::getConcurrency() { return countOn(getBarrier(), Meeting::Some); }
Concurrency MbarrierWaitOp::getConcurrency() { return countOn(getBarrier(), Meeting::Some); }

// A tensor map does not tell which memory it describes.
static Concurrency bulkCopy(Value dest, Memory to, Value source, Memory from) {
  Concurrency c;
  c.accesses = {{.address = source, .memory = from, .order = AccessOrder::Rule, .reads = true},
                {.address = dest, .memory = to, .order = AccessOrder::Rule, .writes = true}};
  return c;
}
Concurrency TmaLoadOp::getConcurrency() { return bulkCopy(getDest(), Memory::Shared, nullptr, Memory::Global); }
Concurrency TmaStoreOp::getConcurrency() { return bulkCopy(nullptr, Memory::Global, getSource(), Memory::Shared); }
Concurrency BulkLoadOp::getConcurrency() { return bulkCopy(getDest(), Memory::Shared, getSource(), Memory::Global); }
Concurrency BulkStoreOp::getConcurrency() { return bulkCopy(getDest(), Memory::Global, getSource(), Memory::Shared); }
Concurrency CopyAsyncOp::getConcurrency() { return bulkCopy(getDest(), Memory::Shared, getSource(), Memory::Global); }
Concurrency CopyCommitOp::getConcurrency() { return {}; }
Concurrency CopyWaitOp::getConcurrency() { return {}; }
Concurrency BulkCommitOp::getConcurrency() { return {}; }
Concurrency BulkWaitOp::getConcurrency() { return {}; }

Concurrency TensormapReplaceOp::getConcurrency() { return accesses(ofThread(getMap(), false, true, false)); }
Concurrency TensormapPublishOp::getConcurrency() {
  Concurrency c = accesses(ofThread(getSource(), true, false, false));
  c.accesses.push_back(ofThread(getDest(), false, true, true));
  c.meets = Meeting::Some;
  c.releases = Scope::Gpu;
  return c;
}
Concurrency TensormapPrefetchOp::getConcurrency() { return {}; }
Concurrency ProxyFenceOp::getConcurrency() {
  Concurrency c;
  c.releases = c.acquires = getKind() == ProxyFence::TensormapAcquire ? Scope::Gpu : Scope::Cta;
  return c;
}

}  // namespace tandem::simt
