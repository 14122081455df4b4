// The ops of `tile` say here what they do to memory and threads. Tile code acts for the program, so its accesses are in the program's
// order.
#include "compiler/dialect/tile/tile.h"

using namespace mlir;

#include "compiler/dialect/tile/tile_concurrency.cpp.inc"

namespace tandem::tile {

bool isPrivate(const Concurrency& c) {
  bool isShared = llvm::all_of(c.accesses, [](const MemoryAccess& a) { return a.memory == Memory::Shared; });
  return isShared && c.meets == Meeting::None && !c.meetsOthers && !c.waits && !c.releases && !c.acquires;
}

std::optional<Concurrency> concurrencyOf(Operation* op) {
  auto says = dyn_cast<ConcurrencyOpInterface>(op);
  return says ? std::optional(says.getConcurrency()) : std::nullopt;
}

bool variesByThread(Operation* op) {
  if (op->hasTrait<VariesByThread>()) return true;
  auto code = dyn_cast<InlineAsmOp>(op);
  return code &&
         llvm::any_of(std::initializer_list<StringRef>{"%tid", "%lane", "%warpid", "elect.sync", "atom.", "shfl."},
                      [&](StringRef word) { return code.getAssembly().contains(word); });
}

static Concurrency accesses(MemoryAccess access) {
  Concurrency c;
  c.accesses.push_back(access);
  return c;
}

// Each element is volatile for itself: relaxed at `sys`.
Concurrency LoadOp::getConcurrency() {
  return accesses({.address = getPointer(), .reads = true, .strong = getIsVolatile()});
}
Concurrency StoreOp::getConcurrency() { return accesses({.address = getPointer(), .writes = true}); }
Concurrency BlockLoadOp::getConcurrency() { return accesses({.address = getBase(), .reads = true}); }
Concurrency BlockStoreOp::getConcurrency() {
  return accesses({.address = getBase(), .writes = true, .strong = getReduce().has_value()});
}

// All threads meet before an update that releases what they have written.
static Concurrency update(Value pointer, Semantic sem, Scope scope) {
  Concurrency c = accesses({.address = pointer, .reads = true, .writes = true, .strong = true});
  bool both = sem == Semantic::AcqRel || sem == Semantic::SeqCst;
  if (both || sem == Semantic::Acquire) c.acquires = scope;
  if (!both && sem != Semantic::Release) return c;
  c.releases = scope;
  c.meets = Meeting::Callers;
  c.completes = true;
  return c;
}
Concurrency AtomicRmwOp::getConcurrency() { return update(getPointer(), getSem(), getScope()); }
Concurrency AtomicCasOp::getConcurrency() { return update(getPointer(), getSem(), getScope()); }

// The text acts for each thread, on addresses that only it knows; some of its words say that it synchronises.
Concurrency InlineAsmOp::getConcurrency() {
  if (getPure()) return {};
  bool strong = llvm::any_of(
      std::initializer_list<StringRef>{".relaxed", ".acquire", ".release", ".acq_rel", ".volatile", "atom.", "red."},
      [&](StringRef word) { return getAssembly().contains(word); });
  Concurrency c =
      accesses({.address = nullptr, .order = AccessOrder::Thread, .reads = true, .writes = true, .strong = strong});
  c.waits = getAssembly().contains("griddepcontrol.wait");  // for kernels, as others for a signal
  return c;
}

Concurrency PrintOp::getConcurrency() { return {}; }
Concurrency AssertOp::getConcurrency() { return {}; }
Concurrency AssumeOp::getConcurrency() { return {}; }

}  // namespace tandem::tile
