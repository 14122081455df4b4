// Shared memory: buffers of one program at real addresses, reached by handle, index or generic pointer.
#include "interpreter/vm/fail.h"
#include "interpreter/vm/handlers.h"
#include "interpreter/vm/registers.h"

namespace tandem::interpreter {
namespace {

// Returns the place of column `column` in a row: vectors of a row change places by the row's phase.
int64_t swizzledColumn(const Allocation& a, int64_t row, int64_t column) {
  auto [vector, rowsPerPhase, phases] = a.swizzle;
  return (column / vector ^ row / rowsPerPhase % phases) * vector + column % vector;
}

// Calls body(lane, address) for each active thread's element, or once where they agree; checks each index.
template <class Body>
bool eachElement(Machine& m, Run& run, const Prepared& i, uint32_t firstIndex, bool perLane, Body body) {
  const std::vector<int64_t>& shape = *run.info(i.a).shape;
  unsigned bytes = run.info(i.a).elemBytes;
  uint64_t base = run.slots[i.a].bits;
  const Allocation* buffer = m.arena.find(base);
  bool swizzles = buffer && buffer->swizzle[2] > 1 && shape.size() > 1;
  for (uint32_t lane = 0; lane < (perLane ? run.lanes : 1); ++lane) {
    if (perLane && !run.laneActive(lane)) continue;
    uint64_t offset = 0;
    int64_t row = 0;
    for (size_t d = 0; d < shape.size(); ++d) {
      int64_t index = firstIndex + d < i.operandCount ? integer(m, run, i.operands[firstIndex + d], lane) : 0;
      if (index < 0 || index >= shape[d]) {
        fail(m, run, i, ReportKind::IndexOutOfRange,
             "index " + std::to_string(index) + " is outside dimension " + std::to_string(d) + " of size " +
                 std::to_string(shape[d]) + (perLane ? " (thread " + std::to_string(lane) + ")" : ""));
        return false;
      }
      if (swizzles && d + 1 == shape.size()) index = swizzledColumn(*buffer, row, index);
      row = index;
      offset = offset * uint64_t(shape[d]) + uint64_t(index);
    }
    if (!body(lane, base + offset * bytes)) return false;
  }
  return true;
}

// Threads that agree on all operands make one access, by all or by those that are active.
Accessor accessorOf(Machine& m, Run& run, const Prepared& i) {
  Accessor who(m, run, i);
  if (run.mask.all) who.lane = kEachThread;
  return who;
}

bool anyLanes(const Run& run, const Prepared& i) {
  for (uint32_t k = 0; k < i.operandCount; ++k)
    if (isLanes(run, i.operands[k])) return true;
  return i.r != kNone && isLanes(run, i.r);
}

}  // namespace

namespace handlers {

Step smemAlloc(Machine& m, Run& run, const Prepared& i) {
  uint64_t bytes = uint64_t(run.info(i.r).count) * run.info(i.r).elemBytes;
  Address address = 0;
  for (auto& [pc, at] : run.sharedBuffers)
    if (pc == run.pc) address = at;
  if (!address) {
    Allocation* a = m.arena.allocateShared(run.rank, run.slot, bytes);
    if (!a)
      return fail(m, run, i, ReportKind::OutOfMemory,
                  "a program's shared memory has no room for " + std::to_string(bytes) + " bytes more: a GPU has " +
                      std::to_string(Arena::kMaxSharedBytes));
    address = a->begin;
    if (const auto& places = run.prepared->program->locations; i.location < places.size())
      a->name = "shared memory of line " + std::to_string(places[i.location].range.line);
    if (m.observer) m.observer->forget(address, bytes);
    for (uint32_t k = 0; k < i.immediateCount && k < a->swizzle.size(); ++k) a->swizzle[k] = int32_t(i.immediates[k]);
    run.sharedBuffers.push_back({run.pc, address});
  }
  if (i.a != kNone) {
    Accessor who(m, run, i);
    if (!writeMemory(who, address, data(m, run, i.a), bytes, 1)) return Step::Failed;
  }
  run.slots[i.r].bits = address;
  return Step::Next;
}

Step smemRead(Machine& m, Run& run, const Prepared& i) {
  Accessor who(m, run, i);
  Result result(m, run, i.r);
  if (!readMemory(who, run.slots[i.a].bits, result.data(), registerBytes(run, i.r), 1)) return Step::Failed;
  result.commit();
  return Step::Next;
}

Step smemLoad(Machine& m, Run& run, const Prepared& i) {
  Accessor who = accessorOf(m, run, i);
  bool perLane = isLanes(run, i.r);
  if (!perLane && !run.mask.all) who.threads = &run.mask;
  unsigned bytes = run.info(i.r).elemBytes;
  Result result(m, run, i.r);
  memset(result.data(), 0, registerBytes(run, i.r));
  bool ok = eachElement(m, run, i, 1, perLane, [&](uint32_t lane, Address address) {
    if (perLane) who.lane = lane;
    return readMemory(who, address, result.data() + lane * bytes, bytes, bytes);
  });
  if (!ok) return Step::Failed;
  result.commit();
  return Step::Next;
}

Step smemStore(Machine& m, Run& run, const Prepared& i) {
  Accessor who = accessorOf(m, run, i);
  bool perLane = anyLanes(run, i);
  unsigned bytes = run.info(i.a).elemBytes;
  const uint8_t* values = data(m, run, i.b);
  bool valueLanes = isLanes(run, i.b);
  if (!perLane && !run.mask.all) who.threads = &run.mask;
  SameStores same(who);
  bool ok = eachElement(m, run, i, 2, perLane, [&](uint32_t lane, Address address) {
    const uint8_t* value = values + (valueLanes ? lane * bytes : 0);
    if (perLane) {
      who.lane = lane;
      same.next(address, value, bytes);
    }
    return writeMemory(who, address, value, bytes, bytes);
  });
  return ok ? Step::Next : Step::Failed;
}

Step smemIndex(Machine& m, Run& run, const Prepared& i) {
  int64_t index = integer(m, run, i.b), size = (*run.info(i.a).shape)[0];
  if (index < 0 || index >= size)
    return fail(m, run, i, ReportKind::IndexOutOfRange,
                "index " + std::to_string(index) + " is outside a buffer of " + std::to_string(size));
  run.slots[i.r].bits = run.slots[i.a].bits + uint64_t(index) * uint64_t(run.info(i.r).count) * run.info(i.r).elemBytes;
  return Step::Next;
}

Step smemPtr(Machine& m, Run& run, const Prepared& i) {
  Result result(m, run, i.r);
  memset(result.data(), 0, registerBytes(run, i.r));
  bool ok = eachElement(m, run, i, 1, isLanes(run, i.r), [&](uint32_t lane, Address address) {
    memcpy(result.data() + lane * 8, &address, 8);
    return true;
  });
  if (!ok) return Step::Failed;
  result.commit();
  return Step::Next;
}

// A 32-bit address names the byte of the program's buffers that has its low bits.
Step smemAt(Machine& m, Run& run, const Prepared& i) {
  Result result(m, run, i.r);
  memset(result.data(), 0, registerBytes(run, i.r));
  for (uint32_t lane = 0; lane < run.count(i.r); ++lane) {
    if (isLanes(run, i.r) && !run.laneActive(lane)) continue;
    uint32_t low = uint32_t(integer(m, run, i.a, lane));
    Address found = 0;
    for (const auto& [pc, begin] : run.sharedBuffers) {
      const Allocation* a = m.arena.find(begin);
      if (a && low - uint32_t(begin) < a->end - begin) found = begin + (low - uint32_t(begin));
    }
    if (!found)
      return fail(m, run, i, ReportKind::OutOfBounds, hex(low) + " is no address in the program's shared memory");
    memcpy(result.data() + lane * 8, &found, 8);
  }
  result.commit();
  return Step::Next;
}

Step dynamicSmem(Machine& m, Run& run, const Prepared& i) {
  if (run.sharedBuffers.empty())
    return fail(m, run, i, ReportKind::OutOfBounds, "the program has no shared-memory buffer yet");
  setInteger(m, run, i.r, int64_t(run.sharedBuffers.front().second));
  return Step::Next;
}

}  // namespace handlers
}  // namespace tandem::interpreter
