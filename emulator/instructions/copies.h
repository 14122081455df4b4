// The families of `cp`, which its modifiers tell apart. Copies are carried out where they are written, and their groups
// are complete at once.
#pragma once
#include "emulator/instructions/unit_operands.h"
#include "emulator/units/reduction.h"
#include <optional>

namespace tandem::emulator {

void decodeThreadCopy(Decoder& d);              // cp.async
void decodeBulkCopy(Decoder& d, bool reduces);  // cp.async.bulk, cp.reduce.async.bulk
void decodeTensorCopy(Decoder& d, bool reduces);

// A copy of a warp's lane in bulk: between global memory and shared memory of blocks of the cluster.
struct BulkCopy {
  Address shared, barrier;
  bool isLoad = false, hasBarrier = false, isMulticast = false;
  Slot blocks = 0;  // of multicast: a bit for each block of the cluster
  std::optional<Reduction> reduction;
};

// .mbarrier::complete_tx::bytes, .multicast::cluster, .L2::cache_hint, .bulk_group and the reduction.
void takeCompletion(Decoder& d, BulkCopy& copy, bool reduces);

// Calls f(address, barrier) for the addresses in each block of the cluster that the lane's copy goes to.
template <class F> void eachDestination(Warp& warp, const BulkCopy& copy, uint64_t address, unsigned lane, F&& f) {
  uint64_t barrier = copy.hasBarrier ? copy.barrier.of(warp, lane) : 0;
  if (!copy.isMulticast) return f(address, barrier);
  auto blocks = warp.get<uint16_t>(copy.blocks, lane);
  auto in = [](unsigned rank, uint64_t at) {
    return uint64_t(rank + 1) << Block::kRankShift | (at & ((uint64_t(1) << Block::kRankShift) - 1));
  };
  for (unsigned rank = 0; blocks >> rank; ++rank)
    if (blocks >> rank & 1) f(in(rank, address), in(rank, barrier));
}

// `host` is read or written by the copy; `barrier` is the address of the mbarrier that hears of it, if one does.
void observe(Warp& warp, const Instruction& in, const BulkCopy& copy, unsigned lane, const std::byte* host,
             uint32_t bytes, uint64_t barrier, Access access);

// The bytes have come: the mbarrier hears it.
void completeBytes(Warp& warp, const BulkCopy& copy, uint64_t bytes, uint64_t barrier, unsigned lane);

}  // namespace tandem::emulator
