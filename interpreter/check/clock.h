// An actor's knowledge of the others is a sparse vector clock, shared until it changes. Clocks know nothing of memory.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

namespace tandem::interpreter::check {

// A time belongs to an actor (a program, a stream, a host) and to a part of it.
using Part = uint16_t;
constexpr Part kEveryThread = 0xfffd;   // all threads and the tile code together; streams and hosts have no other part
constexpr Part kEach = 0xfffe;          // every thread for itself
constexpr Part kAllTransfers = 0xfffc;  // the transfers of an actor; of a host: those of its rank's programs
constexpr Part kFirstPut = 0x4000, kFirstGet = 0x8000;  // + peer: transfers to or from it
// A program's own bulk copies: the groups of a thread's copies, + thread, in which bulk stores are read before they are written; and
// bulk loads.
constexpr Part kCopied = 0xb000, kStoreRead = 0xb400, kStored = 0xb800, kLoaded = 0xbfff, kEndTransfers = 0xc000;
constexpr bool isTransfer(Part p) { return p >= kFirstPut && p < kEndTransfers; }
constexpr bool isBulk(Part p) { return p >= kCopied && p < kEndTransfers; }

using ClockKey = uint64_t;
constexpr ClockKey keyOf(uint32_t actor, Part part) { return ClockKey(actor) << 16 | part; }
// One transfer by its number, apart from those before it.
constexpr ClockKey keyOfTransfer(uint32_t number) { return ClockKey(1) << 63 | number; }
constexpr bool isOneTransfer(ClockKey key) { return key >> 62 == 2; }
// The updates of one signal up to a number, and the waits of a thread up to a time: relaxed updates still order these
// (M11).
constexpr ClockKey kSignalOrder = ClockKey(3) << 62;
constexpr ClockKey keyOfUpdates(uint32_t signal) { return kSignalOrder | signal; }
constexpr ClockKey keyOfWaits(uint32_t actor, Part part) {
  return kSignalOrder | ClockKey(1) << 61 | keyOf(actor, part);
}
constexpr bool isOfUpdates(ClockKey key) { return key >> 61 == 6; }
// The last proxy fence of a thread, for shared or for global memory: its time is the fence's number.
constexpr ClockKey kProxyFences = ClockKey(3) << 61;
constexpr ClockKey keyOfProxyFence(uint32_t actor, Part part, bool global) {
  return ClockKey(global ? 2 : 1) << 61 | keyOf(actor, part);
}
// Marks knowledge that came over an edge whose only fault is that a fence's scope leaves the other rank out.
constexpr ClockKey kNarrow = ClockKey(1) << 60;
// Returns the actor of a key made by keyOf.
constexpr uint32_t actorOf(ClockKey key) { return uint32_t((key & (kNarrow - 1)) >> 16); }

class Clock {
 public:
  struct Entry {
    ClockKey key;
    uint32_t time;
  };

  uint32_t get(ClockKey key) const;
  void raise(ClockKey key, uint32_t time);
  void join(const Clock& other);
  bool empty() const { return !entries_; }
  bool same(const Clock& other) const { return entries_ == other.entries_; }
  const void* identity() const { return entries_.get(); }  // as long as the clock, or a copy, stays as it is
  size_t size() const { return entries_ ? entries_->size() : 0; }
  // Calls body(entry) for each entry.
  template <class Body>
  void each(Body body) const {
    if (entries_)
      for (const Entry& e : *entries_) body(e);
  }
  // Forgets the entries for which `drop(entry)` is true.
  template <class Drop>
  void prune(Drop drop) {
    if (!entries_) return;
    auto kept = std::make_shared<std::vector<Entry>>();
    for (const Entry& e : *entries_)
      if (!drop(e)) kept->push_back(e);
    if (kept->size() < entries_->size()) entries_ = std::move(kept);
  }
  // The entries that another clock has not, or only with an earlier time, and all of an actor.
  Clock beyond(const Clock& other, uint32_t actor) const;
  // The greatest time of any part of an actor but its transfers.
  uint32_t latestOf(uint32_t actor) const;

 private:
  std::vector<Entry>& own();
  std::shared_ptr<std::vector<Entry>> entries_;  // by key
};

}  // namespace tandem::interpreter::check
