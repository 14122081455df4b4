// Vector clocks: what a warp has seen of all that happens in its cluster.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

namespace tandem::emulator {

// Whatever has a time of its own: the threads of a warp, the wgmma, copies and stores that it has under way, the bytes
// that come to an mbarrier.
using Agent = uint32_t;
using Time = uint32_t;  // 0: never

class VectorClock {
 public:
  Time of(Agent agent) const { return agent < times_.size() ? times_[agent] : 0; }
  void reach(Agent agent, Time time) {
    if (agent >= times_.size()) times_.resize(agent + 1);
    times_[agent] = std::max(times_[agent], time);
  }
  void join(const VectorClock& other) {
    if (times_.size() < other.times_.size()) times_.resize(other.times_.size());
    for (size_t i = 0; i < other.times_.size(); ++i) times_[i] = std::max(times_[i], other.times_[i]);
  }

 private:
  std::vector<Time> times_;
};

// An agent's knowledge: what came before it, and what of that a proxy fence has passed on to asynchronous accesses.
struct View {
  VectorClock seen, fenced;
  void join(const View& other) { seen.join(other.seen), fenced.join(other.fenced); }
};

}  // namespace tandem::emulator
