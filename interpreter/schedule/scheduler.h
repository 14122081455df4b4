// The seed decides what runs next: programs and streams take turns of random length; nothing else moves the world.
#pragma once
#include "interpreter/schedule/stream.h"
#include "interpreter/memory/access.h"
#include "interpreter/world.h"
#include <chrono>
#include <unordered_map>

namespace tandem::interpreter {

// Returns true if the instruction touches the others' memory or progress (chosen.cpp).
bool synchronises(const Prepared& i);

struct World::Impl {
  explicit Impl(const WorldOptions& options);
  ~Impl();

  Machine m;
  struct RankState {
    std::vector<std::unique_ptr<Stream>> streams;
    std::vector<int> freeSlots;
    std::vector<int64_t> slotClockNs;
    std::map<int, uint64_t> meetings;  // of the hosts, by team
    uint32_t launches = 0;
    uint32_t unnamed = 0;                 // allocations that the host gave no name
    uint32_t hostLocation = kNoLocation;  // of the call under way, in Machine::hostPlaces
    std::vector<Grid*> starting;          // grids with programs not yet started
  };
  std::vector<RankState> ranks;
  std::vector<Event> events{1};  // an EventId is an index
  std::unordered_map<const Program*, std::unique_ptr<PreparedProgram>> prepared;
  std::vector<std::unique_ptr<Run>> runs;
  std::vector<Run*> freeRuns;
  uint64_t nextRunId = 1;
  bool streamIdled = false;  // since `done` was last asked
  std::function<bool()> interruptCheck;
  uint64_t hostSteps = 0;
  std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();

  bool isOverLimit(bool looksAtClock) const;

  // Runs one turn; false when nothing can run.
  bool turn();
  void turnOfProgram(Run& run);
  void runUntil(Run& run, uint32_t instructions, bool (*stop)(const Prepared&));
  // --- schedules that somebody chooses (chosen.cpp) ---
  bool chosenTurn();
  void turnOf(Task& task);
  void tellLeft();
  bool abandoned = false;  // by the chooser

  bool leaveBehind();  // threads of a program go on without the others
  Task& pick();
  uint64_t turns = 0;
  int64_t lowestPriority = 0;
  void logEnd(const Allocation& a);
  void logBuffers();

  // --- streams (stream.cpp) ---
  void enqueue(int rank, StreamId stream, StreamItem item);
  void enqueue(Stream& s, StreamItem item);
  std::unique_ptr<Stream> makeStream(int rank, StreamId id);
  bool startsEarly(Stream& s, StreamItem& item);
  void turnOfStream(Stream& s);
  Accessor accessorOf(Stream& s, const char* what);
  void finishItem(Stream& s);
  void finishElement(Stream& s);
  bool startGrid(Stream& s);
  void turnOfCopy(Stream& s);
  void turnOfWait(Stream& s);
  void turnOfBarrier(Stream& s);

  void hostAccess(int rank, Address address, uint64_t bytes, HostAccess how);

  // --- programs (program.cpp) ---
  void fillSlots(int rank);
  void startRun(Grid& g, int slot);
  void finishRun(Run& run);
};

}  // namespace tandem::interpreter
