// The symmetric heap of ranks that reach each other's memory: the r-th member's part at base + r * stride, every part
// mapped into this process.
#pragma once
#include "runtime/backend/cuda/driver_abi.h"
#include "runtime/ranks/heap_allocator.h"
#include "runtime/ranks/symmetric_heap.h"

namespace tandem::runtime::cuda {

class MappedHeap final : public ranks::SymmetricHeap {
 public:
  // [all members] Reserves addresses; memory comes with the first allocation.
  MappedHeap(ranks::Rendezvous& ranks, ranks::Device& device, const ranks::RankPlace& place,
             const std::vector<int>& members);
  ~MappedHeap() override;  // memory that peers have mapped lives on with them

  bool release(Address address) override;
  Address base() const override { return base_ + Address(rank_) * stride_; }
  int64_t stride() const override { return int64_t(stride_); }
  std::vector<int64_t> offsets() const override { return {}; }
  bool contains(Address address) const override { return address >= base() && address - base() < stride_; }
  Address onPeer(Address address, int peer) const override {
    return address + Address(int64_t(peer - rank_)) * stride_;
  }

 private:
  Part take(uint64_t bytes) override;
  void grow(uint64_t bytes);
  MemoryHandle create(uint64_t bytes, std::string& problem);
  void map(int peer, uint64_t bytes, MemoryHandle handle);
  void mapAll(const std::vector<ranks::Packet>& pieces, MemoryHandle own, uint64_t bytes);

  int deviceIndex_;
  uint64_t stride_, granularity_ = 0, size_ = 0;  // `size_`: the bytes of one rank's part that are mapped
  Address base_ = 0;
  ranks::HeapAllocator offsets_;
  struct Mapping {
    Address address;
    uint64_t bytes;
  };
  std::vector<Mapping> mappings_;
};

}  // namespace tandem::runtime::cuda
