// A kernel's run: a piece of work that goes on where it stopped, so that runs may wait for each other.
#pragma once
#include "emulator/block.h"
#include "emulator/instruction.h"
#include "emulator/memory.h"
#include "emulator/program.h"
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace tandem::emulator {

class Counters;

using Size = std::array<uint32_t, 3>;

struct Shape {
  Size grid{1, 1, 1}, block{1, 1, 1}, cluster{1, 1, 1};
  uint32_t dynamicSharedBytes = 0;
};

class Launch {
 public:
  // `parameters` are laid out as `program` says. `residentBlocks`: how many blocks at most are on their way together.
  Launch(std::shared_ptr<const Program> program, const Shape& shape, std::vector<std::byte> parameters,
         const GlobalMemory& memory, uint32_t residentBlocks);
  ~Launch();

  // From now on, accesses of shared memory that nothing orders end the launch, as do uses of wgmma's registers too early,
  // which throw Fault here. To be called before the first run.
  void checkOrder();

  // From now on, instructions are counted there. Null: they are not.
  void count(Counters* counters);
  Counters* counters() const { return counters_; }

  // Goes on for about `budget` instructions of warps. True: all blocks have ended. Throws Fault with a report of where it
  // came up as its text; the launch is over then.
  bool run(uint64_t budget);

  const Program& program() const { return *program_; }
  const Shape& shape() const { return shape_; }
  const GlobalMemory& memory() const { return memory_; }
  std::byte* parameters() { return parameters_.get(); }
  uint32_t threadsPerBlock() const { return shape_.block[0] * shape_.block[1] * shape_.block[2]; }
  static constexpr uint32_t kMultiprocessors = 132;
  uint32_t multiprocessorOf(const Block& block) const;
  std::string placeOf(uint32_t statement) const;  // PTX line, text and source line
  uint32_t sharedBytes() const { return program_->staticSharedBytes + shape_.dynamicSharedBytes; }

 private:
  struct Aligned {
    void operator()(std::byte* at) const;
  };

  void start();
  uint64_t round(Cluster& cluster);
  [[noreturn]] void deadlock();
  [[noreturn]] void report(const Fault& fault, const Warp& warp) const;

  std::shared_ptr<const Program> program_;
  const Shape shape_;
  std::unique_ptr<std::byte, Aligned> parameters_;
  const GlobalMemory& memory_;
  const uint64_t clusterCount_;
  const size_t residentClusters_;
  uint64_t started_ = 0;
  Counters* counters_ = nullptr;
  uint32_t grain_ = 0;  // of the check of order; 0: there is none
  std::deque<std::unique_ptr<Cluster>> clusters_;
};

}  // namespace tandem::emulator
