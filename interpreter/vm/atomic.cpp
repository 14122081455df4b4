// Atomic updates: once a program through a scalar pointer, once a thread in per-thread code, once an element through a
// tile.
#include "interpreter/vm/charge.h"
#include "interpreter/vm/fail.h"
#include "interpreter/vm/handlers.h"
#include "interpreter/vm/pointers.h"

namespace tandem::interpreter {
namespace {

// Calls body(pointer index, value index, result offset) for each update the instruction stands for.
template <class Body>
bool eachUpdate(Machine& m, Run& run, const Prepared& i, Register mask, bool perThread, Accessor& who, Body body) {
  if (run.info(i.a).extent == Extent::Tile) {
    const uint8_t* active = mask == kNone ? nullptr : data(m, run, mask);
    size_t maskStep = mask != kNone && run.count(mask) > 1 ? 1 : 0, n = run.count(i.a);
    for (size_t k = 0; k < n; ++k)
      if ((!active || active[k * maskStep]) && !body(k, k)) return false;
    return true;
  }
  if (perThread) {
    for (uint32_t lane = 0; lane < run.lanes; ++lane) {
      if (!run.laneActive(lane) || (mask != kNone && !integer(m, run, mask, lane))) continue;
      who.lane = lane;
      if (!body(isLanes(run, i.a) ? lane : 0, lane)) return false;
    }
    return true;
  }
  return (mask != kNone && !integer(m, run, mask)) || body(0, 0);
}

}  // namespace

namespace handlers {

Step atomicRmw(Machine& m, Run& run, const Prepared& i) {
  Accessor who(m, run, i);
  who.semantic = Semantic(i.as<imm::AtomicRmw>().semantic);
  who.scope = Scope(i.as<imm::AtomicRmw>().scope);
  who.synchronises = true;
  bool perThread = i.immediateCount > 2 && i.as<imm::AtomicRmw>().perThread;
  unsigned bytes = run.info(i.b).elemBytes;
  Elem elem = run.info(i.b).elem;
  const auto* pointers = reinterpret_cast<const uint64_t*>(data(m, run, i.a));
  const uint8_t* values = data(m, run, i.b);
  size_t valueCount = run.count(i.b);
  Result result(m, run, i.r);
  size_t resultCount = run.count(i.r);
  memset(result.data(), 0, registerBytes(run, i.r));
  bool ok = eachUpdate(m, run, i, i.c, perThread, who, [&](size_t pointer, size_t k) {
    return updateMemory(who, RmwOp(i.sub), elem, pointers[pointer], values + (k < valueCount ? k : 0) * bytes,
                        result.data() + (k < resultCount ? k : 0) * bytes);
  });
  if (!ok) return Step::Failed;
  // Once a program, but wanted by every thread: the old value is broadcast.
  if (!perThread && isLanes(run, i.r))
    for (size_t k = 1; k < resultCount; ++k) memcpy(result.data() + k * bytes, result.data(), bytes);
  chargeStore(m, run, registerBytes(run, i.r) * 4, m.arena.rankOf(pointers[0]));
  result.commit();
  return Step::Next;
}

Step atomicCas(Machine& m, Run& run, const Prepared& i) {
  Accessor who(m, run, i);
  who.semantic = Semantic(i.as<imm::AtomicCas>().semantic);
  who.scope = Scope(i.as<imm::AtomicCas>().scope);
  who.synchronises = true;
  bool perThread = i.immediateCount > 2 && i.as<imm::AtomicCas>().perThread;
  unsigned bytes = run.info(i.c).elemBytes;
  Elem elem = run.info(i.c).elem;
  const auto* pointers = reinterpret_cast<const uint64_t*>(data(m, run, i.a));
  const uint8_t *expected = data(m, run, i.b), *values = data(m, run, i.c);
  size_t expectedCount = run.count(i.b), valueCount = run.count(i.c);
  Result result(m, run, i.r);
  size_t resultCount = run.count(i.r);
  memset(result.data(), 0, registerBytes(run, i.r));
  bool ok = eachUpdate(m, run, i, kNone, perThread, who, [&](size_t pointer, size_t k) {
    return compareAndSwap(who, elem, pointers[pointer], expected + (k < expectedCount ? k : 0) * bytes,
                          values + (k < valueCount ? k : 0) * bytes, result.data() + (k < resultCount ? k : 0) * bytes);
  });
  if (!ok) return Step::Failed;
  if (!perThread && isLanes(run, i.r))
    for (size_t k = 1; k < resultCount; ++k) memcpy(result.data() + k * bytes, result.data(), bytes);
  result.commit();
  return Step::Next;
}

}  // namespace handlers
}  // namespace tandem::interpreter
