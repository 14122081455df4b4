// The one gate to simulated memory: bounds, alignment, lifetime, initialised bytes, waking of waiters, the observer.
#pragma once
#include "interpreter/vm/machine.h"
#include <unordered_set>

namespace tandem::interpreter {

// The actor of an access, for checks and reports. `run` is null for streams and late puts, whose names are in the other
// fields.
struct Accessor {
  Machine& m;
  Run* run = nullptr;
  // The actor if there is no run; a collective's copies are made for `behalf`.
  const Stream* stream = nullptr;
  const PendingPut* transfer = nullptr;
  const Collective* collective = nullptr;
  const Run* behalf = nullptr;  // a collective's: of whom
  int rank = 0;
  std::array<int32_t, 3> id{-1, -1, -1};
  const Program* program = nullptr;
  uint32_t location = 0;
  std::string what;  // a stream's operation, for its reports
  Semantic semantic = Semantic::Relaxed;
  Scope scope = Scope::Gpu;
  bool synchronises = false;  // an atomic, a signal, or a non-weak ld/st
  bool isSignal = false;
  bool preserves = false;                                      // as in MemoryAccess
  std::optional<Elem> type;                                    // as in MemoryAccess
  uint32_t lane = kTileCode, laneBytes = 0, elementBytes = 0;  // as in MemoryAccess
  // not null: each of these makes the access, which is plain or a read, not `lane`
  const LaneMask* threads = nullptr;
  bool again = false;    // as in MemoryAccess
  void* late = nullptr;  // as in MemoryAccess
  // A copy carries unwritten bytes along: a read notes which of its bytes nothing has written, and the next write
  // leaves them unwritten.
  bool copies = false;
  std::vector<ByteRange> unwritten;
  int64_t timeNs = 0;

  Accessor(Machine& machine, Run& r, const Prepared& i);
  explicit Accessor(Machine& machine) : m(machine) {}
};

// Goes through the stores of one operation's threads in turn, and marks those that store again at an earlier one's
// place.
class SameStores {
 public:
  explicit SameStores(Accessor& who) : who_(who) {}
  void next(Address address, const void* value, uint64_t bytes);

 private:
  Accessor& who_;
  std::unordered_set<Address> stored_;
};

// The rank's place for an address of the host's memory; other addresses as they are.
Address heapAddress(Machine& m, int rank, Address address);

// Each says false after having reported. `align` is in bytes.
bool readMemory(Accessor& who, Address address, void* out, uint64_t bytes, unsigned align);
bool writeMemory(Accessor& who, Address address, const void* value, uint64_t bytes, unsigned align);
bool updateMemory(Accessor& who, RmwOp op, Elem elem, Address address, const void* value, void* old);
bool compareAndSwap(Accessor& who, Elem elem, Address address, const void* expected, const void* value, void* old);
// Checks without access: for puts, whose source is read later.
bool checkMemory(Accessor& who, Address address, uint64_t bytes, unsigned align, bool write, bool mustBeInitialised);

// Notes that bytes have changed, so that tasks that wait for that look again.
void noteChange(Machine& m, Allocation& a, Address address, uint64_t bytes);

// Signals: 4 or 8 bytes, aligned; remembers who wrote.
bool writeSignal(Accessor& who, Address address, SignalKind kind, uint64_t value, unsigned bytes);
// Reads a signal to compare it; marks the address as a signal. A signal nobody wrote reads as it lies in memory.
bool readSignal(Accessor& who, Address address, unsigned bytes, uint64_t* value);
// Tells the observer the value that a wait saw.
void observeWait(Accessor& who, const AwaitedSignal& signal, bool holds);
// Returns the word of 4 or 8 bytes at the address.
uint64_t wordAt(Machine& m, Address address, unsigned bytes);
bool holds(Compare compare, uint64_t seen, uint64_t value, unsigned bytes);
// Notes a word by which threads synchronise, for comparing runs.
void noteLook(Machine& m, Elem elem, Address address, unsigned bytes);
// The record of a signal, or null.
SignalRecord* signalRecord(Machine& m, Address address);
// A wait or a strong read has seen the signal's last update: it is at rest (M15).
void noteAcquired(Machine& m, Address address);
// Remembers who wrote a scalar that a wait may name later.
void recordWriter(Accessor& who, Address address, unsigned bytes);

}  // namespace tandem::interpreter
