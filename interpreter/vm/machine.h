// Every handler uses this state: registers, memory, reports, pending puts, teams. A world has one.
#pragma once
#include "interpreter/check/store_log.h"
#include "interpreter/random.h"
#include "interpreter/memory/observer.h"
#include "interpreter/vm/run.h"
#include "model/clock.h"
#include <algorithm>
#include <functional>
#include <unordered_set>

namespace tandem::interpreter {

struct BulkCopy;

// Bytes [begin, begin + bytes) of something.
struct ByteRange {
  uint64_t begin = 0, bytes = 0;
};

// A put or get not yet complete. Its data is read from the source at delivery unless captured.
struct PendingPut {
  Run* run = nullptr;  // its issuer while run->runId == runId: runs are recycled
  uint64_t runId = 0;
  int rank = 0, peer = 0;
  uint32_t launch = 0, number = 0;   // of the rank's launch, and of the program in its grid
  uint32_t epoch = 0;                // how many fences of its issuer to its peer came before it
  bool isGet = false, held = false;  // held: not before something forces it
  Address dest = 0, source = 0;
  uint64_t bytes = 0;
  std::vector<uint8_t> captured;
  std::vector<ByteRange> unwritten;  // those of `captured` that nothing had written
  bool hasCapture = false;
  Address signal = 0;
  uint64_t signalValue = 0;
  SignalKind signalKind{};
  bool hasSignal = false;
  std::array<int32_t, 3> id{};
  const Program* program = nullptr;
  uint32_t location = 0;
  int64_t arrivesNs = 0;
  std::shared_ptr<const void> observed;  // the observer's
  uint32_t observedActor = 0;
  uint32_t lane = kTileCode;       // the thread that called, as in MemoryAccess
  std::shared_ptr<BulkCopy> bulk;  // a program's own bulk copy, which neither fence nor quiet completes
};

// Copies that a program has started and not waited for: each thread's groups, and the times at which mbarriers complete.
struct BulkState {
  struct Groups {
    std::vector<uint32_t> committed;                      // by thread
    std::map<std::pair<uint32_t, uint32_t>, int64_t> ns;  // by thread and group: when its copies arrive
  };
  Groups stores, ofThreads;
  Groups& groups(CopyKind kind) { return kind == CopyKind::OfThread ? ofThreads : stores; }
  std::unordered_map<Address, int64_t> barrierNs;  // when the last copy of an mbarrier's phase arrived
};

// The programs of one launch at a grid-wide barrier.
struct GridMeeting {
  uint32_t arrived = 0, rounds = 0;
  int64_t timeNs = 0;
  std::vector<Task*> waiting;
};

// One meeting of a team's members: a barrier, or a collective with its copies done by the last to arrive.
struct Collective {
  struct Member {
    bool arrived = false, left = false;
    Address dest = 0, source = 0;
    uint64_t bytes = 0;
    int root = 0;
    std::string type;        // of its elements; empty: bytes
    bool ordersAll = false;  // a barrier, or a collective that is to be one
    const Task* task = nullptr;
    uint32_t location = 0;
    const Program* program = nullptr;
    std::array<int32_t, 3> id{-1, -1, -1};
  };
  std::vector<int> ranks;
  std::vector<Member> members;
  std::vector<Task*> waiting;
  size_t arrived = 0, left = 0;
  bool complete = false;
  Op op{};
  int64_t team = 0;  // whose state it uses: a rank's calls of one take turns
  int64_t timeNs = 0;

  size_t indexOf(int rank) const { return size_t(std::find(ranks.begin(), ranks.end(), rank) - ranks.begin()); }
  // Returns true if everything before any member's call happens-before everything after any member's.
  bool ordersAll() const {
    return std::all_of(members.begin(), members.end(), [](const Member& m) { return m.ordersAll; });
  }
};

// Host lines that queue work or access memory, as the locations of a program without code.
class HostPlaces {
 public:
  // kNoLocation for an empty file.
  uint32_t indexOf(const std::string& file, uint32_t line);
  const Program& program() const { return program_; }

 private:
  Program program_;
  std::map<std::pair<std::string, uint32_t>, uint32_t> known_;
};

struct Machine {
  explicit Machine(const WorldOptions& o);
  ~Machine();

  WorldOptions options;
  Arena arena;
  Random random, lateness;  // `lateness`: of stores (late_stores.h), so that other choices are the same without
  BufferPool pool;
  model::Clock clock;
  std::vector<Report> reports;
  bool failed = false;
  Trace trace;
  World::Counters counters;
  std::function<void(const std::string&)> printer;
  HostPlaces hostPlaces;
  std::function<std::optional<HostMemory>(Address)> findHostMemory;
  std::map<int, std::vector<Address>> foundHostMemory;  // mapped because a kernel named an address of it, by rank
  std::unique_ptr<AccessObserver> observer;
  std::unique_ptr<check::StoreLog> stores;
  std::unordered_map<int, std::vector<int>> teams;
  int nextTeam = 16;

  uint64_t version = 1;  // bumped by every write that changes memory
  std::vector<Task*> runnable;
  std::unordered_set<Task*> blockedTasks;
  std::vector<Task*> sleepers;  // spins that read too much to watch it all: any change wakes them
  std::vector<std::unique_ptr<PendingPut>> pending;
  size_t heldPuts = 0;
  // Non-blocking puts whose program ended without fence or quiet, by rank; a stream's barrier clears them.
  struct Unfinished {
    int rank = 0;
    std::array<int32_t, 3> id{};
    ProgramPtr program;
    uint32_t location = 0;
    uint32_t count = 0;
  };
  std::vector<Unfinished> unfinished;
  // Meetings by (team, on streams); each rank's k-th arrival belongs to meeting k.
  struct Meetings {
    std::deque<std::unique_ptr<Collective>> open;
    uint64_t firstOpen = 0;
    std::unordered_map<int, uint64_t> arrivals;  // by rank
  };
  std::unordered_map<int64_t, Meetings> meetings;
  std::unordered_map<uint64_t, BulkState> bulkStates;  // by runId
  std::unordered_map<const Grid*, GridMeeting> gridMeetings;

  bool* asksWait = nullptr;  // a wait only says here whether it holds

  // --- scheduling ---
  void makeRunnable(Task& t);
  void block(Task& t, Blocked why);  // takes it off the runnable list
  void wake(Task& t);
  void watch(Task& t, Address address, uint32_t bytes);
  void clearWaiters(Task& t);
  void wakeWaiters(Allocation& a, Address address, uint64_t bytes);

  // --- teams ---
  // Members in team order; null when there is no such team.
  const std::vector<int>* team(int id, int rank);

  std::vector<int> world_, alone_;
};

}  // namespace tandem::interpreter
