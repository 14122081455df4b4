// The ops of `dist` say here what they do to memory, threads and ranks (M5 to M12).
#include "compiler/dialect/dist/dist.h"

using namespace mlir;
using namespace tandem::tile;

namespace tandem::dist {

static MemoryAccess signalAt(Value pointer, Memory memory, bool writes) {
  return {.address = pointer,
          .memory = memory,
          .order = AccessOrder::Rule,
          .reads = !writes,
          .writes = writes,
          .strong = true};
}

// Threads of a group that is not the block may come to a call at different times.
static Meeting meetingOf(Group group) { return group == Group::Block ? Meeting::Block : Meeting::Callers; }

static Concurrency waitFor(Value pointer) {
  Concurrency c;
  c.accesses = {signalAt(pointer, Memory::Global, false)};
  c.meets = Meeting::Callers;
  c.waits = true;
  return c;
}
Concurrency WaitOp::getConcurrency() {
  Concurrency c = waitFor(getPointer());
  if (getSem() != Semantic::Relaxed) c.acquires = getScope();
  return c;
}
Concurrency SignalWaitOp::getConcurrency() {
  Concurrency c = waitFor(getPointer());
  c.acquires = Scope::Sys;
  return c;
}

Concurrency NotifyOp::getConcurrency() {
  Concurrency c;
  c.accesses = {signalAt(getPointer(), Memory::Peer, true)};
  c.meets = Meeting::Block;
  c.completes = true;
  c.releases = memoryScope(getScope());
  return c;
}
Concurrency SignalOp::getConcurrency() {
  Concurrency c;
  c.accesses = {signalAt(getPointer(), Memory::Peer, true)};
  c.repeats = getSignal() == SignalKind::Add;
  return c;
}

static Concurrency copy(Value dest, Memory to, Value source, Memory from, Group group) {
  Concurrency c;
  c.accesses = {{.address = source, .memory = from, .reads = true}, {.address = dest, .memory = to, .writes = true}};
  c.meets = meetingOf(group);
  c.meetsAgain = true;
  return c;
}
Concurrency PutOp::getConcurrency() { return copy(getDest(), Memory::Peer, getSource(), Memory::Global, getGroup()); }
Concurrency GetOp::getConcurrency() { return copy(getDest(), Memory::Global, getSource(), Memory::Peer, getGroup()); }
Concurrency PutSignalOp::getConcurrency() {
  Concurrency c = copy(getDest(), Memory::Peer, getSource(), Memory::Global, getGroup());
  c.accesses.push_back(signalAt(getSignalPointer(), Memory::Peer, true));
  c.releases = Scope::Sys;
  c.repeats = getSignal() == SignalKind::Add;
  return c;
}
Concurrency PutValueOp::getConcurrency() {
  Concurrency c;
  c.accesses = {{.address = getDest(), .memory = Memory::Peer, .writes = true}};
  return c;
}

static Concurrency order() {
  Concurrency c;
  c.meets = Meeting::Callers;
  c.completes = true;
  c.releases = c.acquires = Scope::Sys;
  return c;
}
Concurrency FenceOp::getConcurrency() { return order(); }
Concurrency QuietOp::getConcurrency() { return order(); }

static Concurrency meetRanks(Group group, bool quiets) {
  Concurrency c;
  c.meets = meetingOf(group);
  c.meetsAgain = c.meetsOthers = true;
  c.completes = quiets;
  c.releases = c.acquires = Scope::Sys;
  return c;
}
Concurrency BarrierOp::getConcurrency() { return meetRanks(getGroup(), !getSyncOnly()); }

static Concurrency collective(Group group, Value dest, Value source) {
  Concurrency c = meetRanks(group, true);
  c.accesses = {{.address = source, .memory = Memory::Peer, .reads = true}, {.address = dest, .writes = true}};
  return c;
}
Concurrency BroadcastOp::getConcurrency() { return collective(getGroup(), getDest(), getSource()); }
Concurrency FcollectOp::getConcurrency() { return collective(getGroup(), getDest(), getSource()); }

}  // namespace tandem::dist
