// The state of an mbarrier: the 64 bits that are in shared memory. Source: PTX ISA, "mbarrier".
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>

namespace tandem::emulator {

// Thrown by operations on memory that holds no mbarrier, and by counts out of their range.
class MbarrierError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Mbarrier {
 public:
  static constexpr int64_t kMaxCount = (1 << 20) - 1;

  explicit Mbarrier(uint64_t bits) : bits_(bits) {}
  uint64_t bits() const { return bits_; }
  static Mbarrier make(int64_t count);  // arrivals of each phase

  // 0 or 1; the phase that goes on.
  unsigned phase() const { return unsigned(field(kPhase, 1)); }
  int64_t pending() const { return int64_t(field(kPending, kCountBits)); }
  int64_t expected() const { return int64_t(field(kExpected, kCountBits)); }
  int64_t transactions() const { return int64_t(field(kTransactions, kTransactionBits)) - kMaxCount; }

  // Each returns the state before, which is the token of the phase that the operation was part of.
  uint64_t arrive(int64_t count);
  uint64_t drop(int64_t count);  // arrives, and is not expected in later phases
  uint64_t expect(int64_t bytes) { return add(bytes); }
  uint64_t complete(int64_t bytes) { return add(-bytes); }
  void expectMore(int64_t count);  // one phase's pending arrivals grow

  // True if the phase of that parity is complete.
  bool isComplete(unsigned parity) const { return check(), phase() != (parity & 1); }
  bool isComplete(const Mbarrier& token) const { return check(), phase() != token.phase(); }

 private:
  // From bit 0: the phase, counts of arrivals that are pending and expected, bytes, and a mark that memory nobody made
  // an mbarrier hardly has.
  static constexpr unsigned kCountBits = 20, kTransactionBits = 21;
  static constexpr unsigned kPhase = 0, kPending = 1, kExpected = kPending + kCountBits,
                            kTransactions = kExpected + kCountBits, kMark = kTransactions + kTransactionBits;
  static constexpr uint64_t kMarkValue = 1;

  uint64_t field(unsigned at, unsigned bits) const { return bits_ >> at & ((uint64_t(1) << bits) - 1); }
  void setField(unsigned at, unsigned bits, uint64_t value);
  void check() const;
  uint64_t add(int64_t bytes);
  void endPhaseIfComplete();

  uint64_t bits_;
};

}  // namespace tandem::emulator
