// The symmetric heap of a run through NVSHMEM: pieces of its memory. They are given back when NVSHMEM ends, so that
// freeing waits for nobody.
#pragma once
#include "runtime/ranks/heap_allocator.h"
#include "runtime/ranks/symmetric_heap.h"

namespace tandem::runtime::cuda {

class NvshmemHeap final : public ranks::SymmetricHeap {
 public:
  // NVSHMEM runs until the heap is gone.
  using SymmetricHeap::SymmetricHeap;

  bool release(Address address) override;
  Address base() const override { return pieces_.empty() ? 0 : pieces_[0].base; }
  int64_t stride() const override { return 0; }
  std::vector<int64_t> offsets() const override;
  bool contains(Address address) const override;
  Address onPeer(Address address, int peer) const override;

 private:
  Part take(uint64_t bytes) override;
  void grow(uint64_t bytes);

  struct Piece {
    Address base;
    uint64_t bytes;
    ranks::HeapAllocator ranges;
  };
  std::vector<Piece> pieces_;
};

}  // namespace tandem::runtime::cuda
