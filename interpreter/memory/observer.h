// The hook through which a checker sees every access and every synchronisation. None by default, at the cost of one
// test. It may report; it changes nothing else.
#pragma once
#include "interpreter/world.h"

namespace tandem::interpreter {

struct Run;
struct Stream;
struct PendingPut;
struct Collective;
struct AwaitedSignal;

// What brings a copy that a program's thread starts: a bulk load is counted by an mbarrier, the others belong to groups of the thread.
enum class CopyKind : uint8_t { BulkLoad, BulkStore, OfThread };

enum class AccessKind : uint8_t { Read, Write, Atomic };  // Atomic: read and written in one step

// The thread of a program that makes an access. Tile code counts as all threads together, in program order.
// kEachThread: every thread accesses for itself. kAllThreads: one access, ordered with each of them.
constexpr uint32_t kTileCode = 0xffff, kEachThread = 0xfffe, kAllThreads = 0xfffd;

struct MemoryAccess {
  // The actor: one of these, or none for the host of `rank`. A collective's copies are the collective's, on behalf of
  // `run`.
  const Run* run = nullptr;
  const Stream* stream = nullptr;
  const PendingPut* transfer = nullptr;
  const Collective* collective = nullptr;
  int rank = 0;  // who accesses, not where
  const Program* program = nullptr;
  uint32_t location = 0;
  uint32_t lane = kTileCode;
  uint32_t laneBytes = 0;     // not 0: consecutive threads from `lane` on, with this many bytes each
  uint32_t elementBytes = 0;  // of a vector; 0: a scalar
  AccessKind kind{};
  Semantic semantic = Semantic::Relaxed;
  Scope scope = Scope::Gpu;
  bool strong = false;       // an atomic, a signal, or a non-weak ld/st
  bool isSignal = false;     // a signal operation or a wait
  std::optional<Elem> type;  // an atomic's or a strong access's
  bool sets = false;         // a strong write that does not depend on the old value
  bool preserves = false;    // an atomic that leaves the value as it is
  bool changes = false;      // a write by each thread that leaves other bytes there
  bool again = false;        // a plain write to a place that another thread of the same operation has just written
  Address address = 0;
  uint64_t bytes = 0;
  const void* value = nullptr;  // the value of a plain write
  void* late = nullptr;         // a late store's: what `comesLate` gave
  bool isView = false;          // the host has NumPy's view of the bytes, to read or to write
};

class AccessObserver {
 public:
  virtual ~AccessObserver() = default;

  virtual void access(const MemoryAccess& access) = 0;
  // Called after a strong write: `now` is the value that is there now.
  virtual void wrote(const MemoryAccess& access, uint64_t old, uint64_t now) = 0;
  // The run has come to a store that others will see later. Returns what it is to be judged by then.
  virtual std::shared_ptr<void> comesLate(const Run& run) = 0;
  // The host of `rank` frees a symmetric buffer.
  virtual void freed(int rank, Address address, uint64_t bytes, const std::string& file, uint32_t line) = 0;
  // Lanes of one store have written other values to one address.
  virtual void lanesDiffer(const MemoryAccess& access) = 0;
  // The run's instruction divides integers by zero.
  virtual void dividesByZero(const Run& run) = 0;
  // Bytes begin a new life.
  virtual void forget(Address address, uint64_t bytes) = 0;

  // --- waits: one that compares true acquires; one that does not waits on ---
  virtual void waits(const MemoryAccess& access, const AwaitedSignal& signal, bool holds) = 0;

  // --- threads of a program ---
  virtual void threadBarrier(const Run& run) = 0;
  virtual void warpBarrier(const Run& run) = 0;
  virtual void namedBarrierArrives(const Run& run, int64_t id, bool completes) = 0;
  virtual void namedBarrierLeaves(const Run& run, int64_t id) = 0;
  // A call by a whole warp or block begins and ends with its barrier.
  virtual void groupMeets(const Run& run, Group group) = 0;
  virtual void threadFence(const Run& run, Semantic semantic, Scope scope) = 0;
  // Orders the threads' accesses before those of bulk copies: to shared memory, or to all memory.
  virtual void proxyFence(const Run& run, bool sharedOnly) = 0;

  // --- transfers ---
  virtual void transferIssued(const Run& run, PendingPut& put) = 0;
  // A thread has waited for its groups of the kind before `group`: for all of it, or until the sources have been read.
  virtual void groupsWaited(const Run& run, CopyKind kind, uint32_t lane, uint32_t group, bool read) = 0;
  virtual void fence(const Run& run, int peer) = 0;  // -1: all peers, also below
  virtual void quiet(const Run& run, int peer) = 0;

  // --- meetings of ranks, and of the programs of a launch ---
  virtual void arrives(const Run& run, const Collective& meeting) = 0;
  virtual void leaves(const Run& run, const Collective& meeting) = 0;
  // The accesses that follow copy from the source of member `from` to the dest of member `to`.
  virtual void copies(const Collective& meeting, size_t from, size_t to) = 0;
  virtual void arrives(const Stream& stream, const Collective& meeting) = 0;
  virtual void leaves(const Stream& stream, const Collective& meeting) = 0;
  virtual void forget(const Collective& meeting) = 0;
  virtual void gridBarrierArrives(const Run& run) = 0;
  virtual void gridBarrierLeaves(const Run& run) = 0;
  virtual void waitedFor(const Run& run, EventId event) = 0;

  // --- grids and streams ---
  virtual void gridStarts(const Stream& stream) = 0;
  virtual void gridEnds(const Stream& stream) = 0;
  virtual void programStarts(const Run& run, const Stream& stream) = 0;
  virtual void programEnds(const Run& run) = 0;
  virtual void enqueued(const Stream& stream) = 0;
  virtual void itemStarts(const Stream& stream) = 0;
  virtual void records(const Stream& stream, EventId event) = 0;
  virtual void waitedFor(const Stream& stream, EventId event) = 0;

  // --- hosts ---
  virtual void hostWaited(int rank, const Stream& stream) = 0;
  virtual void hostArrives(int rank, uint64_t meeting) = 0;  // at the meeting of this number
  virtual void hostLeaves(int rank, uint64_t meeting) = 0;
  virtual void ended() = 0;

  // --- for reports, when all has ended --- Why no wait need have come after the last update of a signal that somebody
  // has seen: that wait, and the update that is enough for it. Empty: one had to.
  virtual std::vector<Diagnostic> unacquired(Address signal) = 0;
  // The accesses that may have written the byte last.
  virtual std::vector<Diagnostic> writersOf(Address address) = 0;
};

}  // namespace tandem::interpreter
