// Counters tell what a kernel's launches cost, as far as PTX shows it: instructions of warps, accesses that a GPU must split.
#pragma once
#include "emulator/program.h"
#include <memory>
#include <string>
#include <vector>

namespace tandem::emulator {

class Warp;

// The counts of one instruction, or the sums of several.
struct Counts {
  uint64_t warpInstructions = 0, threadInstructions = 0;
  // Passes through shared memory's 32 banks, and as many as there would be without conflicts.
  uint64_t wavefronts = 0, idealWavefronts = 0;
  uint64_t sectors = 0, requests = 0;  // of 32 bytes, of global memory
  Counts& operator+=(const Counts& other);
};

// The counts of one kernel's launches.
class Counters {
 public:
  explicit Counters(std::shared_ptr<const Program> program);

  // Before the lanes carry out the instruction at this place of the code.
  void note(Warp& warp, const Instruction& in, uint32_t at, unsigned active);
  void takeBack(uint32_t at, unsigned active);  // it waits, and comes again
  void noteLaunch() { ++launches_; }
  std::string json() const;  // an object

 private:
  struct Access {
    uint32_t bytes = 0;  // of a lane; 0: the instruction reaches no memory
    bool isShared = false;
  };
  static Access accessOf(const Statement& statement);

  std::shared_ptr<const Program> program_;
  std::vector<Counts> counts_;  // by place
  std::vector<Access> accesses_;
  uint64_t launches_ = 0;
};

}  // namespace tandem::emulator
