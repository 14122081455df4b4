// Updates that give the same value in any order: an add, a bit that is set or cleared, a maximum. A wait may have ended
// when any of them was still to come, if the others were enough for it (M6).
#include "interpreter/check/checker.h"
#include "interpreter/kernels/elem_traits.h"
#include "interpreter/kernels/kernels.h"
#include "interpreter/vm/run.h"
#include <algorithm>

namespace tandem::interpreter::check {

uint64_t Commuting::after(uint64_t value) const {
  if (op == RmwOp::Add) return value + operand;
  uint64_t before = 0;
  applyRmw(op, elem, &value, &operand, &before);
  return value;
}

// Returns what an update does to its word whatever the value there; nothing for one whose program uses the old value, and
// so knows its place.
std::optional<Commuting> Checker::commutingOf(const MemoryAccess& a, uint64_t old, uint64_t now) const {
  if (a.isSignal && a.sets) return std::nullopt;
  if (a.isSignal) return Commuting{RmwOp::Add, a.bytes == 4 ? Elem::I32 : Elem::I64, now - old};
  if (a.kind != AccessKind::Atomic || !a.run || !a.type) return std::nullopt;
  const Prepared& i = a.run->prepared->code[a.run->pc];
  if (i.op != Op::AtomicRmw || i.resultUsed || isFloat(*a.type)) return std::nullopt;
  auto with = [&](uint64_t operand) { return Commuting{RmwOp(i.sub), *a.type, operand}; };
  switch (RmwOp(i.sub)) {
    case RmwOp::Add: return with(now - old);
    case RmwOp::And: return with(~(old & ~now));
    case RmwOp::Or: return with(now & ~old);
    case RmwOp::Xor: return with(old ^ now);
    case RmwOp::Max:
    case RmwOp::Min:
    case RmwOp::UMax:
    case RmwOp::UMin: return with(now);
    default: return std::nullopt;
  }
}

// Updates of a kind that nothing orders come in any order: a wait may have ended before one of them if the others are
// enough for it.
Checker::Spared Checker::sparedBy(const MemoryAccess& a, const SyncPlace& place, uint64_t last,
                                  const std::function<bool(uint64_t)>& ends) {
  constexpr uint64_t kFewest = 64, kMostPairs = 1 << 16;
  View v = viewOf(a);
  Stamp now = stampOf(a, v);
  auto look = place.looks.find({now.actor, now.part});
  auto isKnown = [&](uint64_t n) {
    const Stamp& by = place.update(n)->by;
    Part mine, theirs;
    return (look != place.looks.end() && n <= look->second.number) || knowsUpdate(v, now, &place, {by, 0, n}) ||
           ordered(v, now, by, a.address, a.address + a.bytes, &mine, &theirs);
  };
  uint64_t first = std::max(lastLearnt(v, now, place), look != place.looks.end() ? look->second.number : 0) + 1;
  first = std::max(first, place.oldest());
  if (last < first || !place.update(last)->commuting) return {};
  const Commuting& kind = *place.update(last)->commuting;
  auto isOfKind = [&](uint64_t n) { return place.update(n)->commuting && place.update(n)->commuting->isLike(kind); };
  for (uint64_t n = last; n >= first; --n)
    if (!isOfKind(n)) first = n + 1;
  while (first <= last && isKnown(first)) ++first;
  Spared spared;
  if (last < first) return spared;
  // Updates that have come since may take its place: as many as the wait is for are looked at.
  uint64_t end = last, furthest = std::min(place.newest(), last + std::max(kFewest, last - first));
  while (end < furthest && isOfKind(end + 1)) ++end;
  std::map<uint64_t, bool> asked;
  auto isEnough = [&](uint64_t value) {
    auto [answer, isNew] = asked.try_emplace(value);
    if (isNew) answer->second = ends(value);
    return answer->second;
  };
  bool adds = kind.op == RmwOp::Add;
  auto any = [&](uint64_t number, auto isIt) {
    bool found = false;
    place.eachRelease(number, [&](uint64_t, const Release& r) { found = found || isIt(r); });
    return found;
  };
  // Those that came before the wait looked; the others may come later, whatever their numbers.
  std::vector<std::optional<bool>> known(end + 1 - first);
  auto isBefore = [&](uint64_t n) {
    auto& answer = known[n - first];
    if (!answer) answer = n <= last && isKnown(n);
    return *answer;
  };
  // Those that are sure to come behind an update, because their authors have seen it or release too little to tell, by the
  // last number behind which they come.
  std::multimap<uint64_t, uint64_t, std::greater<>> following;
  for (uint64_t n = first + 1; n <= end; ++n) {
    uint64_t seen = any(n, [](auto& r) { return r.isFull; }) ? place.update(n)->seen : n - 1;
    if (seen >= first) following.emplace(std::min(seen, n - 1), n);
  }
  auto behindAll = following.begin();
  uint64_t lost = 0;  // by those that follow an add
  // Each waiter judges only some of very many updates, and other waiters other ones.
  uint64_t stride = 1 + (last - first) * (end - first) / kMostPairs;
  for (uint64_t n = last; n >= first; --n) {
    if ((n + now.actor + now.time) % stride) continue;
    for (; behindAll != following.end() && behindAll->first >= n; ++behindAll)
      lost += place.update(behindAll->second)->commuting->operand;
    // A wait that can do without several adds can do without one of them: first without those that are sure to follow.
    uint64_t all = place.valueOf(end), without = all - place.update(n)->commuting->operand - lost;
    if ((adds && isEnough(all) && !isEnough(without)) || isBefore(n)) continue;
    std::vector<Stamp> behind{place.update(n)->by};  // it and those that may follow it
    std::vector<bool> isBehind(end + 1 - first);
    isBehind[n - first] = true;
    auto follows = [&](uint64_t other) {
      isBehind[other - first] = true;
      behind.push_back(place.update(other)->by);
    };
    for (auto f = following.begin(); f != behindAll; ++f) follows(f->second);
    for (uint64_t other = n + 1; other <= end; ++other) {
      auto isCarried = [&](const Stamp& s) { return any(other, [&](auto& r) { return carries(r, s); }); };
      if (!isBehind[other - first] && std::ranges::any_of(behind, isCarried)) follows(other);
    }
    uint64_t value = place.valueOf(first - 1);
    bool isSure = false;  // as something behind it is known
    for (uint64_t other = first; other <= last; ++other) {
      if (!isBefore(other)) continue;
      isSure = isSure || isBehind[other - first];
      value = place.update(other)->commuting->after(value);
    }
    if (isSure) continue;
    std::optional<uint64_t> enough;  // the last of the others with which the wait may end
    if (isEnough(value)) enough = first - 1;
    for (uint64_t other = first; other <= end; ++other) {
      if (isBehind[other - first] || isBefore(other)) continue;
      value = place.update(other)->commuting->after(value);
      if (isEnough(value)) enough = other;
    }
    if (!enough) continue;
    std::vector<const Release*> certain;  // the last ones first, since these carry the most
    for (uint64_t other = end; other >= first; --other)
      if (!isBehind[other - first] && (other <= *enough || isBefore(other)))
        place.eachRelease(other, [&](uint64_t, const Release& r) { certain.push_back(&r); });
    place.eachRelease(n, [&](uint64_t k, const Release& r) { spared[k] = sharedWith(r, certain); });
  }
  return spared;
}

// Returns true if a release's author knew of an access, though the release may leave it out.
bool Checker::carries(const Release& r, const Stamp& s) const {
  if (actors_.covers(r.common, s, s.part) || actors_.covers(r.extra, s, s.part)) return true;
  return r.actor == s.actor && s.time <= (isTransfer(s.part) ? r.transfers : r.now);
}

// The part of a release that others carry, too. Transfers are taken to be known.
Release Checker::sharedWith(const Release& r, const std::vector<const Release*>& certain) const {
  Release out;
  out.actor = r.actor;
  out.rank = r.rank;
  out.scope = r.scope;
  out.fence = r.fence;
  r.addTo(out.common);
  std::vector<Clock::Entry> lacking;
  out.common.each([&](const Clock::Entry& e) {
    Part part = Part(e.key);
    Stamp stamp{.actor = actorOf(e.key), .time = e.time, .part = part};
    auto isCarried = [&](const Release* other) { return carries(*other, stamp); };
    if (e.key >> 60 || isTransfer(part) || part == kAllTransfers || std::ranges::any_of(certain, isCarried)) return;
    uint32_t time = 0;
    for (const Release* other : certain) {
      uint32_t own = other->actor == stamp.actor ? other->now : 0;
      time = std::max({time, own, other->common.get(e.key), other->extra.get(e.key)});
    }
    lacking.push_back({e.key, std::min(time, e.time)});
  });
  out.common.prune([&](const Clock::Entry& e) {
    return std::ranges::any_of(lacking, [&](const Clock::Entry& l) { return l.key == e.key; });
  });
  for (const Clock::Entry& l : lacking) out.common.raise(l.key, l.time);
  return out;
}

}  // namespace tandem::interpreter::check
