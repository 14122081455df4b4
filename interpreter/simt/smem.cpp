// Shared memory: buffers of one program at real addresses, reached by handle, index or generic pointer.
#include "interpreter/vm/fail.h"
#include "interpreter/vm/handlers.h"
#include "interpreter/vm/registers.h"

namespace tandem::interpreter {
namespace {

// Calls body(lane, address) for each active thread's element; checks each index.
template <class Body>
bool eachElement(Machine& m, Run& run, const Prepared& i, uint32_t firstIndex, bool perLane, Body body) {
  const std::vector<int64_t>& shape = *run.info(i.a).shape;
  unsigned bytes = run.info(i.a).elemBytes;
  uint64_t base = run.slots[i.a].bits;
  for (uint32_t lane = 0; lane < (perLane ? run.lanes : 1); ++lane) {
    if (perLane && !run.laneActive(lane)) continue;
    uint64_t offset = 0;
    for (size_t d = 0; d < shape.size(); ++d) {
      int64_t index = firstIndex + d < i.operandCount ? integer(m, run, i.operands[firstIndex + d], lane) : 0;
      if (index < 0 || index >= shape[d]) {
        fail(m, run, i, "index-out-of-range",
             "index " + std::to_string(index) + " is outside dimension " + std::to_string(d) + " of size " +
                 std::to_string(shape[d]) + (perLane ? " (thread " + std::to_string(lane) + ")" : ""));
        return false;
      }
      offset = offset * uint64_t(shape[d]) + uint64_t(index);
    }
    if (!body(lane, base + offset * bytes)) return false;
  }
  return true;
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
      return fail(m, run, i, "out-of-memory",
                  "a program's shared memory has no room for " + std::to_string(bytes) + " bytes more");
    address = a->begin;
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
  Accessor who(m, run, i);
  unsigned bytes = run.info(i.r).elemBytes;
  Result result(m, run, i.r);
  memset(result.data(), 0, registerBytes(run, i.r));
  bool ok = eachElement(m, run, i, 1, isLanes(run, i.r), [&](uint32_t lane, Address address) {
    who.lane = lane;
    return readMemory(who, address, result.data() + lane * bytes, bytes, bytes);
  });
  if (!ok) return Step::Failed;
  result.commit();
  return Step::Next;
}

Step smemStore(Machine& m, Run& run, const Prepared& i) {
  Accessor who(m, run, i);
  unsigned bytes = run.info(i.a).elemBytes;
  const uint8_t* values = data(m, run, i.b);
  bool valueLanes = isLanes(run, i.b);
  bool ok = eachElement(m, run, i, 2, anyLanes(run, i), [&](uint32_t lane, Address address) {
    who.lane = lane;
    return writeMemory(who, address, values + (valueLanes ? lane * bytes : 0), bytes, bytes);
  });
  return ok ? Step::Next : Step::Failed;
}

Step smemIndex(Machine& m, Run& run, const Prepared& i) {
  int64_t index = integer(m, run, i.b), size = (*run.info(i.a).shape)[0];
  if (index < 0 || index >= size)
    return fail(m, run, i, "index-out-of-range",
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

}  // namespace handlers
}  // namespace tandem::interpreter
