// Bump allocation with red zones inside one reservation; freed ranges stay quarantined until the addresses run out.
#include "interpreter/memory/arena.h"
#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <sys/mman.h>

namespace tandem::interpreter {

Arena::Arena(int rankCount, int slotsPerRank, uint64_t heapBytesPerRank) : rankCount_(rankCount), slots_(slotsPerRank) {
  strideBits_ = unsigned(std::bit_width(std::max<uint64_t>(heapBytesPerRank, 1 << 16) - 1));
  uint64_t heaps = uint64_t(rankCount) << strideBits_;
  uint64_t shared = uint64_t(rankCount) * uint64_t(slotsPerRank) * kSharedBytes;
  reserved_ = heaps + shared;
  void* p = mmap(nullptr, reserved_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED)
    throw std::runtime_error("cannot reserve " + std::to_string(reserved_ >> 30) +
                             " GiB of address space for the ranks' memory; is it limited (`ulimit -v`)?");
  base_ = reinterpret_cast<Address>(p);
  sharedBase_ = base_ + heaps;
  shadow_.reserve(base_, reserved_);
  views_.reserve(base_, reserved_);
  areas_.resize(size_t(rankCount) * 2);
  for (int r = 0; r < rankCount; ++r)
    for (int k = 0; k < 2; ++k) {
      Area& a = areas_[size_t(r) * 2 + size_t(k)];
      a.begin = base_ + (uint64_t(r) << strideBits_) + uint64_t(k) * stride() / 2;
      a.next = a.begin + kRedZone;
      a.end = a.begin + stride() / 2;
    }
  shared_.resize(size_t(rankCount) * size_t(slotsPerRank));
}

Arena::~Arena() {
  munmap(reinterpret_cast<void*>(base_), reserved_);
  if (multicastBase_) munmap(reinterpret_cast<void*>(multicastBase_), multicastBytes_);
}

// The bytes an allocation takes with its red zone.
static uint64_t footprint(uint64_t bytes) {
  return (std::max<uint64_t>(bytes, 1) + Arena::kRedZone + Arena::kAlignment - 1) / Arena::kAlignment *
         Arena::kAlignment;
}

// Returns an offset that is free on all members, and takes it there; 0: there is none.
uint64_t Arena::claim(uint64_t bytes, std::span<const int> members) {
  uint64_t need = footprint(bytes), offset = 0;
  for (int member : members) {
    Area& a = area(member, MemoryKind::Symmetric);
    offset = std::max(offset, a.next - a.begin);
  }
  if (bytes > stride() || offset + need > stride() / 2) return 0;
  for (int member : members) {
    Area& a = area(member, MemoryKind::Symmetric);
    a.next = a.begin + offset + need;
  }
  return offset;
}

// At `offset`, which is the area's; 0: at one of the team's that is freed. None: wherever there is room.
Allocation* Arena::carve(Area& area, uint64_t bytes, std::optional<uint64_t> offset, int team) {
  uint64_t need = footprint(bytes);
  if (bytes > stride()) return nullptr;
  Address begin = 0;
  if (offset && *offset) {
    begin = area.begin + *offset;
  } else if (!offset && area.next + need <= area.end) {
    begin = area.next;
    area.next += need;
  } else {
    // The smallest that is large enough, and of those the oldest.
    auto best = area.quarantine.end();
    uint64_t bestSize = ~uint64_t(0);
    for (auto it = area.quarantine.begin(); it != area.quarantine.end() && bestSize != need; ++it) {
      const Allocation& a = *area.allocations.at(*it);
      uint64_t size = footprint(a.end - a.begin);
      if (!a.waiters.empty() || a.team != team || size < need || size >= bestSize) continue;
      best = it;
      bestSize = size;
    }
    if (best == area.quarantine.end()) return nullptr;
    begin = *best;
    forgetFound();
    area.allocations.erase(begin);
    area.quarantine.erase(best);
  }
  auto made = std::make_unique<Allocation>();
  made->begin = begin;
  made->end = begin + bytes;
  Allocation* result = made.get();
  area.allocations[begin] = std::move(made);
  return result;
}

Arena::Allocated Arena::allocate(int rank, uint64_t bytes, MemoryKind kind, bool initialised, Sharers sharers) {
  Allocated result;
  Area& a = area(rank, kind);
  std::optional<uint64_t> offset;
  if (kind == MemoryKind::Symmetric) {
    std::vector<Symmetric>& all = symmetric_[sharers.team];
    size_t index = a.sequence[sharers.team]++;
    if (index == all.size()) all.push_back({bytes, claim(bytes, sharers.members)});
    result.otherBytes = all[index].bytes;
    result.asymmetric = result.otherBytes != bytes;
    if (result.asymmetric) return result;
    offset = all[index].offset;
  }
  result.allocation = carve(a, bytes, offset, sharers.team);
  if (!result.allocation) return result;
  result.allocation->rank = rank;
  result.allocation->team = sharers.team;
  result.allocation->kind = kind;
  result.allocation->initialised = initialised;
  return result;
}

Allocation* Arena::map(int rank, const HostMemory& memory) {
  auto [first, last] = mappings_.equal_range({rank, memory.begin});
  auto same = std::find_if(first, last, [&](const auto& m) { return m.second->end - m.second->begin == memory.bytes; });
  if (same != last) {
    ++same->second->uses;
    return same->second;
  }
  Allocation* a = allocate(rank, memory.bytes, MemoryKind::Local, true).allocation;
  if (!a) return nullptr;
  a->shift = memory.begin - a->begin;
  a->owner = memory.owner;
  a->name = memory.name;
  mappings_.emplace(std::pair(rank, memory.begin), a);
  return a;
}

bool Arena::unmap(Allocation& a) {
  if (!a.shift) return false;
  if (--a.uses) return true;
  auto [first, last] = mappings_.equal_range({a.rank, a.begin + a.shift});
  mappings_.erase(std::find_if(first, last, [&](const auto& m) { return m.second == &a; }));
  return false;
}

Allocation* Arena::mappingOf(int rank, Address hostAddress) const {
  for (auto it = mappings_.upper_bound({rank, hostAddress}); it != mappings_.begin();) {
    Allocation* a = (--it)->second;
    if (a->rank != rank) return nullptr;
    if (hostAddress - it->first.second < a->end - a->begin) return a;
  }
  return nullptr;
}

static void dropPages(Address begin, Address end) {
  constexpr uint64_t kPage = 4096;
  Address first = (begin + kPage - 1) / kPage * kPage, last = end / kPage * kPage;
  if (first >= last) {
    memset(reinterpret_cast<void*>(begin), 0, end - begin);
    return;
  }
  memset(reinterpret_cast<void*>(begin), 0, first - begin);
  madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
  memset(reinterpret_cast<void*>(last), 0, end - last);
}

Arena::Freed Arena::release(int rank, Address address, Allocation** found) {
  *found = find(address);
  if (!*found || (*found)->begin != address || (*found)->rank != rank || (*found)->shared) return Freed::Invalid;
  if ((*found)->freed) return Freed::Double;
  Allocation& a = **found;
  a.freed = true;
  a.signals.clear();
  a.owner.reset();
  if (a.end > a.begin && !a.shift) {
    dropPages(a.begin, a.end);
    shadow_.clear(a.begin, a.end - a.begin);
    views_.clear(a.begin, a.end - a.begin);
  }
  area(rank, a.kind).quarantine.push_back(a.begin);
  return Freed::Ok;
}

Allocation* Arena::lookUp(Address address) {
  if (address >= sharedBase_ && address < base_ + reserved_) {
    SharedArea& s = shared_[(address - sharedBase_) / kSharedBytes];
    for (auto& a : s.allocations)
      if (address >= a->begin && address < a->end) return a.get();
    return nullptr;
  }
  Allocation* a = nearest(address);
  // A zero-sized allocation is found by its own address, so that it can be freed.
  return a && address >= a->begin && (address < a->end || address == a->begin) ? a : nullptr;
}

Allocation* Arena::nearest(Address address) {
  int rank = rankOf(address);
  if (rank < 0) return nullptr;
  auto& map = area(rank, isSymmetric(address) ? MemoryKind::Symmetric : MemoryKind::Local).allocations;
  auto it = map.upper_bound(address);
  if (it == map.begin()) return it == map.end() ? nullptr : it->second.get();
  return std::prev(it)->second.get();
}

Allocation* Arena::following(Address address) {
  int rank = rankOf(address);
  if (rank < 0) return nullptr;
  auto& map = area(rank, isSymmetric(address) ? MemoryKind::Symmetric : MemoryKind::Local).allocations;
  auto it = map.upper_bound(address);
  return it == map.end() ? nullptr : it->second.get();
}

Allocation* Arena::allocateShared(int rank, int slot, uint64_t bytes) {
  size_t index = size_t(rank) * size_t(slots_) + size_t(slot);
  SharedArea& s = shared_[index];
  Address first = sharedBase_ + index * kSharedBytes, begin = std::max(s.next, first + kRedZone);
  begin = (begin + kSharedAlignment - 1) & ~(kSharedAlignment - 1);
  if (bytes > kMaxSharedBytes - s.used || begin + footprint(bytes) > first + kSharedBytes) return nullptr;
  s.used += bytes;
  s.next = begin + footprint(bytes);
  auto made = std::make_unique<Allocation>();
  made->begin = begin;
  made->end = begin + bytes;
  made->rank = rank;
  made->kind = MemoryKind::Local;
  made->shared = true;
  made->name = "shared memory";
  shadow_.clear(begin, bytes);
  s.allocations.push_back(std::move(made));
  return s.allocations.back().get();
}

void Arena::resetShared(int rank, int slot) {
  SharedArea& s = shared_[size_t(rank) * size_t(slots_) + size_t(slot)];
  if (s.allocations.empty()) return;
  s.next = s.used = 0;
  forgetFound();
  s.allocations.clear();
}

Address Arena::multicastAddress(int team, Address symmetric) {
  if (!multicastBase_) {
    multicastBytes_ = kMulticastTeams * stride();
    void* p = mmap(nullptr, multicastBytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return 0;
    multicastBase_ = reinterpret_cast<Address>(p);
  }
  size_t window = size_t(std::find(multicastTeams_.begin(), multicastTeams_.end(), team) - multicastTeams_.begin());
  if (window == multicastTeams_.size()) {
    if (window == kMulticastTeams) return 0;
    multicastTeams_.push_back(team);
  }
  return multicastBase_ + (uint64_t(window) << strideBits_) + ((symmetric - base_) & (stride() - 1));
}

bool Arena::resolveMulticast(Address address, int* team, uint64_t* offset) const {
  if (!multicastBase_ || address < multicastBase_ || address >= multicastBase_ + multicastBytes_) return false;
  size_t window = (address - multicastBase_) >> strideBits_;
  if (window >= multicastTeams_.size()) return false;
  *team = multicastTeams_[window];
  *offset = (address - multicastBase_) & (stride() - 1);
  return true;
}

std::vector<Allocation*> Arena::allocationsInOrder() {
  std::vector<Allocation*> all;
  for (Area& a : areas_)
    for (auto& [begin, allocation] : a.allocations) all.push_back(allocation.get());
  return all;
}

}  // namespace tandem::interpreter
