// tile.load and tile.store through scalars and tiles of pointers.
#include "interpreter/vm/charge.h"
#include "interpreter/vm/fail.h"
#include "interpreter/vm/handlers.h"
#include "interpreter/vm/pointers.h"
#include <algorithm>

namespace tandem::interpreter::handlers {

Step load(Machine& m, Run& run, const Prepared& i) {
  unsigned bytes = run.info(i.r).elemBytes;
  Accessor who(m, run, i);
  Pointers pointers(m, run, i.a, i.b);
  Result result(m, run, i.r);
  uint8_t* out = result.data();
  if (pointers.mask) {
    if (i.c == kNone)
      memset(out, 0, registerBytes(run, i.r));
    else if (run.count(i.c) == pointers.count)
      memcpy(out, data(m, run, i.c), registerBytes(run, i.r));
    else
      splat(data(m, run, i.c), out, pointers.count, bytes);
  }
  uint64_t moved = 0;
  bool perThread = isLanes(run, i.a);
  // Volatile: each element is a strong load of its own (M1).
  bool isVolatile = i.immediateCount > 0 && i.as<imm::Load>().isVolatile;
  who.synchronises = isVolatile;
  who.scope = isVolatile ? Scope::Sys : who.scope;
  who.type = run.info(i.r).elem;
  who.laneBytes = perThread && !isVolatile ? bytes : 0;
  if (!perThread && !run.mask.all) who.threads = &run.mask;
  bool ok = pointers.each(bytes, [&](size_t first, size_t length) {
    moved += length * bytes;
    for (size_t k = first; isVolatile && k < first + length; ++k) {
      if (perThread) who.lane = uint32_t(k);
      if (!readMemory(who, pointers.at[k], out + k * bytes, bytes, bytes)) return false;
      noteLook(m, run.info(i.r).elem, pointers.at[k], bytes);
    }
    if (isVolatile) return true;
    if (perThread) who.lane = uint32_t(first);
    return readMemory(who, pointers.at[first], out + first * bytes, length * bytes, bytes);
  });
  if (!ok) return Step::Failed;
  if (moved) chargeAccess(m, run, i.location, moved, m.arena.rankOf(pointers.at[0]), SpanKind::Get, "load");
  result.commit();
  return Step::Next;
}

// Makes each active thread's store, or one store where the threads agree on value and address.
static Step storeScalars(Machine& m, Run& run, const Prepared& i) {
  Accessor who(m, run, i);
  unsigned bytes = run.info(i.b).elemBytes;
  const auto* pointers = reinterpret_cast<const uint64_t*>(data(m, run, i.a));
  const uint8_t* values = data(m, run, i.b);
  bool perLane = isLanes(run, i.a);
  if (!perLane && !run.mask.all) who.threads = &run.mask;
  SameStores same(who);
  for (uint32_t lane = 0; lane < (perLane ? run.lanes : 1); ++lane) {
    if (perLane && !run.laneActive(lane)) continue;
    if (i.c != kNone && !integer(m, run, i.c, lane)) continue;
    if (perLane) {
      who.lane = lane;
      same.next(pointers[lane], values + lane * bytes, bytes);
    }
    if (!writeMemory(who, pointers[lane], values + lane * bytes, bytes, bytes)) return Step::Failed;
  }
  return Step::Next;
}

// Consecutive elements that a store has written.
struct StoredRun {
  uint64_t begin, end;
  const uint8_t* value;
};

// Returns true if runs that overlap hold the same bytes there; else tells the observer where they do not.
static bool lanesAgree(Machine& m, Accessor& who, const Pointers& pointers, const uint8_t* value, unsigned bytes) {
  std::vector<StoredRun> runs;
  pointers.each(bytes, [&](size_t first, size_t length) {
    runs.push_back({pointers.at[first], pointers.at[first] + length * bytes, value + first * bytes});
    return true;
  });
  std::sort(runs.begin(), runs.end(), [](const StoredRun& a, const StoredRun& b) { return a.begin < b.begin; });
  StoredRun reach = runs[0];
  for (size_t k = 1; k < runs.size(); ++k) {
    const StoredRun& next = runs[k];
    for (uint64_t at = next.begin; at < std::min(next.end, reach.end); at += bytes) {
      if (memcmp(reach.value + (at - reach.begin), next.value + (at - next.begin), bytes) == 0) continue;
      MemoryAccess access;
      access.run = who.run;
      access.rank = who.rank;
      access.program = who.program;
      access.location = who.location;
      access.kind = AccessKind::Write;
      access.address = at;
      access.bytes = bytes;
      m.observer->lanesDiffer(access);
      return !m.failed;
    }
    if (next.end > reach.end) reach = next;
  }
  return true;
}

Step store(Machine& m, Run& run, const Prepared& i) {
  if (run.info(i.a).extent != Extent::Tile) return storeScalars(m, run, i);
  unsigned bytes = run.info(i.b).elemBytes;
  Accessor who(m, run, i);
  Pointers pointers(m, run, i.a, i.c);
  const uint8_t* value = data(m, run, i.b);
  bool splatValue = run.count(i.b) != pointers.count;
  uint64_t moved = 0, end = 0;
  bool rises = true;
  bool ok = pointers.each(bytes, [&](size_t first, size_t length) {
    uint64_t begin = pointers.at[first];
    moved += length * bytes;
    rises = rises && begin >= end;
    end = begin + length * bytes;
    if (!splatValue) return writeMemory(who, pointers.at[first], value + first * bytes, length * bytes, bytes);
    for (size_t k = 0; k < length; ++k)
      if (!writeMemory(who, pointers.at[first + k], value, bytes, bytes)) return false;
    return true;
  });
  if (!ok || (!rises && m.observer && !splatValue && !lanesAgree(m, who, pointers, value, bytes))) return Step::Failed;
  if (moved) chargeAccess(m, run, i.location, moved, m.arena.rankOf(pointers.at[0]), SpanKind::Put, "store");
  return Step::Next;
}

}  // namespace tandem::interpreter::handlers
