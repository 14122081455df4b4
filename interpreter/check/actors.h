// Actors are all who access memory, by number: hosts, streams, programs. An actor that knows that a stream has passed a
// grid knows the programs of that grid.
#pragma once
#include "interpreter/check/clock.h"
#include "interpreter/program.h"
#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tandem::interpreter::check {

enum class ActorKind : uint8_t { None, Host, Stream, Program };

struct Actor {
  ActorKind kind{};
  int rank = 0;
  uint32_t number = 0;  // of the stream
  uint32_t grid = 0;    // of a program: index into Actors::grids
  std::array<int32_t, 3> id{-1, -1, -1};
  uint32_t lanes = 1;
};

struct GridLife {
  uint32_t stream = 0;   // the actor
  uint32_t endTime = 0;  // of the stream; 0 while the grid runs
  ProgramPtr program;
};

// One remembered access: its actor, time and place. If laneBytes is not 0, consecutive threads made it: the thread of a
// byte at address a is lane + (a - origin) / laneBytes, modulo 2^32.
struct Stamp {
  uint32_t actor = 0;  // 0: none
  uint32_t time = 0;   // of a transfer: its number; of a copy in a group: the group
  uint32_t site = 0;   // which instruction, and how it accesses
  Part part = kEveryThread;
  uint16_t laneBytes = 0;
  uint32_t origin = 0;

  Part threadAt(uint64_t address) const {
    return laneBytes ? Part(part + (uint32_t(address) - origin) / laneBytes) : part;
  }
  bool sameThreads(const Stamp& o) const {
    return part == o.part && laneBytes == o.laneBytes && (laneBytes == 0 || origin == o.origin);
  }
};

class Actors {
 public:
  explicit Actors(int rankCount) {
    for (int r = 0; r < rankCount; ++r) add({ActorKind::Host, r});
  }
  uint32_t add(Actor actor) {
    actors_.push_back(actor);
    return uint32_t(actors_.size() - 1);
  }
  const Actor& operator[](uint32_t number) const { return actors_[number]; }
  uint32_t hostOf(int rank) const { return uint32_t(rank) + 1; }
  std::vector<GridLife> grids;

  // A thread has waited, at its time, for its groups of copies before `end`.
  void waited(uint32_t actor, Part copies, uint32_t end, uint32_t time) {
    std::vector<uint32_t>& times = waits_[keyOf(actor, copies)];
    if (times.size() < end) times.resize(end, time);
  }
  // A copy whose thread has waited for its group counts as an access of the thread at that wait.
  Stamp settled(Stamp s) const {
    if (!isBulk(s.part) || s.part == kLoaded) return s;
    auto times = waits_.find(keyOf(s.actor, s.part));
    if (times == waits_.end() || times->second.size() <= s.time) return s;
    s.time = times->second[s.time];
    s.part = (s.part - kCopied) % (kStoreRead - kCopied);
    return s;
  }
  // Returns the number of a new bulk load.
  uint32_t addLoad() {
    loads_.emplace_back();
    return uint32_t(loads_.size() - 1);
  }
  // The load is the mbarrier's `count`th that is complete. Who waits for its mbarrier knows all up to a count; an mbarrier has a number
  // among the actors.
  void counted(uint32_t load, uint32_t mbarrier, uint32_t count) { loads_[load] = {mbarrier, count}; }

  // Returns true if `clock` knows the part of an actor at the stamp's time, by an entry for the actor or for its grid.
  // With `narrow`, knowledge over edges that a fence's scope breaks counts too.
  bool covers(const Clock& clock, const Stamp& s, Part part, bool narrow = false) const {
    if (clock.empty()) return false;
    const Actor& a = actors_[s.actor];
    auto get = [&](ClockKey key) {
      return narrow ? std::max(clock.get(key), clock.get(kNarrow | key)) : clock.get(key);
    };
    if (part == kLoaded) {
      const auto& [mbarrier, count] = loads_[s.time];
      if (count && get(keyOf(mbarrier, kLoaded)) >= count) return true;
    } else if (isTransfer(part) && !isBulk(part)) {
      return get(keyOf(s.actor, part)) >= s.time || get(keyOfTransfer(s.time)) ||
             get(keyOf(s.actor, kAllTransfers)) >= s.time || get(keyOf(hostOf(a.rank), kAllTransfers)) >= s.time;
    } else if (!isBulk(part) && get(keyOf(s.actor, kEveryThread)) >= s.time) {
      return true;
    }
    if (a.kind != ActorKind::Program) return false;
    const GridLife& grid = grids[a.grid];  // a program's bulk copies end with it, unlike its puts
    if (grid.endTime && get(keyOf(grid.stream, kEveryThread)) >= grid.endTime) return true;
    return part != kEveryThread && !isBulk(part) && get(keyOf(s.actor, part)) >= s.time;
  }

 private:
  std::vector<Actor> actors_{1};
  std::unordered_map<ClockKey, std::vector<uint32_t>> waits_;  // by thread and kind of copies: when it waited, by group
  std::vector<std::pair<uint32_t, uint32_t>> loads_;           // mbarrier and count, 0 until it is complete
};

}  // namespace tandem::interpreter::check
