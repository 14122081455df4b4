// The ops of `tgpu` say here what they do to memory and to the block's threads. Rings keep what they hold in order by themselves.
#include "compiler/dialect/tgpu/tgpu.h"

using namespace mlir;
using namespace tandem::tile;

namespace tandem::tgpu {

static MemoryAccess shared(Value buffer, bool writes) {
  return {.address = buffer, .memory = Memory::Shared, .order = AccessOrder::Rule, .reads = !writes, .writes = writes};
}
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

Concurrency AllocOp::getConcurrency() { return {}; }
Concurrency RingOp::getConcurrency() { return {}; }
Concurrency CopyRingOp::getConcurrency() { return {}; }

// The block meets before it fills the buffer, and when it is filled.
Concurrency LocalStoreOp::getConcurrency() {
  Concurrency c = accesses(shared(getBuffer(), true));
  c.meets = Meeting::Block;
  c.meetsAgain = true;
  return c;
}
Concurrency LocalLoadOp::getConcurrency() { return accesses(shared(getBuffer(), false)); }
Concurrency StageOp::getConcurrency() { return accesses(shared(getBuffer(), true)); }

//===- rings ---------------------------------------------------------------------------------------------------===//
Concurrency AcquireOp::getConcurrency() { return meeting(Meeting::Some); }
Concurrency CommitOp::getConcurrency() { return meeting(Meeting::Some); }
Concurrency ReleaseOp::getConcurrency() { return meeting(Meeting::Some); }
Concurrency AdvanceOp::getConcurrency() { return {}; }
// The copies of a copy_ring are the block's own, or each group's: all its threads must have done theirs.
Concurrency AwaitOp::getConcurrency() {
  auto copied = getRing().getDefiningOp<CopyRingOp>();
  return meeting(copied && !copied.getOfGroups() ? Meeting::Block : Meeting::Some);
}
Concurrency RewindOp::getConcurrency() { return meeting(Meeting::Block); }

//===- copies --------------------------------------------------------------------------------------------------===//
Concurrency TmaLoadOp::getConcurrency() {
  Concurrency c = accesses({.address = getBase(), .order = AccessOrder::Rule, .reads = true});
  c.accesses.push_back(shared(getBuffer(), true));
  return c;
}
Concurrency TmaStoreOp::getConcurrency() {
  Concurrency c = accesses({.address = getBase(), .order = AccessOrder::Rule, .writes = true});
  c.accesses.push_back(shared(getBuffer(), false));
  return c;
}
Concurrency CopyAsyncOp::getConcurrency() {
  Concurrency c = accesses({.address = getPointer(), .reads = true});
  c.accesses.push_back(shared(getBuffer(), true));
  return c;
}

//===- products ------------------------------------------------------------------------------------------------===//
Concurrency WgmmaOp::getConcurrency() {
  Concurrency c = accesses(shared(getRhs(), false));
  if (isa<SmemType>(getLhs().getType())) c.accesses.push_back(shared(getLhs(), false));
  return c;
}
Concurrency WgmmaWaitOp::getConcurrency() { return {}; }

}  // namespace tandem::tgpu
