// The operations on mbarriers. A wait suspends its branch until the 8 bytes change.
#include "interpreter/simt/mbarrier.h"
#include "interpreter/dist/team.h"
#include "interpreter/vm/branches.h"
#include "interpreter/vm/charge.h"
#include "interpreter/vm/handlers.h"
#include <algorithm>

namespace tandem::interpreter {

Mbarrier Mbarrier::unpack(uint64_t bits) {
  Mbarrier b;
  b.valid = bits >> 63;
  b.parity = bits & 1;
  b.count = uint32_t(bits >> 1) & kMaxCount;
  b.pending = uint32_t(bits >> 21) & kMaxCount;
  b.bytes = int32_t(uint32_t(bits >> 41) & 0x1fffff) - int32_t(kMaxCount);
  return b;
}

uint64_t Mbarrier::pack() const {
  uint64_t shifted = uint64_t(bytes + int32_t(kMaxCount));
  return uint64_t(valid) << 63 | shifted << 41 | uint64_t(pending) << 21 | uint64_t(count) << 1 | parity;
}

namespace {

bool misuse(Accessor& who, std::string message) {
  return failAccess(who, ReportKind::MbarrierMisuse, std::move(message));
}

// The mbarrier at an address of shared memory; says false after a report.
bool readMbarrier(Accessor& who, Address address, Mbarrier& out) {
  if (!checkMemory(who, address, 8, 8, true, true)) return false;
  if (!who.m.arena.isShared(address))
    return misuse(who, "an mbarrier lies in shared memory, not at " + addressText(who.m, address, 8));
  uint64_t bits;
  memcpy(&bits, reinterpret_cast<const void*>(address), 8);
  out = Mbarrier::unpack(bits);
  return out.valid || misuse(who, addressText(who.m, address, 8) + " is no initialised mbarrier");
}

bool writeMbarrier(Accessor& who, Address address, Mbarrier& b) {
  if (b.pending == 0 && b.bytes == 0) {
    b.parity ^= 1;
    b.pending = b.count;
  }
  who.semantic = Semantic::AcqRel;
  who.scope = Scope::Cta;
  who.synchronises = true;
  uint64_t now = b.pack(), old;
  return updateMemory(who, RmwOp::Xchg, Elem::I64, address, &now, &old);
}

bool expectBytes(Accessor& who, Mbarrier& b, int64_t bytes) {
  int64_t sum = b.bytes + bytes;
  if (bytes < 0 && sum >= -int64_t(Mbarrier::kMaxCount)) return b.bytes = int32_t(sum), true;
  if (bytes >= 0 && sum <= int64_t(Mbarrier::kMaxCount)) return b.bytes = int32_t(sum), true;
  return misuse(who, "an mbarrier cannot have " + std::to_string(sum) + " bytes outstanding; it counts to " +
                         std::to_string(Mbarrier::kMaxCount));
}

bool arrive(Accessor& who, Mbarrier& b) {
  if (b.pending == 0)
    return misuse(who, "more than " + std::to_string(b.count) + " arrivals in one phase of an mbarrier; " +
                           std::to_string(b.bytes) + " bytes are outstanding");
  --b.pending;
  return true;
}

// Returns true if the phase of that parity is complete for an awake thread; `ok` is false after a report.
bool phaseComplete(Accessor& who, Address barrier, uint64_t parity, bool& ok) {
  Mbarrier b;
  who.semantic = Semantic::Acquire;
  who.scope = Scope::Cta;
  who.synchronises = true;
  uint64_t bits;
  ok = readMbarrier(who, barrier, b) && readMemory(who, barrier, &bits, 8, 8);
  return ok && b.parity != (parity & 1);
}

}  // namespace

bool checkMbarrier(Accessor& who, Address barrier) {
  Mbarrier b;
  return readMbarrier(who, barrier, b);
}

bool completeBytes(Accessor& who, Address barrier, uint64_t bytes) {
  Mbarrier b;
  return readMbarrier(who, barrier, b) && expectBytes(who, b, -int64_t(bytes)) && writeMbarrier(who, barrier, b);
}

std::string mbarrierText(Machine&, const AwaitedSignal& awaited, const std::string& place) {
  uint64_t bits;
  memcpy(&bits, reinterpret_cast<const void*>(awaited.address), 8);
  Mbarrier b = Mbarrier::unpack(bits);
  return "expects phase " + std::to_string(awaited.value) + " of the mbarrier at " + place + " to complete; " +
         std::to_string(b.pending) + " of " + std::to_string(b.count) + " arrivals and " + std::to_string(b.bytes) +
         " bytes are outstanding";
}

namespace handlers {

Step mbarrierInit(Machine& m, Run& run, const Prepared& i) {
  bool ok = eachCaller(m, run, i, Group::Thread, false, "`mbarrier_init`", [&](uint32_t lane) {
    Accessor who(m, run, i);
    who.lane = observedThread(run, i, Group::Thread, lane);
    Address address = rawInteger(m, run, i.a, lane);
    int64_t count = integer(m, run, i.b, lane);
    if (count < 1 || count > int64_t(Mbarrier::kMaxCount))
      return misuse(who, "an mbarrier of " + std::to_string(count) + " arrivals; it takes 1 to " +
                             std::to_string(Mbarrier::kMaxCount));
    uint64_t bits = Mbarrier{true, 0, uint32_t(count), uint32_t(count), 0}.pack();
    if (!writeMemory(who, address, &bits, 8, 8)) return false;
    return m.arena.isShared(address) ||
           misuse(who, "an mbarrier lies in shared memory, not at " + addressText(m, address, 8));
  });
  return ok ? Step::Next : Step::Failed;
}

Step mbarrierArrive(Machine& m, Run& run, const Prepared& i) {
  bool arrives = i.as<imm::MbarrierArrive>().arrives != 0;
  bool ok = eachCaller(m, run, i, Group::Thread, true, "`mbarrier_arrive`", [&](uint32_t lane) {
    Accessor who(m, run, i);
    who.lane = run.prepared->program->perThread ? lane : kTileCode;  // each arrival is one thread's
    Address address = rawInteger(m, run, i.a, lane);
    int64_t bytes = i.b == kNone ? 0 : integer(m, run, i.b, lane);
    Mbarrier b;
    if (!readMbarrier(who, address, b)) return false;
    if (bytes < 0) return misuse(who, "an mbarrier cannot expect " + std::to_string(bytes) + " bytes");
    return expectBytes(who, b, bytes) && (!arrives || arrive(who, b)) && writeMbarrier(who, address, b);
  });
  return ok ? Step::Next : Step::Failed;
}

Step mbarrierTryWait(Machine& m, Run& run, const Prepared& i) {
  Result result(m, run, i.r);
  memset(result.data(), 0, registerBytes(run, i.r));
  bool ok = eachCaller(m, run, i, Group::Thread, false, "`mbarrier_try_wait`", [&](uint32_t lane) {
    Accessor who(m, run, i);
    who.lane = observedThread(run, i, Group::Thread, lane);
    if (!run.mask.all && !differs(run, i)) who.threads = &run.mask;
    bool fine;
    bool complete = phaseComplete(who, rawInteger(m, run, i.a, lane), rawInteger(m, run, i.b, lane), fine);
    result.data()[isLanes(run, i.r) ? lane : 0] = complete;
    return fine;
  });
  if (!ok) return Step::Failed;
  result.commit();
  return Step::Next;
}

Step mbarrierWait(Machine& m, Run& run, const Prepared& i) {
  std::vector<AwaitedSignal> open;
  int64_t readyNs = run.clockNs;
  bool ok = eachCaller(m, run, i, Group::Thread, false, "`mbarrier_wait`", [&](uint32_t lane) {
    Accessor who(m, run, i);
    who.lane = observedThread(run, i, Group::Thread, lane);
    if (!run.mask.all && !differs(run, i)) who.threads = &run.mask;
    AwaitedSignal w{rawInteger(m, run, i.a, lane), 8, Compare::Ne, rawInteger(m, run, i.b, lane) & 1, true};
    bool fine;
    if (phaseComplete(who, w.address, w.value, fine)) {
      auto& times = m.bulkStates[run.runId].barrierNs;
      if (auto it = times.find(w.address); it != times.end()) readyNs = std::max(readyNs, it->second);
    } else if (open.empty() || open.back().address != w.address) {
      open.push_back(w);
    }
    return fine;
  });
  if (!ok) return Step::Failed;
  if (open.empty()) {
    ++m.counters.waits;
    if (readyNs > run.clockNs || run.waitBeganNs >= 0)
      span(m, run, SpanKind::Wait, run.clockNs, readyNs, "mbarrier", i.location);
    run.clockNs = readyNs;
    run.waitBeganNs = -1;
    run.awaited.clear();
    return Step::Next;
  }
  run.waitBeganNs = run.clockNs;
  run.watched = Watched{};
  for (const AwaitedSignal& w : open) run.watched.places.push_back({w.address, 8});
  run.awaited = std::move(open);
  return stall(m, run, Blocked::Signal, Step::Blocked);
}

Step mbarrierInvalidate(Machine& m, Run& run, const Prepared& i) {
  bool ok = eachCaller(m, run, i, Group::Thread, false, "`mbarrier_invalidate`", [&](uint32_t lane) {
    Accessor who(m, run, i);
    who.lane = observedThread(run, i, Group::Thread, lane);
    Address address = rawInteger(m, run, i.a, lane);
    uint64_t none = 0;
    return checkMbarrier(who, address) && writeMemory(who, address, &none, 8, 8);
  });
  return ok ? Step::Next : Step::Failed;
}

}  // namespace handlers
}  // namespace tandem::interpreter
