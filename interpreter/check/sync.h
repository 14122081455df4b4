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
  uint32_t puts = 0;
  bool hasSinglePuts = false;  // in `extra`
  bool hasWaits = false;       // in `extra`
  // What it would carry with nothing left out.
  uint32_t now = 0, transfers = 0;

  void addTo(Clock& c) const {
    c.join(common);
    c.join(extra);
    c.raise(keyOf(actor, kEveryThread), everyTime);
    c.raise(keyOf(actor, part), partTime);
    c.raise(keyOf(actor, 0xffff), tileTime);
    if (puts) c.raise(keyOf(actor, putPart), puts);
  }
  void addAllTo(Clock& c) const {
    addTo(c);
    c.raise(keyOf(actor, kEveryThread), now);
    c.raise(keyOf(actor, kAllTransfers), transfers);
  }
};

// One update of a place, in the order of its modification, and how many releases of its chain a reader of it acquires.
struct UpdatePoint {
  Stamp by;
  uint64_t value = 0, number = 0;
  size_t releases = 0;
};

// What a wait acquires: releases of a chain up to a point. `number` is the point's; 0: the value was there before all updates.
struct Acquired {
  const std::vector<Release>* releases = nullptr;
  size_t count = 0;
  uint64_t number = 0;
};

// A place of memory that strong writes go to. An update that does not depend on the old value begins a chain.
class SyncPlace {
 public:
  struct Chain {
    std::vector<Release> releases;
    std::vector<UpdatePoint> points;  // only the first one of those whose releases have been merged
  };
  uint64_t version = 0;
  uint32_t key = 0;                             // of the numbers of its updates, in clocks; 0: none knows them
  std::unordered_map<uint32_t, uint64_t> seen;  // by actor: the number of the update its last wait had to see

  const std::vector<Release>& releases() const { return chains_.back().releases; }
  void beginChain() {
    ++version;
    if (chains_.back().releases.empty() && chains_.back().points.empty()) return;
    chains_.emplace_back();
    if (chains_.size() <= kChainsKept) return;
    chains_.erase(chains_.begin());
    knowsInitial_ = false;
  }
  void add(Release r) {
    ++version;
    std::vector<Release>& all = chains_.back().releases;
    all.push_back(std::move(r));
    if (all.size() > kReleasesKept) merge(chains_.back());
  }
  // No older value is left for this actor to see.
  void sees(const Stamp& by) {
    if (!numbers_) return;
    seen[by.actor] = numbers_;
    comesAfter(by, numbers_);
  }
  // Somebody has had to see the update of this number.
  void comesAfter(const Stamp& by, uint64_t number) {
    if (number < lastSeen_) return;
    lastSeen_ = number;
    seenBy_ = by;
  }
  uint64_t newest() const { return numbers_; }
  bool isAcquired() const { return lastSeen_ == numbers_; }
  const Stamp& seenBy() const { return seenBy_; }
  // The update that somebody has had to see, of those that are remembered.
  const UpdatePoint* lastSeen() const { return update(lastSeen_); }
  const UpdatePoint* update(uint64_t number) const {
    for (const Chain& c : chains_)
      for (const UpdatePoint& u : c.points)
        if (u.number == number) return &u;
    return nullptr;
  }
  // `reads`: an atomic, which has seen the value before.
  void wrote(const Stamp& by, uint64_t old, uint64_t now, bool reads) {
    if (numbers_ && old != value_) forgetPast();
    if (!numbers_) {
      initial_ = old;
      knowsInitial_ = true;
    }
    value_ = now;
    bool isLook = reads && old == now && isAcquired();
    chains_.back().points.push_back({by, now, ++numbers_, chains_.back().releases.size()});
    if (isLook) comesAfter(by, numbers_);
  }

  // The first update that the reader may have seen and that ends its wait: not one before an update that it knows of.
  // `ends(value)`, `knows(update)`. Everything, when the memory holds what no update has written.
  template <class Ends, class Knows>
  Acquired earliest(uint64_t held, uint32_t actor, Ends ends, Knows knows) const {
    Acquired all{&chains_.back().releases, chains_.back().releases.size(), numbers_};
    if (!numbers_ || held != value_) return all;
    auto past = seen.find(actor);
    uint64_t from = past == seen.end() ? 0 : past->second;
    for (const Chain& c : chains_)
      for (const UpdatePoint& u : c.points)
        if (u.number > from && knows(u.by)) from = u.number;
    if (from == 0 && knowsInitial_ && ends(initial_)) return {&chains_.front().releases, 0, 0};
    for (const Chain& c : chains_)
      for (const UpdatePoint& u : c.points)
        if (u.number >= from && ends(u.value)) return {&c.releases, u.releases, u.number};
    return all;
  }

 private:
  static constexpr size_t kChainsKept = 6, kReleasesKept = 16;
  std::vector<Chain> chains_{1};
  uint64_t numbers_ = 0, value_ = 0, initial_ = 0, lastSeen_ = 0;
  Stamp seenBy_;
  bool knowsInitial_ = false;

  // Somebody else has written here: what came before is no value that a wait may still see.
  void forgetPast() {
    chains_.erase(chains_.begin(), chains_.end() - 1);
    chains_.back().points.clear();
    numbers_ = lastSeen_ = 0;
    key = 0;
    seen.clear();
  }
  // Of a long chain of updates: those of one rank and scope as one. Who knows its beginning sees no earlier chain.
  static void merge(Chain& chain) {
    chain.points.resize(std::min<size_t>(chain.points.size(), 1));
    std::vector<Release>& releases = chain.releases;
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
    for (UpdatePoint& u : chain.points) u.releases = std::min(u.releases, releases.size());
  }
};

struct SignalUpdate {
  Stamp by;
  bool sets = false;
  uint64_t value = 0, number = 0;  // SyncPlace's
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
template <class Value>
class ByAddress {
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
