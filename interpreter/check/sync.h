// What strong writes carry to those who read them: messages by address, and how signals have been used.
#pragma once
#include "interpreter/check/actors.h"
#include "interpreter/op.h"
#include <unordered_map>

namespace tandem::interpreter::check {

// A release that a strong read of the address may acquire: two clocks as they were, and times of the releaser itself.
struct Release {
  uint32_t actor = 0;
  int rank = 0;
  Scope scope = Scope::Sys;
  Clock common, extra;
  Part part = kEveryThread;
  uint32_t partTime = 0, everyTime = 0, tileTime = 0;
  Part putPart = 0;  // transfers to one peer up to a number
  uint32_t puts = 0, bulk = 0;
  // What it would carry with nothing left out.
  uint32_t now = 0, transfers = 0;

  void addTo(Clock& c) const {
    c.join(common);
    c.join(extra);
    c.raise(keyOf(actor, kEveryThread), everyTime);
    c.raise(keyOf(actor, part), partTime);
    c.raise(keyOf(actor, 0xffff), tileTime);
    c.raise(keyOf(actor, kBulk), bulk);
    if (puts) c.raise(keyOf(actor, putPart), puts);
  }
  void addAllTo(Clock& c) const {
    addTo(c);
    c.raise(keyOf(actor, kEveryThread), now);
    c.raise(keyOf(actor, kAllTransfers), transfers);
  }
};

struct SyncPlace {
  std::vector<Release> releases;
  uint64_t version = 0;

  void add(Release r) {
    ++version;
    releases.push_back(std::move(r));
    if (releases.size() > 8) merge();
  }

 private:
  // Of a long chain of updates: those of one rank and scope as one.
  void merge() {
    std::vector<Release> kept;
    for (Release& r : releases) {
      Release* same = nullptr;
      for (Release& k : kept)
        if (k.rank == r.rank && k.scope == r.scope && (r.scope != Scope::Cta || k.actor == r.actor)) same = &k;
      if (!same) {
        kept.push_back(std::move(r));
        continue;
      }
      Clock all;
      same->addTo(all);
      r.addTo(all);
      r.common = std::move(all);
      *same = std::move(r);
    }
    releases = std::move(kept);
  }
};

struct SignalUpdate {
  Stamp by;
  bool sets = false;
  uint64_t value = 0;
};
struct SignalLook {
  Stamp by;
  SignalCompare compare{};
  uint64_t value = 0;
};
// A signal's uses that a later one may still conflict with.
struct SignalUses {
  std::vector<SignalUpdate> updates;
  std::vector<SignalUpdate> past;   // a few that others have superseded
  std::vector<SignalLook> waits;    // that have seen what they waited for
  std::vector<SignalLook> waiting;  // that have not
};

// By address, in pages so that a range can be forgotten.
template <class Value> class ByAddress {
 public:
  Value* find(uint64_t address) {
    if (pages_.empty()) return nullptr;
    auto page = pages_.find(address / kPage);
    if (page == pages_.end()) return nullptr;
    auto it = page->second.find(address);
    return it == page->second.end() ? nullptr : &it->second;
  }
  Value& at(uint64_t address) { return pages_[address / kPage][address]; }
  void forget(uint64_t address, uint64_t bytes) {
    if (pages_.empty()) return;
    for (uint64_t page = address / kPage; page <= (address + bytes - 1) / kPage; ++page)
      if (auto it = pages_.find(page); it != pages_.end())
        std::erase_if(it->second, [&](const auto& e) { return e.first - address < bytes; });
  }

 private:
  static constexpr uint64_t kPage = 4096;
  std::unordered_map<uint64_t, std::unordered_map<uint64_t, Value>> pages_;
};

}  // namespace tandem::interpreter::check
