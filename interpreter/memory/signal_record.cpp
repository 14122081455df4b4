// The simulator keeps a record of each word that is a signal.
#include "interpreter/kernels/elem_traits.h"
#include "interpreter/memory/access.h"
#include <algorithm>

namespace tandem::interpreter {

uint64_t wordAt(Machine& m, Address address, unsigned bytes) {
  uint64_t value = 0;
  memcpy(&value, m.arena.bytesAt(address), std::min(bytes, 8u));
  return value;
}

bool holds(Compare compare, uint64_t seen, uint64_t value, unsigned bytes) {
  int64_t s = bytes == 4 ? int32_t(seen) : int64_t(seen), v = bytes == 4 ? int32_t(value) : int64_t(value);
  return holds(compare, s, v);
}

void noteLook(Machine& m, Elem elem, Address address, unsigned bytes) {
  if (m.stores && !isFloat(elem) && byteSize(elem) >= 4) m.stores->looked(address - m.arena.base(), bytes);
}

SignalRecord* signalRecord(Machine& m, Address address) {
  Allocation* a = m.arena.find(address);
  if (!a) return nullptr;
  auto it = a->signals.find(address);
  return it == a->signals.end() ? nullptr : &it->second;
}

void noteAcquired(Machine& m, Address address) {
  if (SignalRecord* r = signalRecord(m, address)) r->acquired = true;
}

void recordWriter(Accessor& who, Address address, unsigned bytes) {
  Allocation* a = who.m.arena.find(address);
  if (!a || a->shared) return;
  SignalRecord& r = a->signals[address];
  r.written = true;
  r.acquired = false;
  r.bytes = uint8_t(bytes);
  r.rank = who.rank;
  r.id = who.id;
  r.program = who.program;
  r.location = who.location;
  r.value = 0;
  r.timeNs = std::max(who.timeNs, who.run ? who.run->clockNs : 0);
  memcpy(&r.value, a->bytesAt(address), bytes);
}

}  // namespace tandem::interpreter
