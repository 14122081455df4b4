// A clock's entries are sorted; a join that brings no new key, or nothing new, costs no copy.
#include "interpreter/check/clock.h"
#include <algorithm>

namespace tandem::interpreter::check {
namespace {

bool byKey(const Clock::Entry& e, ClockKey key) { return e.key < key; }

// How two clocks' entries differ: what each has beyond the other.
struct Difference {
  bool isMineNewer = false, isTheirsNewer = false, hasTheirsMoreKeys = false;
};
Difference differenceOf(const std::vector<Clock::Entry>& mine, const std::vector<Clock::Entry>& theirs) {
  Difference d;
  auto at = mine.begin();
  for (const Clock::Entry& e : theirs) {
    for (; at != mine.end() && at->key < e.key; ++at) d.isMineNewer = true;
    bool isShared = at != mine.end() && at->key == e.key;
    d.hasTheirsMoreKeys |= !isShared;
    d.isTheirsNewer |= !isShared || at->time < e.time;
    d.isMineNewer |= isShared && at->time > e.time;
    if (isShared) ++at;
  }
  d.isMineNewer |= at != mine.end();
  return d;
}

}  // namespace

uint32_t Clock::get(ClockKey key) const {
  if (!entries_) return 0;
  auto at = std::lower_bound(entries_->begin(), entries_->end(), key, byKey);
  return at != entries_->end() && at->key == key ? at->time : 0;
}

std::vector<Clock::Entry>& Clock::own() {
  if (!entries_)
    entries_ = std::make_shared<std::vector<Entry>>();
  else if (entries_.use_count() > 1)
    entries_ = std::make_shared<std::vector<Entry>>(*entries_);
  return *entries_;
}

void Clock::raise(ClockKey key, uint32_t time) {
  if (time == 0 || get(key) >= time) return;
  std::vector<Entry>& entries = own();
  auto at = std::lower_bound(entries.begin(), entries.end(), key, byKey);
  if (at != entries.end() && at->key == key)
    at->time = time;
  else
    entries.insert(at, {key, time});
}

void Clock::join(const Clock& other) {
  if (!other.entries_ || entries_ == other.entries_) return;
  if (!entries_) {
    entries_ = other.entries_;
    return;
  }
  Difference d = differenceOf(*entries_, *other.entries_);
  if (!d.isTheirsNewer) return;
  if (!d.isMineNewer) {
    entries_ = other.entries_;
    return;
  }
  if (!d.hasTheirsMoreKeys && entries_.use_count() == 1) {
    auto at = entries_->begin();
    for (const Entry& e : *other.entries_) {
      while (at->key < e.key) ++at;
      at->time = std::max(at->time, e.time);
    }
    return;
  }
  auto merged = std::make_shared<std::vector<Entry>>();
  merged->reserve(entries_->size() + other.entries_->size());
  auto a = entries_->begin(), aEnd = entries_->end();
  for (const Entry& e : *other.entries_) {
    while (a != aEnd && a->key < e.key) merged->push_back(*a++);
    if (a != aEnd && a->key == e.key)
      merged->push_back({e.key, std::max(e.time, (a++)->time)});
    else
      merged->push_back(e);
  }
  merged->insert(merged->end(), a, aEnd);
  entries_ = std::move(merged);
}

Clock Clock::beyond(const Clock& other, uint32_t actor) const {
  if (!entries_ || !other.entries_) return *this;
  Clock found;
  auto at = other.entries_->begin(), end = other.entries_->end();
  for (const Entry& e : *entries_) {
    while (at != end && at->key < e.key) ++at;
    bool isThere = at != end && at->key == e.key && at->time >= e.time;
    if (!isThere || e.key >> 16 == actor) found.own().push_back(e);
  }
  return found;
}

uint32_t Clock::latestOf(uint32_t actor) const {
  uint32_t latest = 0;
  if (!entries_) return latest;
  for (auto at = std::lower_bound(entries_->begin(), entries_->end(), keyOf(actor, 0), byKey);
       at != entries_->end() && at->key >> 16 == actor; ++at)
    if (!isTransfer(Part(at->key)) && Part(at->key) != kAllTransfers) latest = std::max(latest, at->time);
  return latest;
}

}  // namespace tandem::interpreter::check
