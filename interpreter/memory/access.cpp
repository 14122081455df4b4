// Checked reads and writes of the heaps.
#include "interpreter/memory/access.h"
#include "interpreter/dist/delivery.h"
#include "interpreter/memory/access_faults.h"
#include "interpreter/vm/fail.h"
#include "interpreter/vm/registers.h"
#include <algorithm>
#include <utility>

namespace tandem::interpreter {

Accessor::Accessor(Machine& machine, Run& r, const Prepared& i)
    : m(machine), run(&r), rank(r.rank), id(r.id), program(r.prepared->program.get()), location(i.location),
      lane(r.mask.all ? kTileCode : r.firstActiveLane()), timeNs(r.clockNs) {}

namespace {

// The allocation that holds the whole range, alive; null after a report. `address` becomes the rank's place of it.
inline Allocation* checked(Accessor& who, Address& address, uint64_t bytes, unsigned align, bool write) {
  address = heapAddress(who.m, who.rank, address);
  Allocation* a = who.m.arena.find(address);
  if (!a || address + bytes > a->end || address + bytes < address) {
    outOfBounds(who, address, bytes, write);
    return nullptr;
  }
  if (a->freed) {
    useAfterFree(who, *a, address, bytes, write);
    return nullptr;
  }
  if (a->shared && who.run && (a->rank != who.rank)) {
    failAccess(who, ReportKind::OutOfBounds, "access to the shared memory of another rank's program");
    return nullptr;
  }
  if (align > 1 && (address & (align - 1))) {
    failAccess(who, ReportKind::Misaligned,
               std::string(write ? "write" : "read") + " at byte offset " + std::to_string(address - a->begin) +
                   " of `" + a->name + "` on rank " + std::to_string(a->rank) + " is not aligned to " +
                   std::to_string(align) + " bytes",
               {allocationNote(*a)});
    return nullptr;
  }
  return a;
}

// A put under way that brings the byte may have arrived already: it does now, and whether the reader is ordered after
// it is the observer's to say. Without one the read finds nothing there.
bool arrivesNow(Accessor& who, Address byte) {
  if (!who.m.observer || who.transfer) return false;
  for (auto& put : who.m.pending) {
    bool isStep = put->hasSignal && who.m.options.chooser;
    if (isStep || !brings(*put, byte)) continue;
    return deliver(who.m, *put);
  }
  return false;
}

inline bool checkInitialised(Accessor& who, Allocation& a, Address address, uint64_t bytes) {
  if (a.initialised) return true;
  uint64_t first = who.m.arena.shadow().firstUnset(address, bytes);
  while (first != bytes && arrivesNow(who, address + first)) first = who.m.arena.shadow().firstUnset(address, bytes);
  if (first == bytes) return true;
  if (who.m.failed) return false;
  if (!who.copies) return uninitialised(who, a, address, bytes, first);
  const Shadow& shadow = who.m.arena.shadow();
  for (uint64_t at = first; at < bytes; at += shadow.firstUnset(address + at, bytes - at)) {
    uint64_t length = shadow.firstSet(address + at, bytes - at);
    who.unwritten.push_back({at, length});
    at += length;
  }
  return true;
}

// Bytes that nothing had written at the source of a copy count as unwritten at its destination too.
void leaveUnwritten(Accessor& who, Allocation& a, Address address, uint64_t bytes) {
  Shadow& shadow = who.m.arena.shadow();
  if (std::exchange(a.initialised, false)) shadow.set(a.begin, a.end - a.begin);
  for (auto [begin, length] : std::exchange(who.unwritten, {})) {
    if (begin >= bytes) continue;
    length = std::min(length, bytes - begin);
    shadow.unset(address + begin, length);
    a.unwrittenCopies[address + begin] = {address + begin + length, who.program, who.location};
  }
}

MemoryAccess accessOf(const Accessor& who, AccessKind kind, Address address, uint64_t bytes) {
  MemoryAccess access;
  access.run = who.run ? who.run : who.behalf;
  access.stream = who.stream;
  access.transfer = who.transfer;
  access.collective = who.collective;
  access.rank = who.rank;
  access.program = who.program;
  access.location = who.location;
  access.lane = who.lane;
  access.laneBytes = who.laneBytes;
  access.elementBytes = who.elementBytes;
  access.kind = kind;
  access.semantic = who.semantic;
  access.scope = who.scope;
  access.strong = who.synchronises;
  access.isSignal = who.isSignal;
  access.preserves = who.preserves;
  access.type = who.type;
  access.sets = who.synchronises && kind == AccessKind::Write;
  access.address = address;
  access.bytes = bytes;
  access.again = who.again;
  access.late = who.late;
  return access;
}

// Calls tell() for each thread that makes the access.
template <class Tell> void eachThread(const Accessor& who, MemoryAccess& access, Tell tell) {
  if (!who.threads) return tell();
  for (uint32_t lane = 0; lane < who.run->lanes; ++lane) {
    if (!who.threads->has(lane)) continue;
    access.lane = lane;
    tell();
    access.again = access.kind == AccessKind::Write;
  }
}

// Returns false when the observer has reported.
inline bool observe(Accessor& who, AccessKind kind, Address address, uint64_t bytes, const void* value = nullptr) {
  if (!who.m.observer) return true;
  MemoryAccess access = accessOf(who, kind, address, bytes);
  access.value = value;
  access.changes = who.lane == kEachThread && value && memcmp(who.m.arena.bytesAt(address), value, bytes) != 0;
  eachThread(who, access, [&] { who.m.observer->access(access); });
  return !who.m.failed;
}

inline uint64_t valueOf(const void* from, uint64_t bytes) {
  uint64_t value = 0;
  memcpy(&value, from, std::min<uint64_t>(bytes, 8));
  return value;
}

void logStore(Accessor& who, Address address, const void* value, uint64_t bytes) {
  check::StoreLog::Who by{who.rank, who.run->launch, who.id, who.lane};
  who.m.stores->add(by, who.program, who.location, address - who.m.arena.base(), value, bytes);
  if (who.synchronises && bytes <= 8)
    who.m.stores->storedWord(by, address - who.m.arena.base(), bytes, valueOf(value, bytes));
}

// Tells the observer the value after a strong write.
inline bool observeValue(Accessor& who, AccessKind kind, Address address, uint64_t bytes, uint64_t old) {
  if (!who.m.observer || !who.synchronises) return true;
  who.m.observer->wrote(accessOf(who, kind, address, bytes), old, valueOf(who.m.arena.bytesAt(address), bytes));
  return !who.m.failed;
}

inline void touched(Accessor& who, Allocation& a, Address address, uint64_t bytes, bool changed) {
  bool news = changed;
  a.written = true;
  if (!a.initialised) who.m.arena.shadow().set(address, bytes);
  if (a.viewed) who.m.arena.views().unset(address, bytes);
  if (!news) return;
  if (a.shared && who.run) ++who.run->privateVersion;
  noteChange(who.m, a, address, bytes);
}

// Writes to a peer come after the puts this program fenced before them (M9).
inline bool respectFence(Accessor& who, Address address) {
  return !who.run || !who.run->pendingPuts || deliverFenced(who.m, *who.run, who.m.arena.rankOf(address));
}

}  // namespace

Address heapAddress(Machine& m, int rank, Address address) {
  if (m.arena.holds(address) || address < 4096) return address;
  const Allocation* a = m.arena.mappingOf(rank, address);
  std::optional<HostMemory> found = a || !m.findHostMemory ? std::nullopt : m.findHostMemory(address);
  if (found && (a = m.arena.map(rank, *found))) m.foundHostMemory[rank].push_back(a->begin);
  return a ? address - a->shift : address;
}

void SameStores::next(Address address, const void* value, uint64_t bytes) {
  if (!who_.m.observer) return;
  address = heapAddress(who_.m, who_.rank, address);
  bool isThere = !stored_.insert(address).second;  // so there is memory
  who_.again = isThere && !who_.synchronises && memcmp(who_.m.arena.bytesAt(address), value, bytes) == 0;
}

void noteChange(Machine& m, Allocation& a, Address address, uint64_t bytes) {
  ++m.version;
  if (!a.waiters.empty()) m.wakeWaiters(a, address, bytes);
  for (Task* t : std::vector<Task*>(m.sleepers)) m.wake(*t);
}

bool checkMemory(Accessor& who, Address address, uint64_t bytes, unsigned align, bool write, bool mustBeInitialised) {
  if (bytes == 0) return true;
  Allocation* a = checked(who, address, bytes, align, write);
  return a && (!mustBeInitialised || checkInitialised(who, *a, address, bytes));
}

bool readMemory(Accessor& who, Address address, void* out, uint64_t bytes, unsigned align) {
  if (bytes == 0) return true;
  Allocation* a = checked(who, address, bytes, align, false);
  who.unwritten.clear();
  if (!a || !checkInitialised(who, *a, address, bytes)) return false;
  if (!observe(who, AccessKind::Read, address, bytes)) return false;
  memcpy(out, a->bytesAt(address), bytes);
  if (who.run) who.run->noteRead(address, bytes);
  if (a->holdsSignals && who.synchronises) noteAcquired(who.m, address);
  return true;
}

bool writeMemory(Accessor& who, Address address, const void* value, uint64_t bytes, unsigned align) {
  if (bytes == 0) return true;
  Allocation* a = checked(who, address, bytes, align, true);
  if (!a || !respectFence(who, address)) return false;
  if (!observe(who, AccessKind::Write, address, bytes, value)) return false;
  if (who.m.stores && who.run && !a->shared) logStore(who, address, value, bytes);
  void* to = a->bytesAt(address);
  uint64_t old = who.synchronises ? valueOf(to, bytes) : 0;
  bool changed = memcmp(to, value, bytes) != 0;
  if (changed) memmove(to, value, bytes);
  touched(who, *a, address, bytes, changed);
  if (!who.unwritten.empty()) leaveUnwritten(who, *a, address, bytes);
  if (a->holdsSignals && bytes <= 8) recordWriter(who, address, unsigned(bytes));
  return bytes > 8 || observeValue(who, AccessKind::Write, address, bytes, old);
}

bool updateMemory(Accessor& who, RmwOp op, Elem elem, Address address, const void* value, void* old) {
  unsigned bytes = byteSize(elem);
  Allocation* a = checked(who, address, bytes, bytes, true);
  if (!a || !checkInitialised(who, *a, address, bytes) || !respectFence(who, address)) return false;
  void* memory = a->bytesAt(address);
  alignas(8) uint8_t now[8];
  memcpy(now, memory, bytes);
  if (!applyRmw(op, elem, now, value, old))
    return failAccess(who, ReportKind::Unsupported, "this atomic update is not defined for its element type");
  bool changed = memcmp(now, old, bytes) != 0;
  who.preserves = !changed;
  who.type = elem;
  if (!observe(who, AccessKind::Atomic, address, bytes)) return false;
  memcpy(memory, now, bytes);
  touched(who, *a, address, bytes, changed);
  if (who.m.stores) who.m.stores->updated(address - who.m.arena.base(), bytes);
  if (who.run) who.run->noteRead(address, bytes);
  if (!a->shared && changed)
    recordWriter(who, address, bytes);
  else
    noteAcquired(who.m, address);
  return observeValue(who, AccessKind::Atomic, address, bytes, valueOf(old, bytes));
}

bool compareAndSwap(Accessor& who, Elem elem, Address address, const void* expected, const void* value, void* old) {
  unsigned bytes = byteSize(elem);
  Allocation* a = checked(who, address, bytes, bytes, true);
  if (!a || !checkInitialised(who, *a, address, bytes) || !respectFence(who, address)) return false;
  void* memory = a->bytesAt(address);
  memcpy(old, memory, bytes);
  if (who.run) who.run->noteRead(address, bytes);
  if (who.m.stores) who.m.stores->updated(address - who.m.arena.base(), bytes);
  bool swaps = memcmp(old, expected, bytes) == 0;
  who.preserves = memcmp(old, value, bytes) == 0;
  who.type = elem;
  if (!observe(who, swaps ? AccessKind::Atomic : AccessKind::Read, address, bytes)) return false;
  if (!swaps) {
    if (a->holdsSignals) noteAcquired(who.m, address);
    return true;
  }
  memcpy(memory, value, bytes);
  touched(who, *a, address, bytes, memcmp(memory, old, bytes) != 0);
  if (!a->shared) recordWriter(who, address, bytes);
  return observeValue(who, AccessKind::Atomic, address, bytes, valueOf(old, bytes));
}

void observeWait(Accessor& who, const AwaitedSignal& signal, bool holds) {
  if (!who.m.observer) return;
  MemoryAccess access = accessOf(who, AccessKind::Read, signal.address, signal.bytes);
  eachThread(who, access, [&] { who.m.observer->waits(access, signal, holds); });
}

static void markSignal(Allocation& a, Address address, unsigned bytes) {
  a.holdsSignals = true;
  SignalRecord& r = a.signals[address];
  if (!r.isSignal) {
    r.isSignal = true;
    r.bytes = uint8_t(bytes);
  }
}

bool writeSignal(Accessor& who, Address address, SignalKind kind, uint64_t value, unsigned bytes) {
  Allocation* a = checked(who, address, bytes, bytes, true);
  if (!a || !respectFence(who, address)) return false;
  who.synchronises = who.isSignal = true;
  who.type = bytes == 4 ? Elem::I32 : Elem::I64;
  AccessKind as = kind == SignalKind::Add ? AccessKind::Atomic : AccessKind::Write;
  if (!observe(who, as, address, bytes)) return false;
  uint64_t old = valueOf(a->bytesAt(address), bytes);
  uint64_t now = truncated(kind == SignalKind::Add ? old + value : value, bytes);
  memcpy(a->bytesAt(address), &now, bytes);
  touched(who, *a, address, bytes, now != old);
  markSignal(*a, address, bytes);
  recordWriter(who, address, bytes);
  return observeValue(who, as, address, bytes, old);
}

bool readSignal(Accessor& who, Address address, unsigned bytes, uint64_t* value) {
  Allocation* a = checked(who, address, bytes, bytes, false);
  if (!a) return false;
  who.synchronises = who.isSignal = true;
  who.type = bytes == 4 ? Elem::I32 : Elem::I64;
  if (!observe(who, AccessKind::Read, address, bytes)) return false;
  noteLook(who.m, Elem::I64, address, bytes);
  *value = 0;
  memcpy(value, a->bytesAt(address), bytes);
  markSignal(*a, address, bytes);
  if (who.run) who.run->noteRead(address, bytes);
  return true;
}

}  // namespace tandem::interpreter
