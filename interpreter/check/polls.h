// A poll is a loop that only looks at words until they have the value that it waits for: a wait, written as a loop.
#pragma once
#include "interpreter/program.h"
#include <optional>
#include <unordered_map>
#include <vector>

namespace tandem::interpreter {
struct Machine;
struct Run;
}  // namespace tandem::interpreter

namespace tandem::interpreter::check {

// The instructions of one such loop, and those that lead into it: [first, last]; the loop's back edge is the last one.
struct PollLoop {
  uint32_t first = 0, last = 0;
  bool hasSeveral = false;  // looks
  bool givesUp = false;     // something else ends it, too, and nothing behind it tells which
};

// Returns, by program counter, a program's strong looks at one word on which such a loop depends, and nothing else.
std::unordered_map<uint32_t, PollLoop> findPolls(const Program& program);

// What a look decides: conditions, which the instructions `steps` behind it compute of its value, and nothing else.
struct Decision {
  std::vector<uint32_t> steps;
  std::vector<Register> conditions;
};

// Returns, by program counter, a program's strong looks at one word whose values only decide conditions.
std::unordered_map<uint32_t, Decision> findDecisions(const Program& program);

class Polls {
 public:
  // The loop for which the run's current instruction looks at a word; null: none.
  const PollLoop* find(const Run& run);
  // What the run's current instruction decides; null: something else depends on its value.
  const Decision* decisionOf(const Run& run);

 private:
  struct Looks {
    std::unordered_map<uint32_t, PollLoop> polls;
    std::unordered_map<uint32_t, Decision> decisions;
  };
  std::unordered_map<const Program*, Looks> known_;

  const Looks& of(const Run& run);
};

// Returns true if the loop ends when its current look at `address`, by `lane`, finds `value` and leaves it there, and a
// tile's other words stay as they are. Returns nothing if that is not known: it may depend on values that differ by
// thread while `lane` is not one thread.
std::optional<bool> endsPoll(Machine& m, const Run& run, const PollLoop& loop, uint32_t lane, uint64_t address,
                             uint64_t value);
// Likewise the conditions, when the current look finds `value`.
std::optional<std::vector<uint64_t>> decided(Machine& m, const Run& run, const Decision& decision, uint32_t lane,
                                             uint64_t address, uint64_t value);

}  // namespace tandem::interpreter::check
