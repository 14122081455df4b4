#include "emulator/block.h"
#include "emulator/launch.h"
#include "emulator/order/order.h"
#include "emulator/warp.h"
#include <cstdlib>
#include <cstring>

namespace tandem::emulator {
namespace {

constexpr size_t kSharedAlignment = 1024;
constexpr int kPoison = 0xA5;  // of shared memory that nothing has written

}  // namespace

void Block::Free::operator()(std::byte* at) const { std::free(at); }

Block::Block(Cluster& cluster, unsigned rank, std::array<uint32_t, 3> index)
    : cluster(cluster), rank(rank), index(index), sharedBytes_(cluster.launch.sharedBytes()) {
  size_t room = (sharedBytes_ + kSharedAlignment) / kSharedAlignment * kSharedAlignment;
  shared_.reset(static_cast<std::byte*>(std::aligned_alloc(kSharedAlignment, room)));
  std::memset(shared_.get(), kPoison, room);
  uint32_t warpCount = (cluster.launch.threadsPerBlock() + kLanes - 1) / kLanes;
  for (unsigned i = 0; i < warpCount; ++i) warps.push_back(std::make_unique<Warp>(*this, i));
}

Block::~Block() = default;

Cluster::Cluster(Launch& launch) : launch(launch) {}
Cluster::~Cluster() = default;

Block* Block::named(uint64_t address) {
  uint64_t tag = address >> kRankShift;
  if (!tag) return this;
  return tag <= cluster.blocks.size() ? cluster.blocks[tag - 1].get() : nullptr;
}

}  // namespace tandem::emulator
