// What a warp finds in its registers, and the memory that it reaches.
#include "emulator/launch.h"
#include "emulator/warp.h"
#include <algorithm>

namespace tandem::emulator {
namespace {

Size indexIn(uint32_t linear, const Size& size) {
  return {linear % size[0], linear / size[0] % size[1], linear / size[0] / size[1]};
}

}  // namespace

Warp::Warp(Block& block, unsigned index)
    : block(block), index(index), code_(block.cluster.launch.program().code.data()),
      memory_(block.cluster.launch.memory()) {
  Launch& launch = block.cluster.launch;
  const Program& program = launch.program();
  frame_ = std::make_unique_for_overwrite<Register[]>(program.slotCount);
  predicates_.assign(program.predicateCount, 0);
  predicates_[Instruction::kAlways] = kAllLanes;
  localBytes_ = (program.localBytes + 15u) / 16 * 16;
  local_ = std::make_unique_for_overwrite<std::byte[]>(size_t(localBytes_) * kLanes);
  uint32_t threads = std::min(launch.threadsPerBlock() - index * kLanes, kLanes);
  alive_ = threads == kLanes ? kAllLanes : (Mask(1) << threads) - 1;
  groups_.push_back({0, alive_, false});
  for (const Initial& initial : program.initial)
    for (unsigned lane = 0; lane < kLanes; ++lane) frame_[initial.slot].lanes[lane] = valueAtStart(initial, lane);
}

uint64_t Warp::valueAtStart(const Initial& initial, unsigned lane) const {
  using K = Initial::Kind;
  Launch& launch = block.cluster.launch;
  const Shape& shape = launch.shape();
  auto at = [&](K first) { return size_t(initial.kind) - size_t(first); };
  switch (initial.kind) {
    case K::Constant: return initial.value;
    case K::Param: return reinterpret_cast<uint64_t>(launch.parameters()) + initial.value;
    case K::Local: return reinterpret_cast<uint64_t>(local_.get()) + uint64_t(localBytes_) * lane + initial.value;
    case K::TidX:
    case K::TidY:
    case K::TidZ: return indexIn(index * kLanes + lane, shape.block)[at(K::TidX)];
    case K::NtidX:
    case K::NtidY:
    case K::NtidZ: return shape.block[at(K::NtidX)];
    case K::CtaidX:
    case K::CtaidY:
    case K::CtaidZ: return block.index[at(K::CtaidX)];
    case K::NctaidX:
    case K::NctaidY:
    case K::NctaidZ: return shape.grid[at(K::NctaidX)];
    case K::ClusterIdX:
    case K::ClusterIdY:
    case K::ClusterIdZ: return block.index[at(K::ClusterIdX)] / shape.cluster[at(K::ClusterIdX)];
    case K::NclusterIdX:
    case K::NclusterIdY:
    case K::NclusterIdZ: return shape.grid[at(K::NclusterIdX)] / shape.cluster[at(K::NclusterIdX)];
    case K::ClusterCtaidX:
    case K::ClusterCtaidY:
    case K::ClusterCtaidZ: return block.index[at(K::ClusterCtaidX)] % shape.cluster[at(K::ClusterCtaidX)];
    case K::ClusterNctaidX:
    case K::ClusterNctaidY:
    case K::ClusterNctaidZ: return shape.cluster[at(K::ClusterNctaidX)];
    case K::ClusterCtarank: return block.rank;
    case K::ClusterNctarank: return shape.cluster[0] * shape.cluster[1] * shape.cluster[2];
    case K::Laneid: return lane;
    case K::Warpid: return index;
    case K::Nwarpid: return (launch.threadsPerBlock() + kLanes - 1) / kLanes;
    case K::Smid: return launch.multiprocessorOf(block);
    case K::Nsmid: return Launch::kMultiprocessors;
    case K::Gridid: return 0;
    case K::LanemaskEq: return Mask(1) << lane;
    case K::LanemaskLt: return (Mask(1) << lane) - 1;
    case K::LanemaskLe: return (Mask(2) << lane) - 1;
    case K::LanemaskGt: return Mask(0) - (Mask(2) << lane);
    case K::LanemaskGe: return Mask(0) - (Mask(1) << lane);
    case K::DynamicSharedBytes: return shape.dynamicSharedBytes;
    case K::TotalSharedBytes: return launch.sharedBytes();
  }
  return 0;
}

void Warp::misaligned(Space, uint64_t address, size_t alignment, unsigned lane) const {
  throw Fault(Fault::MisalignedAddress, "address " + hex(address) + " is no multiple of " + std::to_string(alignment),
              int(lane));
}

std::byte* Warp::reachOther(Space space, uint64_t address, size_t bytes, unsigned lane) {
  auto outside = [&](const std::string& whose) {
    return Fault(Fault::IllegalAddress,
                 std::to_string(bytes) + " bytes at " + hex(address) + " are outside of " + whose, int(lane));
  };
  if (space == Space::Shared || space == Space::SharedCluster) {
    Block* there = block.named(address);
    uint64_t offset = (address & ((1u << Block::kRankShift) - 1)) - Block::kSharedBegin;
    if (!there || offset >= there->sharedBytes() || bytes > there->sharedBytes() - offset)
      throw outside(!there ? "the cluster's blocks"
                           : "the block's " + std::to_string(there->sharedBytes()) + " bytes of shared memory");
    return there->shared() + offset;
  }
  auto* at = reinterpret_cast<std::byte*>(address);
  recentChanges_ = memory_.changes();
  recent_ = {};
  if (space != Space::Local && space != Space::Param)
    if (Range found = memory_.find(address); found.holds(address, bytes)) return recent_ = found, at;
  auto isIn = [&](const std::byte* begin, size_t size) {
    return Range{reinterpret_cast<uint64_t>(begin), reinterpret_cast<uint64_t>(begin) + size}.holds(address, bytes);
  };
  if (space != Space::Global) {
    if (isIn(local_.get() + size_t(localBytes_) * lane, localBytes_)) return at;
    Launch& launch = block.cluster.launch;
    if (isIn(launch.parameters(), launch.program().parameterBytes)) return at;
  }
  if (space == Space::Generic)
    for (const std::unique_ptr<Block>& each : block.cluster.blocks)
      if (isIn(each->shared(), each->sharedBytes())) return at;
  throw outside(space == Space::Generic  ? "every allocation and the cluster's shared memory"
                : space == Space::Global ? "every allocation"
                                         : "the thread's own memory and the kernel's parameters");
}

std::string hex(uint64_t address) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(address));
  return text;
}

}  // namespace tandem::emulator
