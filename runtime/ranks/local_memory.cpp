// Sizes are rounded so that memory of about one size serves the next.
#include "runtime/ranks/local_memory.h"
#include <algorithm>

namespace tandem::runtime::ranks {
namespace {

uint64_t rounded(uint64_t bytes) {
  constexpr uint64_t small = 512, large = uint64_t(2) << 20;
  uint64_t unit = bytes < large ? small : large;
  return bytes > ~uint64_t(0) - unit ? bytes : std::max<uint64_t>(1, (bytes + unit - 1) / unit) * unit;
}

}  // namespace

LocalMemory::~LocalMemory() {
  for (const Pending& p : pending_) device_.release(p.address);
  for (auto [bytes, address] : free_) device_.release(address);
  for (auto [address, bytes] : live_) device_.release(address);
  for (Address address : kept_) device_.release(address);
}

void LocalMemory::collect() {
  std::erase_if(pending_, [&](const Pending& p) {
    bool done = std::all_of(p.after.begin(), p.after.end(), [&](EventId id) { return events_.passed(id); });
    if (done) free_.emplace(p.bytes, p.address);
    return done;
  });
}

void LocalMemory::giveBack() {
  for (auto [bytes, address] : free_) device_.release(address);
  free_.clear();
}

Address LocalMemory::allocate(uint64_t bytes) {
  BesideCapture beside(device_);
  uint64_t size = rounded(bytes);
  collect();
  Address address = 0;
  if (auto found = free_.find(size); found != free_.end()) {
    address = found->second;
    free_.erase(found);
  } else {
    try {
      address = device_.allocate(size);
    } catch (const std::runtime_error&) {
      if (free_.empty()) throw;
      giveBack();
      address = device_.allocate(size);
    }
  }
  live_.emplace(address, size);
  return address;
}

void LocalMemory::release(Address address, const std::vector<Stream>& after) {
  auto found = live_.find(address);
  if (found == live_.end())
    throw std::invalid_argument("no allocation of the rank begins at address " + std::to_string(address));
  uint64_t bytes = found->second;
  live_.erase(found);
  if (std::any_of(after.begin(), after.end(), [&](Stream s) { return device_.capturing(s); })) {
    kept_.push_back(address);
    return;
  }
  std::vector<EventId> events;
  for (Stream s : after) events.push_back(events_.record(s));
  pending_.push_back({address, bytes, std::move(events)});
}

}  // namespace tandem::runtime::ranks
