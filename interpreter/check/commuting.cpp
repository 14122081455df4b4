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

namespace {

// What the releases of some updates carry, each clock once: many authors share the clock with which they began.
class CarriedClocks {
 public:
  struct One {
    Clock clock;
    std::vector<size_t> by;  // places in the window
  };
  struct Own {  // a release knows of its author's accesses
    size_t place = 0;
    uint32_t now = 0, transfers = 0;
  };
  std::vector<One> clocks;
  std::unordered_map<uint32_t, std::vector<Own>> own;  // by actor

  void add(size_t place, const Release& r) {
    own[r.actor].push_back({place, r.now, r.transfers});
    for (const Clock* clock : {&r.common, &r.extra}) {
      if (clock->empty()) continue;
      auto [known, isNew] = index_.try_emplace(clock->identity(), clocks.size());
      if (isNew) clocks.push_back({*clock, {}});
      std::vector<size_t>& by = clocks[known->second].by;
      if (by.empty() || by.back() != place) by.push_back(place);
    }
  }
  // Calls body(clock) for each clock, and body of one's own, of which some place is among those that count, until it
  // says true.
  template <class Counts, class Body>
  bool anyClock(Counts counts, Body body) const {
    return std::ranges::any_of(clocks,
                               [&](const One& one) { return std::ranges::any_of(one.by, counts) && body(one.clock); });
  }
  template <class Counts, class Body>
  bool anyOwn(uint32_t actor, Counts counts, Body body) const {
    auto mine = own.find(actor);
    return mine != own.end() && std::ranges::any_of(mine->second.rbegin(), mine->second.rend(),
                                                    [&](const Own& o) { return counts(o.place) && body(o); });
  }

 private:
  std::unordered_map<const void*, size_t> index_;
};

}  // namespace

// The updates of a place of which a wait may have seen some and not others, in the order of their numbers.
struct Checker::Window {
  const SyncPlace& place;
  uint64_t first = 0, last = 0;  // those that have ended the wait in this run
  std::vector<uint64_t> numbers;
  CarriedClocks carried;
  bool isCarried = false;

  size_t size() const { return numbers.size(); }
  // Puts together what they carry, once it is asked for.
  void carry() {
    for (size_t k = 0; k < size() && !isCarried; ++k)
      eachRelease(k, [&](uint64_t, const Release& r) { carried.add(k, r); });
    isCarried = true;
  }
  // Returns, for each add, what it and the later ones of its author, which follow it, add together.
  std::vector<uint64_t> addsOfAuthors() const {
    std::vector<uint64_t> sums(size());
    std::unordered_map<uint32_t, uint64_t> ofAuthor;
    for (size_t k = size(); k-- > 0;) {
      uint64_t own = at(k).commuting->operand;
      sums[k] = isTransfer(at(k).by.part) ? own : ofAuthor[at(k).by.actor] += own;
    }
    return sums;
  }
  const UpdatePoint& at(size_t k) const { return *place.update(numbers[k]); }
  template <class Body>
  void eachRelease(size_t k, Body body) const {
    place.eachRelease(numbers[k], body);
  }
  template <class Is>
  bool anyRelease(size_t k, Is isIt) const {
    bool found = false;
    eachRelease(k, [&](uint64_t, const Release& r) { found = found || isIt(r); });
    return found;
  }
};

// Updates that have come since may take the place of those that ended the wait: as many as the wait is for are looked at,
// and the first ones of authors that have none among them.
Checker::Window Checker::windowOf(const SyncPlace& place, uint64_t first, uint64_t last) const {
  constexpr uint64_t kFewest = 64, kMostAuthors = 64, kOfEach = 8;
  Window w{place, first, last, {}, {}, false};
  const Commuting& kind = *place.update(last)->commuting;
  auto isOfKind = [&](uint64_t n) { return place.update(n)->commuting && place.update(n)->commuting->isLike(kind); };
  uint64_t end = last, furthest = std::min(place.newest(), last + std::max(kFewest, last - first));
  while (end < furthest && isOfKind(end + 1)) ++end;
  for (uint64_t n = first; n <= end; ++n) w.numbers.push_back(n);
  if (end == place.newest() || place.sameKindSince() > last || place.authorCount() > kMostAuthors) return w;
  std::vector<uint64_t> far;
  std::vector<Stamp> skipped;  // of each author the first one that is left out
  place.eachAuthor([&](const std::vector<uint64_t>& numbers) {
    auto next = std::ranges::upper_bound(numbers, end);
    bool isThere = next != numbers.begin() && *(next - 1) >= first;
    for (uint64_t k = 0; next != numbers.end() && !isThere && k < kOfEach; ++k) far.push_back(*next++);
    if (next != numbers.end()) skipped.push_back(place.update(*next)->by);
  });
  std::ranges::sort(far);
  for (uint64_t n : far) {
    bool isFree = true;  // from those that are left out
    place.eachRelease(n, [&](uint64_t, const Release& r) {
      isFree = isFree && std::ranges::none_of(skipped, [&](const Stamp& s) { return carries(r, s); });
    });
    if (isFree) w.numbers.push_back(n);
  }
  return w;
}

// Updates of a kind that nothing orders come in any order: a wait may have ended before one of them if the others are
// enough for it.
Checker::Spared Checker::sparedBy(const MemoryAccess& a, const SyncPlace& place, uint64_t last,
                                  const std::function<bool(uint64_t)>& ends) {
  constexpr uint64_t kMostPairs = 1 << 18, kMostFollowed = 1 << 16, kMany = 64;
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
  for (uint64_t n = last; n >= first; --n)
    if (const auto& c = place.update(n)->commuting; !c || !c->isLike(kind)) first = n + 1;
  while (first <= last && isKnown(first)) ++first;
  Spared spared;
  if (last < first) return spared;
  Window w = windowOf(place, first, last);
  size_t size = w.size(), upTo = size_t(last - first) + 1;  // this many have ended the wait
  std::map<uint64_t, bool> asked;
  auto isEnough = [&](uint64_t value) {
    auto [answer, isNew] = asked.try_emplace(value);
    if (isNew) answer->second = ends(value);
    return answer->second;
  };
  bool adds = kind.op == RmwOp::Add;
  // Those that came before the wait looked; the others may come later, whatever their numbers.
  std::vector<std::optional<bool>> known(size);
  auto isBefore = [&](size_t k) {
    if (!known[k]) known[k] = k < upTo && isKnown(w.numbers[k]);
    return *known[k];
  };
  // Those that are sure to come behind an update, because their authors have seen it or release too little to tell, by the
  // last number behind which they come.
  std::multimap<uint64_t, size_t, std::greater<>> following;
  for (size_t k = 1; k < size; ++k) {
    uint64_t n = w.numbers[k], seen = w.anyRelease(k, [](auto& r) { return r.isFull; }) ? w.at(k).seen : n - 1;
    if (seen >= first) following.emplace(std::min(seen, n - 1), k);
  }
  auto behindAll = following.begin();
  uint64_t lost = 0, all = place.valueOf(first - 1);  // by those that follow an add; with all adds
  for (size_t k = 0; adds && k < size; ++k) all += w.at(k).commuting->operand;
  const bool allIsEnough = adds && isEnough(all);
  // The last place up to which each wait without one add of some size may have ended; none: -1.
  std::vector<uint64_t> sums;
  std::vector<long> enoughUpTo;
  std::map<uint64_t, long> enoughWithout;
  auto endsWithout = [&](size_t k) {
    if (sums.empty()) {
      uint64_t sum = place.valueOf(first - 1);
      for (size_t j = 0; j < upTo; ++j)
        if (isBefore(j)) sum += w.at(j).commuting->operand;
      sums.push_back(sum);
      enoughUpTo.push_back(isEnough(sum) ? 0 : -1);
      for (size_t j = 0; j < size; ++j) {
        if (!isBefore(j)) sum += w.at(j).commuting->operand;
        sums.push_back(sum);
        enoughUpTo.push_back(!isBefore(j) && isEnough(sum) ? long(j) + 1 : enoughUpTo.back());
      }
    }
    uint64_t operand = w.at(k).commuting->operand;
    auto [behind, isNew] = enoughWithout.try_emplace(operand, -1);
    for (size_t j = size; isNew && j-- > 0 && behind->second < 0;)
      if (!isBefore(j) && isEnough(sums[j + 1] - operand)) behind->second = long(j) + 1;
    return behind->second > long(k) + 1 ? behind->second : enoughUpTo[k];
  };
  // Each waiter judges only some of very many updates, and other waiters other ones.
  auto isJudged = [&](size_t k, uint64_t pairs, uint64_t most) {
    return (w.numbers[k] + now.actor + now.time) % (1 + pairs / most) == 0;
  };
  std::vector<uint64_t> ofAuthor;  // few are as quickly judged one by one
  if (allIsEnough && size > kMany) ofAuthor = w.addsOfAuthors();
  for (size_t k = upTo; k-- > 0;) {
    for (; behindAll != following.end() && behindAll->first >= w.numbers[k]; ++behindAll)
      lost += w.at(behindAll->second).commuting->operand;
    // A wait that can do without several adds can do without one of them: first without those that are sure to follow.
    auto canSpare = [&] {
      return isEnough(all - w.at(k).commuting->operand - lost) && (ofAuthor.empty() || isEnough(all - ofAuthor[k]));
    };
    if ((allIsEnough && !canSpare()) || isBefore(k)) continue;
    w.carry();
    if (!isJudged(k, upTo * std::max<size_t>(w.carried.clocks.size(), adds ? 1 : size), kMostPairs)) continue;
    const Stamp& by = w.at(k).by;
    auto isLater = [&](size_t place) { return place > k; };
    bool isFollowed =
        behindAll != following.begin() ||
        std::ranges::any_of(w.carried.clocks,
                            [&](auto& c) { return c.by.back() > k && actors_.covers(c.clock, by, by.part); }) ||
        w.carried.anyOwn(by.actor, isLater,
                         [&](auto& o) { return by.time <= (isTransfer(by.part) ? o.transfers : o.now); });
    std::vector<bool> isBehind(isFollowed || !adds ? size : 0);  // it and those that may follow it
    long enough = -1;
    if (isBehind.empty()) {
      enough = endsWithout(k);
    } else {
      if (!isJudged(k, upTo * size, kMostFollowed)) continue;
      std::vector<Stamp> behind{by};
      isBehind[k] = true;
      auto follows = [&](size_t other) {
        isBehind[other] = true;
        behind.push_back(w.at(other).by);
      };
      for (auto f = following.begin(); f != behindAll; ++f) follows(f->second);
      for (size_t other = k + 1; other < size; ++other) {
        auto isCarried = [&](const Stamp& s) { return w.anyRelease(other, [&](auto& r) { return carries(r, s); }); };
        if (!isBehind[other] && std::ranges::any_of(behind, isCarried)) follows(other);
      }
      uint64_t value = place.valueOf(first - 1);
      bool isSure = false;  // as something behind it is known
      for (size_t other = 0; other < upTo; ++other) {
        if (!isBefore(other)) continue;
        isSure = isSure || isBehind[other];
        value = w.at(other).commuting->after(value);
      }
      if (isSure) continue;
      if (isEnough(value)) enough = 0;
      for (size_t other = 0; other < size; ++other) {
        if (isBehind[other] || isBefore(other)) continue;
        value = w.at(other).commuting->after(value);
        if (isEnough(value)) enough = long(other) + 1;
      }
    }
    if (enough < 0) continue;
    auto isCertain = [&](size_t other) {
      bool follows = isBehind.empty() ? other == k : isBehind[other];
      return !follows && (long(other) < enough || isBefore(other));
    };
    w.eachRelease(k, [&](uint64_t number, const Release& r) { spared[number] = sharedWith(r, w, isCertain); });
  }
  return spared;
}

// Returns true if a release's author knew of an access, though the release may leave it out.
bool Checker::carries(const Release& r, const Stamp& s) const {
  if (actors_.covers(r.common, s, s.part) || actors_.covers(r.extra, s, s.part)) return true;
  return r.actor == s.actor && s.time <= (isTransfer(s.part) ? r.transfers : r.now);
}

// The part of a release that certain others of a window carry, too. Transfers are taken to be known.
Release Checker::sharedWith(const Release& r, const Window& w, const std::function<bool(size_t)>& isCertain) const {
  Release out;
  out.actor = r.actor;
  out.rank = r.rank;
  out.scope = r.scope;
  out.fence = r.fence;
  r.addTo(out.common);
  std::vector<const Clock*> clocks;
  w.carried.anyClock(isCertain, [&](const Clock& c) { return clocks.push_back(&c), false; });
  std::vector<Clock::Entry> lacking;
  out.common.each([&](const Clock::Entry& e) {
    Part part = Part(e.key);
    Stamp s{.actor = actorOf(e.key), .time = e.time, .part = part};
    if (e.key >> 60 || isTransfer(part) || part == kAllTransfers) return;
    uint32_t time = 0;
    w.carried.anyOwn(s.actor, isCertain, [&](auto& o) { return time = std::max(time, o.now), time >= s.time; });
    if (time >= s.time || std::ranges::any_of(clocks, [&](auto* c) { return actors_.covers(*c, s, part); })) return;
    for (const Clock* clock : clocks) time = std::max(time, clock->get(e.key));
    lacking.push_back({e.key, std::min(time, e.time)});
  });
  out.common.prune([&](const Clock::Entry& e) {
    return std::ranges::any_of(lacking, [&](const Clock::Entry& l) { return l.key == e.key; });
  });
  for (const Clock::Entry& l : lacking) out.common.raise(l.key, l.time);
  return out;
}

}  // namespace tandem::interpreter::check
