// The search runs all schedules of a computation, one run after another: dynamic partial-order reduction with sleep
// sets over a world's steps. It knows of a step only its task and the memory that it touches.
#pragma once
#include "interpreter/schedule/choice.h"
#include <map>
#include <set>

namespace tandem::interpreter {

class ScheduleSearch final : public Chooser {
 public:
  // Without reduction every order of steps is a schedule of its own.
  explicit ScheduleSearch(bool reduction) : reduction_(reduction) {}

  // After a run, returns true if there is a schedule left to run, which the next run will follow.
  bool next();
  // These describe the last run: its choices, for ForcedSchedule; whether it ended because other runs cover it; its
  // steps.
  std::string schedule() const;
  bool redundant() const { return redundant_; }
  // The computation did something else under the same choices; the search cannot go on.
  bool diverged() const { return diverged_; }
  size_t steps() const { return depth_; }

  std::optional<size_t> choose(const std::vector<Transition>& enabled) override;
  void did(const SyncAccess& access) override;
  void leaves(const Transition& who, const SyncAccess& access) override;

 private:
  using Footprint = std::vector<SyncAccess>;
  struct Event {
    Transition who;
    Footprint touched;
  };
  struct Node : Event {
    std::vector<Transition> enabled;
    std::set<Transition> wanted;               // to be tried here
    std::map<Transition, Footprint> explored;  // tried
    std::map<Transition, Footprint> asleep;    // covered by runs that tried them earlier
  };

  static bool dependent(const Footprint& a, const Footprint& b);
  bool covered(const Node& node, const Transition& who) const {
    return node.explored.contains(who) || node.asleep.contains(who);
  }
  // The step that let this one's task go on, or -1.
  int64_t causeOf(size_t step) const;
  void findReversals();
  // Makes a run happen in which `event` comes before the last step of another task that it depends on, where that is
  // possible.
  void reverse(const Event& event, size_t place, const std::vector<bool>& before);

  bool reduction_;
  bool redundant_ = false, diverged_ = false;
  size_t depth_ = 0;   // steps of this run so far
  size_t prefix_ = 0;  // steps of it that are given
  std::vector<Node> trace_;
  std::vector<Event> left_;
  std::vector<std::vector<bool>> earlier_;  // by step: the steps that happen-before it
};

}  // namespace tandem::interpreter
