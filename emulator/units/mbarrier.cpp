#include "emulator/units/mbarrier.h"

namespace tandem::emulator {

void Mbarrier::setField(unsigned at, unsigned bits, uint64_t value) {
  uint64_t mask = ((uint64_t(1) << bits) - 1) << at;
  bits_ = (bits_ & ~mask) | (value << at & mask);
}

Mbarrier Mbarrier::make(int64_t count) {
  if (count < 1 || count > kMaxCount)
    throw MbarrierError("an mbarrier of " + std::to_string(count) + " arrivals; there can be 1 to 1048575");
  Mbarrier made(kMarkValue << kMark);
  made.setField(kPending, kCountBits, uint64_t(count));
  made.setField(kExpected, kCountBits, uint64_t(count));
  made.setField(kTransactions, kTransactionBits, uint64_t(kMaxCount));
  return made;
}

void Mbarrier::check() const {
  if (bits_ >> kMark != kMarkValue)
    throw MbarrierError("there is no mbarrier here: nobody made one, or it was written over");
}

uint64_t Mbarrier::arrive(int64_t count) {
  check();
  uint64_t before = bits_;
  if (count < 1 || count > pending())
    throw MbarrierError(std::to_string(count) + " arrivals at an mbarrier that waits for " + std::to_string(pending()));
  setField(kPending, kCountBits, uint64_t(pending() - count));
  endPhaseIfComplete();
  return before;
}

uint64_t Mbarrier::drop(int64_t count) {
  check();
  setField(kExpected, kCountBits, uint64_t(expected() - count));
  return arrive(count);
}

void Mbarrier::expectMore(int64_t count) {
  check();
  if (pending() + count > kMaxCount) throw MbarrierError("an mbarrier waits for more than 1048575 arrivals");
  setField(kPending, kCountBits, uint64_t(pending() + count));
}

uint64_t Mbarrier::add(int64_t bytes) {
  check();
  uint64_t before = bits_;
  int64_t now = transactions() + bytes;
  if (now < -kMaxCount || now > kMaxCount)
    throw MbarrierError("an mbarrier waits for " + std::to_string(now) + " bytes; there can be 1048575");
  setField(kTransactions, kTransactionBits, uint64_t(now + kMaxCount));
  endPhaseIfComplete();
  return before;
}

void Mbarrier::endPhaseIfComplete() {
  if (pending() != 0 || transactions() != 0) return;
  setField(kPhase, 1, phase() ^ 1);
  setField(kPending, kCountBits, uint64_t(expected()));
}

}  // namespace tandem::emulator
