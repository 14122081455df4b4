// How a warp's threads go through the code: together, or in groups that meet again.
#include "emulator/warp.h"
#include "emulator/counters.h"
#include "emulator/launch.h"
#include <algorithm>
#include <utility>

namespace tandem::emulator {

const Instruction& Warp::current() const { return code_[groups_[running_].at]; }

// The groups at one place are one group. The running group goes on until it comes to the nearest one ahead.
void Warp::join() {
  Group& running = groups_[running_];
  stop_ = ~0u;
  for (size_t i = 0; i < groups_.size();) {
    if (i != running_ && groups_[i].at == groups_[running_].at) {
      groups_[running_].mask |= groups_[i].mask;
      groups_.erase(groups_.begin() + std::ptrdiff_t(i));
      if (i < running_) --running_;
    } else {
      if (i != running_ && groups_[i].at > running.at) stop_ = std::min(stop_, groups_[i].at);
      ++i;
    }
  }
}

// Picks the group that is furthest back among those that do not wait; false: all wait.
bool Warp::choose() {
  size_t best = groups_.size();
  for (size_t i = 0; i < groups_.size(); ++i)
    if (!groups_[i].waits && (best == groups_.size() || groups_[i].at < groups_[best].at)) best = i;
  if (best == groups_.size()) return false;
  running_ = best;
  join();
  return true;
}

void Warp::branch(Mask taken, uint32_t target) {
  Group& group = groups_[running_];
  if (taken == group.mask) {
    group.at = target;
  } else {
    group.mask &= ~taken;
    ++group.at;
    groups_.push_back({target, taken, false});
  }
}

void Warp::split(Mask taken, uint32_t target) {
  uint32_t at = groups_[running_].at;
  branch(taken, target);
  if (groups_[running_].mask & ~taken) groups_[running_].at = at;
}

void Warp::exit(Mask ended) {
  alive_ &= ~ended;
  Group& group = groups_[running_];
  group.mask &= ~ended;
  if (group.mask)
    ++group.at;
  else
    groups_.erase(groups_.begin() + std::ptrdiff_t(running_));
  if (groups_.empty() || running_ >= groups_.size()) running_ = 0;
}

// Groups that wait ask again in each run. A group that has used up a whole run lets another one go first in the next, as
// it may be waiting in a loop for what the other does.
uint32_t Warp::run(uint32_t budget) {
  for (Group& group : groups_) group.waits = false;
  bool keeps = false;  // runs whatever its place is
  if (std::exchange(spins_, false) && groups_.size() > 1) {
    running_ = (running_ + 1) % groups_.size();
    keeps = true;
    join();
  } else {
    choose();
  }
  uint32_t left = budget;
  const Instruction* code = code_;
  Counters* counters = block.cluster.launch.counters();
  while (left) {
    Group* group = &groups_[running_];
    uint32_t at = group->at;
    const Mask mask = group->mask, *predicates = predicates_.data();
    Outcome outcome = Outcome::Next;
    while (left) {
      const Instruction& in = code[at];
      Mask active = mask & (predicates[in.guard] ^ in.guardFlip);
      --left;
      if (active) {
        group->at = at;
        if (counters) [[unlikely]]
          counters->note(*this, in, at, active);
        outcome = in.handler(*this, in, active);
        if (outcome != Outcome::Next) [[unlikely]] {
          if (counters && outcome >= Outcome::Wait) counters->takeBack(at, active);
          break;
        }
      }
      if (++at == stop_) [[unlikely]]
        break;
    }
    if (outcome == Outcome::Next) {
      group->at = at;
      if (left || at == stop_) join();
      continue;
    }
    if (outcome == Outcome::Jump) {
      if (groups_.empty()) break;
      if (groups_.size() > 1) {
        if (keeps)
          join();
        else
          choose();
      } else {
        stop_ = ~0u;
      }
      continue;
    }
    if (outcome == Outcome::Wait) ++left;
    group->waits = true;
    keeps = false;
    if (!choose()) break;
  }
  spins_ = !left;
  instructionsRun += budget - left;
  return budget - left;
}

}  // namespace tandem::emulator
