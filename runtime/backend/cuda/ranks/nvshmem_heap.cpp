// All ranks make the same pieces and allocate from them in the same order, so an address has the same offset in
// NVSHMEM's heap on all ranks.
#include "runtime/backend/cuda/ranks/nvshmem_heap.h"
#include "abi/dist_context.h"
#include "runtime/backend/cuda/nvshmem.h"
#include <algorithm>

namespace tandem::runtime::cuda {

using ranks::bytesText;
using ranks::HeapAllocator;

namespace {

constexpr uint64_t kPieceBytes = uint64_t(64) << 20;  // at least
constexpr uint64_t kGranularity = uint64_t(2) << 20;

}  // namespace

void NvshmemHeap::grow(uint64_t bytes) {
  uint64_t piece = (std::max(bytes, kPieceBytes) + kGranularity - 1) / kGranularity * kGranularity;
  Address at = nvshmem().allocate(piece);
  checkAll("grow",
           at ? "" : "NVSHMEM has no " + bytesText(piece) + " more: NVSHMEM_SYMMETRIC_SIZE says how much it may have");
  pieces_.push_back({at, piece, HeapAllocator(piece)});
}

ranks::SymmetricHeap::Part NvshmemHeap::take(uint64_t bytes) {
  for (int round = 0; round < 2; ++round) {
    for (Piece& p : pieces_)
      if (std::optional<HeapAllocator::Range> range = p.ranges.allocate(bytes))
        return {p.base + range->offset, range->bytes, range->reused};
    if (round == 0) grow(bytes);
  }
  throw std::logic_error("a new piece of the heap has no room for " + bytesText(bytes));
}

bool NvshmemHeap::release(Address address) {
  for (Piece& p : pieces_)
    if (address >= p.base && address - p.base < p.bytes) return p.ranges.release(address - p.base);
  return false;
}

bool NvshmemHeap::contains(Address address) const {
  return std::any_of(pieces_.begin(), pieces_.end(),
                     [&](const Piece& p) { return address >= p.base && address - p.base < p.bytes; });
}

std::vector<int64_t> NvshmemHeap::offsets() const {
  std::vector<int64_t> out;
  for (int peer : members_) {
    Address there = peer == rank_ ? base() : nvshmem().onPeer(base(), peer);
    out.push_back(there ? int64_t(there - base()) : TANDEM_DIST_UNMAPPED);
  }
  return out;
}

Address NvshmemHeap::onPeer(Address address, int peer) const {
  if (peer == rank_) return address;
  if (Address there = nvshmem().onPeer(address, peer)) return there;
  throw std::invalid_argument("rank " + std::to_string(peer) + "'s memory is not mapped on rank " +
                              std::to_string(rank_) + ": only kernels' puts, gets and signals reach it");
}

}  // namespace tandem::runtime::cuda
