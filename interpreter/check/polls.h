// Loops that do nothing but load a word until it compares true: waits, written as loops.
#pragma once
#include "interpreter/program.h"
#include <optional>
#include <unordered_map>

namespace tandem::interpreter {
struct Run;
}

namespace tandem::interpreter::check {

// What the loop around one `ld` waits for.
struct Poll {
  SignalCompare ends{};
  Register value = 0;
};

class Polls {
 public:
  // The poll that the run's current instruction is the load of; null: none.
  const Poll* find(const Run& run);

 private:
  std::unordered_map<const Program*, std::unordered_map<uint32_t, Poll>> known_;  // by program counter
};

// The polls of a program, by the program counter of their loads.
std::unordered_map<uint32_t, Poll> findPolls(const Program& program);

// What `lane` waits for; nothing when that differs by thread and `lane` is not one.
std::optional<uint64_t> awaitedValue(const Run& run, const Poll& poll, uint32_t lane);

}  // namespace tandem::interpreter::check
