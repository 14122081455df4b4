// Memory of one rank alone, given back in stream order. Freed memory is kept for the next allocation of its size: the
// driver's own free may wait for the device, and a kernel there may wait for a peer.
#pragma once
#include "runtime/ranks/streams.h"

namespace tandem::runtime::ranks {

class LocalMemory {
 public:
  LocalMemory(Device& device, Events& events) : device_(device), events_(events) {}
  ~LocalMemory();
  LocalMemory(const LocalMemory&) = delete;
  LocalMemory& operator=(const LocalMemory&) = delete;

  Address allocate(uint64_t bytes);
  bool has(Address address) const { return live_.contains(address); }
  // The memory is free again when all events of `after` have passed. Memory that a captured stream gives back stays
  // with its graph.
  void release(Address address, const std::vector<Stream>& after);

 private:
  struct Pending {
    Address address;
    uint64_t bytes;
    std::vector<EventId> after;
  };
  void collect();
  void giveBack();

  Device& device_;
  Events& events_;
  std::map<Address, uint64_t> live_;
  std::multimap<uint64_t, Address> free_;  // by size
  std::vector<Pending> pending_;
  std::vector<Address> kept_;
};

}  // namespace tandem::runtime::ranks
