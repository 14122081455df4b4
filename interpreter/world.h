// N simulated ranks in one process: their memory, streams and kernels, and the scheduler that runs them.
// Everything is single-threaded and decided by the seed. Host threads (one a rank) live in the runtime, not here.
#pragma once
#include "interpreter/program.h"
#include "interpreter/report.h"
#include "interpreter/trace.h"
#include "model/machine.h"
#include <functional>
#include <memory>
#include <optional>

namespace tandem::interpreter {

class Chooser;

using Address = uint64_t;
using StreamId = uint32_t;  // 0 is the rank's default stream
using EventId = uint64_t;

// The policy decides which runnable program or stream goes on: any; the one that waited longest; that of the highest
// random priority; any, but those of one rank only when the others cannot.
enum class SchedulePolicy : uint8_t { Random, RoundRobin, Priority, SlowestRank };

struct WorldOptions {
  int rankCount = 1;
  uint64_t seed = 0;
  // programs of a rank that are resident at once; others start as slots free up
  int slotsPerRank = 132;
  uint64_t heapBytesPerRank = 1ull << 36;  // address space, not memory
  bool trace = false;
  bool check = false;  // look for races and misused signals
  // of words that synchronise, by the check; a wait that may need older ones is reported
  uint64_t updatesKept = 1ull << 22;
  bool scope = true;         // check: also for scopes that are too narrow only to the letter
  bool portability = false;  // check: also for code that is right here and not everywhere
  SchedulePolicy policy = SchedulePolicy::Random;
  bool logStores = false;  // for firstDifference
  // instructions, turns and waits of hosts until the run ends with a report; 0: none
  uint64_t maxSteps = 0;
  double maxSeconds = 0;                                    // from the construction of the World on, likewise
  model::Machine machine = model::namedMachine("nominal");  // by which time is modelled
  std::shared_ptr<Chooser> chooser = nullptr;  // decides instead of seed and policy; programs start in the grid's order
};

struct LaunchArgument {
  uint64_t bits = 0;  // the value as it lies in memory (an address for pointers)
};

struct Launch {
  ProgramPtr program;
  std::array<int32_t, 3> grid{1, 1, 1};
  int numWarps = 4;
  std::vector<LaunchArgument> arguments;
  bool cooperative = false;  // has a workspace of its own, as CUDA gives one (%envreg1, %envreg2)
  bool dependent = false;    // may start before the stream's last launch ends, when all programs of that let it
  int team = 0;              // whose ranks are all that the kernel knows, by their numbers there
  // the host's line that called it, for reports; may be empty
  std::string hostFile;
  uint32_t hostLine = 0;
};

// View: an array over the bytes, which the host may read or write, so that all of them count as written. Use: a read
// through it.
enum class HostAccess : uint8_t { Read, Write, View, Use };

// Memory of the host that kernels read and write where it lies.
struct HostMemory {
  Address begin = 0;
  uint64_t bytes = 0;
  std::string name;
  std::shared_ptr<void> owner = nullptr;  // keeps it alive while it is mapped; null: the caller does
};

enum class MemoryKind : uint8_t { Local, Symmetric };

class World {
 public:
  explicit World(const WorldOptions& options);
  ~World();
  World(const World&) = delete;

  const WorldOptions& options() const;

  // --- memory ---
  // Addresses are real addresses of this process, except for memory mapped by mapHost: rank r's heap is at
  // heapBase() + r * heapStride().

  // The k-th symmetric allocation of a team has the same offset on every member: for MemoryKind::Symmetric the call is
  // collective. Kernels that run on the team name its members' addresses, and no others do.
  // Reports asymmetric-allocation when sizes differ. Reading bytes that nothing wrote is reported unless `initialised`.
  // A buffer without a name has a number in reports. Red zones lie around each allocation. Returns 0 and reports
  // out-of-memory when the heap is full.
  Address allocate(int rank, uint64_t bytes, MemoryKind kind, bool initialised, const std::string& name,
                   const std::string& hostFile = "", uint32_t hostLine = 0, int team = 0);
  // Reports double-free / invalid-free. The range stays quarantined, so later use is reported as use-after-free.
  void release(int rank, Address address, const std::string& hostFile = "", uint32_t hostLine = 0);
  // Memory of the host as local memory of the rank: kernels read and write it where it lies. An address of the host
  // that a kernel makes a pointer of means this place too. `release` ends one mapping.
  Address mapHost(int rank, const HostMemory& memory, const std::string& hostFile = "", uint32_t hostLine = 0);
  // Sets the function that finds the host's memory around an address that is in no buffer. That memory is mapped until
  // the rank's host has waited for all streams.
  void setHostFinder(std::function<std::optional<HostMemory>(Address)> finder);
  void markInitialised(Address address, uint64_t bytes);
  // Sets the host line that queues or accesses from here on, for reports.
  void setHostPlace(int rank, const std::string& file, uint32_t line);
  uint32_t hostPlace(int rank) const;  // that line's number
  // Reports calls of two hosts that do not fit together, at these ranks' lines, by number. Ends the run.
  void reportMismatch(std::pair<int, uint32_t> here, std::pair<int, uint32_t> there, const std::string& message);
  // Returns true if something has written all of the bytes; that the host could have does not count.
  bool isWritten(Address address, uint64_t bytes) const;
  // The host of `rank` reads or writes memory.
  void hostAccess(int rank, Address address, uint64_t bytes, HostAccess how);
  // The host of `rank` has waited until these are idle; has come to its next meeting with the hosts of the team's other
  // ranks, of which a symmetric allocation is one; has gone on from there.
  void hostWaited(int rank);
  void hostWaited(int rank, StreamId stream);
  void hostArrives(int rank, int team);
  void hostLeaves(int rank, int team);
  // Marks a buffer as holding signals, so that non-zero values at exit are reported. Signal operations mark on their
  // own.
  Address heapBase() const;
  uint64_t heapStride() const;
  // isSymmetric() returns true if the address lies in `rank`'s symmetric memory; nameAt() describes the place of an
  // address in words.
  bool isSymmetric(int rank, Address address) const;
  // The team of a symmetric buffer; -1: the address is in none.
  int teamAt(Address address) const;
  const std::vector<int>& membersOf(int team) const;
  std::string nameAt(Address address) const;

  // --- teams: 0 is the world; others are made by the runtime; members in team order ---
  int createTeam(const std::vector<int>& members);

  // --- streams: work on one stream runs in order; different streams overlap ---
  StreamId createStream(int rank);
  void launch(int rank, StreamId stream, Launch launch);
  void copyAsync(int rank, StreamId stream, Address dest, Address source, uint64_t bytes);  // copy engine
  void copyRowsAsync(int rank, StreamId stream, Address dest, uint64_t destPitch, Address source, uint64_t sourcePitch,
                     uint64_t bytes, uint64_t rows);
  void setAsync(int rank, StreamId stream, Address dest, uint8_t value, uint64_t bytes);
  // Host memory must live until the stream gets there.
  void copyFromHostAsync(int rank, StreamId stream, Address dest, const void* source, uint64_t bytes);
  void copyToHostAsync(int rank, StreamId stream, void* dest, Address source, uint64_t bytes);
  // `count` consecutive signals.
  void signalWriteAsync(int rank, StreamId stream, Address signal, uint64_t value, int bytes, SignalKind kind,
                        uint64_t count = 1);
  void signalWaitAsync(int rank, StreamId stream, Address signal, Compare compare, uint64_t value, int bytes,
                       uint64_t count = 1);
  // Joins all ranks of the team on their streams (a stream-ordered barrier that also quiets).
  void barrierAsync(int rank, StreamId stream, int team);
  EventId recordEvent(int rank, StreamId stream);
  void waitEvent(int rank, StreamId stream, EventId event);
  // Runs when the stream gets there.
  void callbackAsync(int rank, StreamId stream, std::function<void()> callback);
  bool idle(int rank, StreamId stream) const;
  bool idle(int rank) const;

  // --- progress --- Runs device work until `done()` (checked first and whenever a stream has become idle), an error
  // report, or nothing can run. Limit: more steps or seconds than the options allow.
  enum class Stop : uint8_t { Done, Error, Stuck, Interrupted, Limit };
  Stop run(const std::function<bool()>& done);
  // Sets a function that is asked every few hundredths of a second while run() works; true ends it with
  // Stop::Interrupted.
  void setInterruptCheck(std::function<bool()> check);
  // Called when nothing can run and every host is blocked: reports a deadlock or a livelock with every waiter.
  // `hostNotes` has a note for each host's wait.
  void reportStuck(const std::vector<std::string>& hostNotes);
  // A host comes to a call that may wait; false when the run is over a limit.
  bool hostStep();
  // Called when the run is over a limit: reports where every program and stream stands.
  void reportLimit(const std::vector<std::string>& hostNotes);
  // Called when a rank's main has returned and its streams are idle on every rank: reports leftover signals and
  // unfinished puts.
  void finish();

  // Says, as text, where a finished run of the same computation under another schedule first did something else; empty:
  // nowhere. Both runs need `logStores`.
  std::string firstDifference(const World& other) const;
  const std::vector<Report>& reports() const;  // errors and warnings, in order found
  bool failed() const;
  const Trace& trace() const;
  struct Counters {
    uint64_t instructions = 0, switches = 0, launches = 0, programs = 0, putBytes = 0, getBytes = 0, copyBytes = 0,
             waits = 0;
  };
  Counters counters() const;
  // Text printed by kernels (tl.device_print) goes here; default: standard output.
  void setPrinter(std::function<void(const std::string&)> printer);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tandem::interpreter
