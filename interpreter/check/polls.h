// A poll is a loop that only looks at words until they have the value that it waits for: a wait, written as a loop.
#pragma once
#include "interpreter/program.h"
#include <optional>
#include <unordered_map>

namespace tandem::interpreter {
struct Machine;
struct Run;
}  // namespace tandem::interpreter

namespace tandem::interpreter::check {

// The instructions of one such loop, and those that lead into it: [first, last]; the loop's back edge is the last one.
struct PollLoop {
  uint32_t first = 0, last = 0;
};

// Returns, by program counter, a program's strong looks at one word on which such a loop depends, and nothing else.
std::unordered_map<uint32_t, PollLoop> findPolls(const Program& program);

class Polls {
 public:
  // The loop for which the run's current instruction looks at a word; null: none.
  const PollLoop* find(const Run& run);

 private:
  std::unordered_map<const Program*, std::unordered_map<uint32_t, PollLoop>> known_;
};

// Returns true if the loop ends when its current look at `address`, by `lane`, finds `value` and leaves it there, and a
// tile's other words stay as they are. Returns nothing if that is not known: it may depend on values that differ by
// thread while `lane` is not one thread.
std::optional<bool> endsPoll(Machine& m, const Run& run, const PollLoop& loop, uint32_t lane, uint64_t address,
                             uint64_t value);

}  // namespace tandem::interpreter::check
