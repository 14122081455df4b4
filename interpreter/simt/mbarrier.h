// Mbarriers: 8 bytes of shared memory that count arrivals and bytes of bulk copies, phase by phase.
#pragma once
#include "interpreter/memory/access.h"

namespace tandem::interpreter {

// The fields of an mbarrier's 8 bytes. A phase is complete when neither arrivals nor bytes are outstanding; then the
// next begins.
struct Mbarrier {
  static constexpr uint32_t kMaxCount = (1u << 20) - 1;

  bool valid = false;
  uint32_t parity = 0;   // of the phase under way
  uint32_t count = 0;    // arrivals a phase
  uint32_t pending = 0;  // arrivals outstanding
  int32_t bytes = 0;     // bytes outstanding; below zero when they came before they were expected

  static Mbarrier unpack(uint64_t bits);
  uint64_t pack() const;
};

// Returns true if the address is that of an mbarrier; false after a report.
bool checkMbarrier(Accessor& who, Address barrier);
// A bulk copy has brought `bytes`.
bool completeBytes(Accessor& who, Address barrier, uint64_t bytes);
// Says what a waiter that is stuck expects and sees.
std::string mbarrierText(Machine& m, const AwaitedSignal& awaited, const std::string& place);

}  // namespace tandem::interpreter
