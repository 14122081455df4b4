// The arena has the heaps of all ranks in one reserved range of addresses: allocations, red zones, quarantine, and the
// allocations that signals live in. It knows nothing of programs; a caller's mistake comes back as a fault for the
// caller to report.
#pragma once
#include "interpreter/memory/shadow.h"
#include "interpreter/world.h"
#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace tandem::interpreter {

struct Waiter;

// Marks the translation of an address that is not in its rank's symmetric memory: no address of the heaps has this bit.
constexpr uint64_t kStray = 1ull << 62;

// The last writer of a signal, and the value that it wrote.
struct SignalRecord {
  bool isSignal = false;  // a signal operation or a wait named this address
  bool written = false;
  bool acquired = false;  // somebody saw the last update
  uint8_t bytes = 8;
  int rank = -1;
  std::array<int32_t, 3> id{-1, -1, -1};
  const Program* program = nullptr;  // null: the host or a stream
  uint32_t location = 0;
  uint64_t value = 0;
  int64_t timeNs = 0;
};

// A copy of bytes that nothing had written, to `end`: they are still unwritten where it put them.
struct UnwrittenCopy {
  Address end = 0;
  const Program* program = nullptr;
  uint32_t location = 0;
};

struct Allocation {
  Address begin = 0, end = 0;
  uint64_t shift = 0;           // not 0: the bytes are the host's, which lie so far behind their addresses here
  uint32_t uses = 1;            // of the host's memory: mappings that have not ended
  std::shared_ptr<void> owner;  // of the host's memory, where the arena keeps it alive
  int rank = 0;
  int team = 0;  // of symmetric memory
  MemoryKind kind{};
  bool freed = false;
  bool initialised = false;  // whole: no look at the shadow is needed
  bool shared = false;       // a program's shared memory
  bool holdsSignals = false;
  bool written = false;                     // since it was made, by other than the host itself
  bool viewed = false;                      // some of its bytes are or were in Arena::views
  std::array<int32_t, 3> swizzle{1, 1, 1};  // of a shared buffer: elements of a vector, rows per phase, phases
  std::string name, hostFile;
  uint32_t hostLine = 0;
  uint32_t freedLine = 0;
  std::string freedFile;
  std::multimap<Address, Waiter*> waiters;  // programs and streams that wait for a change inside, by where it begins
  uint32_t longestWaiter = 0;               // bytes
  std::unordered_map<Address, SignalRecord> signals;
  std::map<Address, UnwrittenCopy> unwrittenCopies;  // by where they begin

  void* bytesAt(Address address) const { return reinterpret_cast<void*>(address + shift); }
};

// The ranks that make a symmetric allocation.
struct Sharers {
  int team = 0;
  std::span<const int> members;
};

class Arena {
 public:
  static constexpr uint64_t kAlignment = 256, kRedZone = 256, kSharedBytes = 1 << 20, kSharedAlignment = 1024;

  Arena(int rankCount, int slotsPerRank, uint64_t heapBytesPerRank);
  ~Arena();

  struct Allocated {
    Allocation* allocation = nullptr;
    uint64_t otherBytes =
        0;  // not equal to the size asked for: another rank's allocation of the same index is of this size
    bool asymmetric = false;
  };
  // `sharers`: of a symmetric allocation.
  Allocated allocate(int rank, uint64_t bytes, MemoryKind kind, bool initialised, Sharers sharers = {});
  // Gives the host's memory addresses of `rank`; accesses of these are accesses of the host's memory. The same memory
  // has one place.
  Allocation* map(int rank, const HostMemory& memory);
  // Ends one mapping; says whether others of the same memory go on.
  bool unmap(Allocation& a);
  // The rank's mapping that holds an address of the host, or null.
  Allocation* mappingOf(int rank, Address hostAddress) const;
  enum class Freed : uint8_t { Ok, Double, Invalid };
  Freed release(int rank, Address address, Allocation** found);

  // The live or freed allocation that holds `address`, or null (red zone, wild, null).
  Allocation* find(Address address) {
    auto holds = [&](const Allocation* a) { return a && address >= a->begin && address < a->end; };
    if (holds(last_)) return last_;
    Allocation*& hit = cache_[(address >> 8) & (kCache - 1)];
    if (holds(hit)) return last_ = hit;
    Allocation* found = lookUp(address);
    if (found) last_ = hit = found;
    return found;
  }
  bool isShared(Address address) {
    Allocation* a = find(address);
    return a && a->shared;
  }
  // Returns the place of the bytes of an address.
  void* bytesAt(Address address) {
    Allocation* a = mappings_.empty() ? nullptr : find(address);
    return a ? a->bytesAt(address) : reinterpret_cast<void*>(address);
  }
  // Returns true if the address is in some rank's heap.
  bool holds(Address address) const { return address - base_ < reserved_; }
  // The allocation nearest below or around `address` on its rank, for "past the end of" messages; may be null.
  Allocation* nearest(Address address);
  // The first allocation above `address` on its rank; may be null.
  Allocation* following(Address address);

  // Shared memory of one resident slot: bump allocation, reset when the program ends. Returns null beyond the limit
  // that a block of a GPU has.
  static constexpr uint64_t kMaxSharedBytes = 227 * 1024;
  Allocation* allocateShared(int rank, int slot, uint64_t bytes);
  void resetShared(int rank, int slot);

  Address base() const { return base_; }
  uint64_t reservedBytes() const { return reserved_; }
  uint64_t stride() const { return 1ull << strideBits_; }
  int rankCount() const { return rankCount_; }
  // The rank whose heap holds the address, or -1.
  int rankOf(Address a) const {
    if (a < base_ || a >= base_ + (uint64_t(rankCount_) << strideBits_)) return -1;
    return int((a - base_) >> strideBits_);
  }
  bool isSymmetric(Address a) const { return rankOf(a) >= 0 && ((a - base_) & (stride() - 1)) < stride() / 2; }
  Address at(Address a, int rank) const {
    return base_ + (uint64_t(rank) << strideBits_) + ((a - base_) & (stride() - 1));
  }

  // Multicast windows: one a team, never readable. Gives the heap offset back from a window address.
  Address multicastAddress(int team, Address symmetric);
  bool resolveMulticast(Address address, int* team, uint64_t* offset) const;

  Shadow& shadow() { return shadow_; }
  // Bytes that count as written only because the host has had an array over them.
  Shadow& views() { return views_; }
  std::vector<Allocation*> allocationsInOrder();

 private:
  struct Area {  // one kind of memory of one rank
    Address begin = 0, next = 0, end = 0;
    std::map<Address, std::unique_ptr<Allocation>> allocations;
    std::vector<Address> quarantine;  // oldest first
    std::map<int, size_t> sequence;   // of symmetric allocations, by team
  };
  struct SharedArea {
    Address next = 0;
    uint64_t used = 0;  // bytes, without red zones
    std::vector<std::unique_ptr<Allocation>> allocations;
  };
  Allocation* lookUp(Address address);
  void forgetFound() {
    std::fill(cache_.begin(), cache_.end(), nullptr);
    last_ = nullptr;
  }
  // A team's symmetric allocation, by the member that came first.
  struct Symmetric {
    uint64_t bytes = 0;
    uint64_t offset = 0;  // of each member's part; 0: there was no room, and one that they have freed has its place
  };
  uint64_t claim(uint64_t bytes, std::span<const int> members);
  Allocation* carve(Area& area, uint64_t bytes, std::optional<uint64_t> offset, int team);
  Area& area(int rank, MemoryKind kind) { return areas_[size_t(rank) * 2 + (kind == MemoryKind::Symmetric ? 0 : 1)]; }

  static constexpr size_t kCache = 1024;
  int rankCount_, slots_;
  unsigned strideBits_ = 0;
  Address base_ = 0, sharedBase_ = 0, multicastBase_ = 0;
  uint64_t reserved_ = 0, multicastBytes_ = 0;
  static constexpr int kMulticastTeams = 16;
  std::vector<int> multicastTeams_;
  std::vector<Area> areas_;
  std::vector<SharedArea> shared_;
  std::map<int, std::vector<Symmetric>> symmetric_;               // by team
  std::multimap<std::pair<int, Address>, Allocation*> mappings_;  // by rank and where the host's memory begins
  std::vector<Allocation*> cache_ = std::vector<Allocation*>(kCache);
  Allocation* last_ = nullptr;  // what find() returned last
  Shadow shadow_, views_;
};

}  // namespace tandem::interpreter
