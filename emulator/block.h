// A block of threads on its way, and the cluster that it is in.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace tandem::emulator {

class Warp;
class Cluster;
class Launch;
class Order;

class Block {
 public:
  // Shared memory's first address: a multiple of every swizzle's period that is not null.
  static constexpr uint32_t kSharedBegin = 1024;
  // An address of shared::cluster has the block's rank in its cluster and one more above these bits, or nothing: the
  // block's own.
  static constexpr unsigned kRankShift = 24;
  static constexpr unsigned kNamedBarriers = 16;

  struct NamedBarrier {
    uint32_t expected = 0;  // warps; 0: all of the block
    uint32_t arrived = 0;
    uint32_t phase = 0;
    uint32_t value = 0;   // of barrier.red: what has come in this phase
    uint32_t result = 0;  // of the phase before
  };

  Block(Cluster& cluster, unsigned rank, std::array<uint32_t, 3> index);
  ~Block();

  std::byte* shared() { return shared_.get(); }
  uint32_t sharedBytes() const { return sharedBytes_; }
  // The block of the cluster that an address of shared::cluster names, null if there is none.
  Block* named(uint64_t address);

  Cluster& cluster;
  const unsigned rank;  // in the cluster
  const std::array<uint32_t, 3> index;
  std::array<NamedBarrier, kNamedBarriers> barriers;
  std::vector<std::unique_ptr<Warp>> warps;

 private:
  struct Free {
    void operator()(std::byte* at) const;
  };
  std::unique_ptr<std::byte, Free> shared_;
  uint32_t sharedBytes_;
};

class Cluster {
 public:
  explicit Cluster(Launch& launch);
  ~Cluster();
  Launch& launch;
  std::vector<std::unique_ptr<Block>> blocks;  // by rank
  uint32_t arrived = 0, phase = 0;             // barrier.cluster, in warps
  std::unique_ptr<Order> order;                // null: the order of accesses is not checked
};

}  // namespace tandem::emulator
