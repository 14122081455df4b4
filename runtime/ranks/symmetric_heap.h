// This is the symmetric heap as one rank sees it. It has what all ranks must agree on; a backend's heap says where the
// memory comes from and where a peer's part lies.
#pragma once
#include "runtime/ranks/device.h"
#include "runtime/ranks/rendezvous.h"

namespace tandem::runtime::ranks {

struct HeapRequest {
  uint64_t bytes = 0;
  bool initialised = false;
  std::string name;
};

inline std::string bytesText(uint64_t bytes) { return std::to_string(bytes) + " bytes"; }

// The heap of `members`, ranks in the world, numbered by their places there. allocate and release are made by all of
// them in the same order.
class SymmetricHeap {
 public:
  SymmetricHeap(Rendezvous& ranks, const std::vector<int>& members, int rank, Device& device)
      : ranks_(ranks), members_(members), rank_(rank), device_(device) {}
  virtual ~SymmetricHeap() = default;
  SymmetricHeap(const SymmetricHeap&) = delete;
  SymmetricHeap& operator=(const SymmetricHeap&) = delete;

  // [all ranks] Returns when every rank has the memory, with zeros if asked for. Different sizes throw
  // std::invalid_argument on every rank. `beforeReuse` is called when a part was in use before: earlier work on it must
  // have ended when it returns.
  Address allocate(const HeapRequest& request, Stream stream, const std::function<void()>& beforeReuse);
  virtual bool release(Address address) = 0;  // of this rank alone; false: nothing of this heap begins there

  virtual Address base() const = 0;    // of this rank's part, once something was allocated
  virtual int64_t stride() const = 0;  // from a rank's part to the next one's; 0: offsets() says where they are
  // Returns the distances from this rank's part to each rank's, or TANDEM_DIST_UNMAPPED; empty: a constant stride.
  virtual std::vector<int64_t> offsets() const = 0;
  virtual bool contains(Address address) const = 0;
  virtual Address onPeer(Address address,
                         int peer) const = 0;  // throws std::invalid_argument for a peer that is not mapped

 protected:
  struct Part {
    Address at = 0;
    uint64_t bytes = 0;
    bool reused = false;  // somebody had some of it before
  };
  // [all ranks, with the same size]
  virtual Part take(uint64_t bytes) = 0;
  // [all ranks] A problem of one rank is every rank's.
  void checkAll(const std::string& what, const std::string& problem);

  int count() const { return int(members_.size()); }

  Rendezvous& ranks_;
  std::vector<int> members_;
  int rank_;  // among them
  Device& device_;

 private:
  void agree(const HeapRequest& request);
};

}  // namespace tandem::runtime::ranks
