// The search runs all schedules of a computation, one run after another: dynamic partial-order reduction with sleep
// sets over a world's steps. It knows of a step only its task and the memory that it touches.
#pragma once
#include "interpreter/schedule/choice.h"
#include <bit>
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

  // A set of steps before some step.
  class StepSet {
   public:
    explicit StepSet(size_t steps) : words_((steps + 63) / 64) {}
    bool has(size_t step) const { return step / 64 < words_.size() && (words_[step / 64] >> step % 64 & 1); }
    void add(size_t step) { words_[step / 64] |= uint64_t(1) << step % 64; }
    void add(const StepSet& fewer) {
      for (size_t w = 0; w < fewer.words_.size(); ++w) words_[w] |= fewer.words_[w];
    }
    // Calls body(step) for each step that is not there, the last one first. The body may add steps.
    template <class Body>
    void eachMissing(size_t steps, Body body) const {
      for (size_t w = words_.size(); w-- > 0;) {
        uint64_t open = steps - w * 64 < 64 ? (uint64_t(1) << (steps - w * 64)) - 1 : ~uint64_t(0);
        while (uint64_t missing = ~words_[w] & open) {
          size_t at = 63 - size_t(std::countl_zero(missing));
          open = (uint64_t(1) << at) - 1;
          body(w * 64 + at);
        }
      }
    }

   private:
    std::vector<uint64_t> words_;
  };

  static bool dependent(const Footprint& a, const Footprint& b);
  bool covered(const Node& node, const Transition& who) const {
    return node.explored.contains(who) || node.asleep.contains(who);
  }
  // The step that let this one's task go on, or -1.
  int64_t causeOf(size_t step) const;
  // The step of the program behind which its late store was to come, or -1: of no late store, or of one behind no step.
  int64_t issueOf(const Transition& who) const;
  // The steps between a step and a later one that do not come after the first, in their order.
  std::vector<size_t> apartFrom(size_t step, size_t end) const;
  void findReversals();
  // Makes a run happen in which `event` comes before the last step of another task that it depends on, where that is
  // possible.
  void reverse(const Event& event, size_t place, const StepSet& before);

  bool reduction_;
  bool redundant_ = false, diverged_ = false;
  size_t depth_ = 0;   // steps of this run so far
  size_t prefix_ = 0;  // steps of it that are given
  std::vector<Node> trace_;
  std::vector<Event> left_;
  std::vector<StepSet> earlier_;  // by step: the steps that happen-before it
  std::map<Transition, std::vector<size_t>> stepsOf_;
};

}  // namespace tandem::interpreter
