// The symmetric heap as one rank sees it: rank r's part at base + r * stride, every rank's memory mapped into this process.
#pragma once
#include "runtime/backend/cuda/memory.h"
#include "runtime/backend/cuda/ranks/heap_allocator.h"
#include "runtime/backend/cuda/ranks/rendezvous.h"

namespace tandem::runtime::cuda {

struct HeapRequest {
  uint64_t bytes = 0;
  bool initialised = false;
  std::string name;
};

// allocate and release are made by all ranks in the same order.
class SymmetricHeap {
 public:
  // [all ranks] Reserves addresses; memory comes with the first allocation.
  SymmetricHeap(Rendezvous& ranks, int rank, int rankCount, int device, uint64_t stride);
  ~SymmetricHeap();  // what peers have mapped lives on with them
  SymmetricHeap(const SymmetricHeap&) = delete;
  SymmetricHeap& operator=(const SymmetricHeap&) = delete;

  // [all ranks] Returns when every rank has the memory, with zeros if asked for. Different sizes throw std::invalid_argument on every rank.
  // `beforeReuse` is called when a part was in use before: earlier work on it must have ended when it returns.
  Address allocate(const HeapRequest& request, Stream stream, const std::function<void()>& beforeReuse);
  bool release(Address address);  // false: nothing of this heap begins there

  Address base() const { return base_ + Address(rank_) * stride_; }
  uint64_t stride() const { return stride_; }
  bool contains(Address address) const { return address >= base() && address - base() < stride_; }
  Address onPeer(Address address, int peer) const { return address + Address(int64_t(peer - rank_)) * stride_; }

 private:
  void agree(const HeapRequest& request);
  void grow(uint64_t bytes);
  MemoryHandle create(uint64_t bytes, std::string& problem);
  void map(int peer, uint64_t bytes, MemoryHandle handle);
  void mapAll(const std::vector<Packet>& pieces, MemoryHandle own, uint64_t bytes);
  void checkAll(const std::string& what, const std::string& problem);

  Rendezvous& ranks_;
  std::vector<int> world_;
  int rank_, device_;
  uint64_t stride_, granularity_ = 0, size_ = 0;  // of one rank's part: what is mapped
  Address base_ = 0;
  HeapAllocator offsets_;
  struct Mapping {
    Address address;
    uint64_t bytes;
  };
  std::vector<Mapping> mappings_;
};

}  // namespace tandem::runtime::cuda
