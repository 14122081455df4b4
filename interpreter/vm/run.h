// A run is one program instance as a state machine: registers, pc, lane masks, awaited signals. Switching to another
// one changes a pointer.
#pragma once
#include "interpreter/memory/arena.h"
#include "interpreter/vm/buffer_pool.h"
#include "interpreter/vm/lane_mask.h"
#include "interpreter/vm/prepared.h"
#include <cstring>
#include <map>

namespace tandem::interpreter {

struct Grid;
struct Collective;
struct Task;

union Slot {
  uint64_t bits;
  Buffer* buffer;
};

// A place in a wait list: `task` wakes when bytes of [address, address + bytes) change.
struct Waiter {
  std::multimap<Address, Waiter*>::iterator place;  // in the allocation's
  Allocation* allocation = nullptr;
  Address address = 0;
  uint32_t bytes = 0;
  Task* task = nullptr;
};

// A condition that a blocked task waits for, for waking and for the deadlock report.
struct AwaitedSignal {
  Address address = 0;
  uint32_t bytes = 8;
  Compare compare = Compare::Eq;
  uint64_t value = 0;
  bool isMbarrier = false;  // `value` is the parity of the phase that must complete
  bool valueUsed = false;   // the program uses the value that ended the wait
};

enum class Blocked : uint8_t { No, Signal, Spin, NamedBarrier, Barrier, Collective, Event, GridBarrier, Launch };

// Something the scheduler can pick: a program or a stream.
struct Task {
  static constexpr uint32_t kNotRunnable = ~0u;
  bool isStream = false;
  uint32_t runnableIndex = kNotRunnable;
  Blocked blocked = Blocked::No;
  std::vector<AwaitedSignal> awaited;
  std::deque<Waiter> waiters;
  size_t waiterCount = 0;
  Collective* collective = nullptr;  // the one it has arrived at
  int rank = 0;
  int64_t clockNs = 0;
  int64_t waitBeganNs = -1;
  mutable uint32_t observed = 0;  // the observer's number for it
  uint64_t lastTurn = 0;          // by the schedule's policy
  int64_t priority = 0;
};

// An open `if` or loop of per-thread code: the mask to go back to. An `if` in its first branch knows where its second
// begins.
struct MaskEntry {
  static constexpr uint32_t kNoElse = ~0u;
  LaneMask mask;
  uint32_t elsePc = kNoElse;
  uint32_t endPc = kNoElse;  // of its IfEnd or LoopEnd
  uint32_t id = 0;
  bool split = false;  // its threads are in several groups
  bool isLoop = false;
};

// Memory whose change may let a branch go on.
struct Watched {
  std::vector<std::pair<Address, uint32_t>> places;
  bool everything = false;
};

// Threads of one program that go in step, while another group is the current one.
struct ThreadGroup {
  // Ready to go on; waiting for memory; at the end of an `if`, or at an instruction, for threads of other groups.
  enum class State : uint8_t { Ready, Waits, AtEnd, Meets };
  State state = State::Ready;
  uint32_t pc = 0;
  LaneMask mask;
  std::vector<MaskEntry> maskStack;
  Watched watched;
  std::vector<AwaitedSignal> awaited;
  uint32_t awaitedRound = 0;
  uint64_t version = 0, privateVersion = 0;  // of memory, when it stopped
  uint32_t file = 0;                         // its registers
  Collective* collective = nullptr;          // the one it has arrived at
};

struct Run : Task {
  const PreparedProgram* prepared = nullptr;
  Grid* grid = nullptr;
  std::vector<Slot> slots;
  uint32_t pc = 0;
  uint32_t lanes = 1;
  LaneMask mask;
  std::vector<MaskEntry> maskStack;
  uint32_t lastIfId = 0;
  Watched watched;                  // words that the current group waits for when it stalls
  std::vector<ThreadGroup> parked;  // the other groups
  uint32_t file = 0, lastFile = 0;  // whose registers `slots` are; groups that are apart have their own
  std::map<uint32_t, std::vector<Slot>> files;
  // Named barriers: how many threads have arrived, of which warps, for how many in all, and how often all had.
  // `awaitedRound`: the current group's, when it waits.
  struct NamedBarrier {
    uint32_t arrived = 0, warps = 0, threads = 0, rounds = 0;
  };
  std::array<NamedBarrier, 16> named;
  static constexpr uint32_t kNoRound = ~0u;
  uint32_t awaitedRound = kNoRound;
  int slot = 0;
  uint32_t launch = 0;  // the number of the rank's launch
  int team = 0;         // that the launch runs on
  bool letsGo = false;  // the next launch, where that may start early
  std::array<int32_t, 3> id{0, 0, 0};
  std::array<int32_t, 3> grids{1, 1, 1};
  uint64_t runId = 0;  // unique in the world; pending puts name their issuer by it
  struct Puts {
    uint32_t fences = 0;
    // non-blocking ones since the last fence or quiet, and where the last one was called
    uint32_t unfinished = 0, location = 0;
    // when all so far, and those before the last fence, have arrived
    int64_t arrivedNs = 0, fencedNs = 0;
  };
  std::vector<Puts> puts;  // by peer
  // The last result of `symm_at` or `multicast_at` for an address outside this rank's symmetric buffers, by its
  // location.
  struct Stray {
    Address from = 0, result = 0;
  };
  std::map<uint32_t, Stray> strays;
  uint32_t pendingPuts = 0;
  // Strong stores that others do not see yet (late_stores.h), and the last look that went before one: how many have, and
  // the lines of both.
  struct LateStore {
    const Prepared* at = nullptr;
    uint32_t lane = 0, bytes = 0;
    Address address = 0;
    std::array<uint8_t, 8> value{};
    std::shared_ptr<void> observed;  // the observer's
    uint32_t steps = 0;              // of a chosen schedule: those that the program had done before
  };
  std::vector<LateStore> late;
  struct Passing {
    uint32_t looks = 0, store = kNoLocation, look = kNoLocation;
  } passing;
  uint64_t instructions = 0;
  int64_t computeBeganNs = 0;

  // Spin detection (spin.h), for each loop: since when memory has not changed, and the round that later ones are
  // compared with.
  struct Spin {
    uint64_t turn = 0, version = 0, privateVersion = 0;
    uint64_t rounds = 0, keepAt = 0, hash = 0, reads = 0;
    uint64_t sinceEntry = 0;  // rounds, whatever has changed
  };
  std::vector<Spin> spins;
  uint64_t groupTurn = 0;       // another number for each turn of a group of threads
  uint64_t privateVersion = 0;  // writes to shared memory that changed it, and reads of a clock
  static constexpr uint32_t kMaxReads = 8;
  std::array<std::pair<Address, uint32_t>, kMaxReads> reads;
  uint32_t readCount = 0;  // kMaxReads: too many to list
  // a number for the reads listed since they were last forgotten, and memory's then
  uint64_t readsKept = 0, readsVersion = 0;
  std::vector<std::pair<uint32_t, Address>> sharedBuffers;  // by the pc that allocated

  bool laneActive(uint32_t lane) const { return mask.has(lane); }
  uint32_t activeLanes() const { return mask.all ? lanes : mask.active; }
  uint32_t firstActiveLane() const {
    uint32_t lane = 0;
    while (lane < lanes && !laneActive(lane)) ++lane;
    return lane;
  }
  const RegisterInfo& info(Register r) const { return prepared->registers[r]; }
  size_t count(Register r) const {
    const RegisterInfo& i = info(r);
    return i.extent == Extent::Lanes ? size_t(lanes) * i.vectorLength : size_t(i.count);
  }
  void noteRead(Address address, uint64_t bytes) {
    if (readCount == kMaxReads) return;
    for (uint32_t k = 0; k < readCount; ++k)
      if (address >= reads[k].first && address + bytes <= reads[k].first + reads[k].second) return;
    if (readCount && reads[readCount - 1].first + reads[readCount - 1].second == address)
      reads[readCount - 1].second += uint32_t(bytes);
    else
      reads[readCount++] = {address, uint32_t(bytes)};
  }
  void forgetReads(uint64_t version) {
    readCount = 0;
    ++readsKept;
    readsVersion = version;
  }
};

}  // namespace tandem::interpreter
