// These rules find signals that are used twice without order: two updates either of which may come last, and updates
// that take a value away while a waiter waits for it (M11, M15).
#include "interpreter/check/checker.h"
#include "interpreter/memory/access.h"
#include "interpreter/vm/fail.h"
#include "interpreter/vm/run.h"
#include <algorithm>

namespace tandem::interpreter::check {

std::string Checker::valueText(uint64_t value, uint64_t bytes) {
  return std::to_string(bytes == 4 ? int64_t(int32_t(value)) : int64_t(value));
}

void Checker::wrote(const MemoryAccess& a, uint64_t old, uint64_t now) {
  if (m_.failed || a.preserves) return;
  AsOfThen then(*this, a);
  SyncPlace* written = sync_.find(a.address);
  if (written) remember(*written, a, old, now);
  if (!a.isSignal && a.run) noteLock(a, old, now);
  SignalUses* uses = a.isSignal ? &signals_.at(a.address) : signals_.find(a.address);
  if (!uses) {
    if (written) findLost(a, *written);
    return;
  }
  const SyncPlace* place = written;
  View v = viewOf(a);
  Stamp by = lastStrong_;
  bool isNotify = a.run && isWhole(a) && a.semantic == Semantic::Release;  // its threads meet before it (M5)
  auto after = [&](const Stamp& s) {
    Part mine, theirs;
    return (isNotify && s.actor == by.actor) || ordered(v, by, s, a.address, a.address + a.bytes, &mine, &theirs);
  };
  auto afterUpdate = [&](const SignalUpdate& u) { return after(u.by) || knowsUpdate(v, by, place, u); };
  auto afterWait = [&](const SignalLook& w) { return after(w.by) || knowsWait(v, by, w.by); };
  auto conflicts = [&](const SignalList<SignalUpdate>& earlier, bool sets) {
    auto u = std::find_if(earlier.all.rbegin(), earlier.all.rend(), [&](const SignalUpdate& u) {
      return !(a.sets && sets && u.value == now) && !afterUpdate(u);
    });
    if (u == earlier.all.rend()) return false;
    misuse(a, u->by,
           std::string(a.sets ? "set" : "add") + " of the signal, to " + valueText(now, a.bytes) +
               ", is not ordered after " + (sets ? "a set" : "an add") + " to " + valueText(u->value, a.bytes) +
               ": either may come last (M11)",
           "the other update");
    return true;
  };
  if (!conflicts(uses->sets, true) && a.sets) conflicts(uses->adds, false);
  unsigned bytes = unsigned(a.bytes);
  for (const SignalLook& w : uses->waiting) {
    if (!holds(w.compare, old, w.value, bytes) || holds(w.compare, now, w.value, bytes)) continue;
    misuse(a, w.by,
           "the update from " + valueText(old, bytes) + " to " + valueText(now, bytes) +
               " takes away the value that a wait for " + signOf(w.compare) + " " + valueText(w.value, bytes) +
               " has not seen yet (M15)",
           "the wait");
    break;
  }
  auto missed = std::find_if(uses->waits.all.rbegin(), uses->waits.all.rend(), [&](const SignalLook& w) {
    return !holds(w.compare, now, w.value, bytes) && !afterWait(w);
  });
  if (missed != uses->waits.all.rend())
    misuse(a, missed->by,
           "the update to " + valueText(now, bytes) + " is not ordered after a wait for " + signOf(missed->compare) +
               " " + valueText(missed->value, bytes) + ": that wait may miss its value and never end (M15)",
           "the wait");
  if (a.sets) {  // an update that conflicts with an erased use also conflicts with the set
    std::erase_if(uses->waits.all, afterWait);
    std::erase_if(uses->adds.all, afterUpdate);
  }
  (a.sets ? uses->sets : uses->adds).add({by, now, place ? place->newest() : 0}, afterUpdate);
}

// A later wait stands for an earlier one of which an update takes no value that it does not take from the later one.
void Checker::noteWait(SignalUses& uses, const View& v, SignalLook look, const MemoryAccess& a) {
  auto isLater = [&](const SignalLook& w) {
    Part mine, theirs;
    return ordered(v, look.by, w.by, a.address, a.address + a.bytes, &mine, &theirs) || knowsWait(v, look.by, w.by);
  };
  // An update may still have the value of one wait for equality, but not of two.
  auto other = std::find_if(uses.waits.all.rbegin(), uses.waits.all.rend(), [&](const SignalLook& w) {
    return look.compare == Compare::Eq && w.compare == look.compare && w.value != look.value && isLater(w);
  });
  const SignalLook* kept = other == uses.waits.all.rend() ? nullptr : &*other;
  uses.waits.add(look, [&](const SignalLook& w) {
    if (w.compare != look.compare || &w == kept) return false;
    bool isWeaker = w.value == look.value || w.compare == Compare::Eq ||
                    (w.compare != Compare::Ne && holds(w.compare, look.value, w.value, unsigned(a.bytes)));
    return isWeaker && isLater(w);
  });
}

void Checker::remember(SyncPlace& place, const MemoryAccess& a, uint64_t old, uint64_t now) {
  remembered_ -= place.remembered();
  std::optional<Commuting> commuting = commutingOf(a, old, now);
  place.wrote({.by = lastStrong_,
               .value = now,
               .commuting = commuting,
               .sets = a.sets || isBlind(a, RmwOp::Xchg),
               .clears = isBlind(a, RmwOp::And),
               .counts = countsOf(a)},
              old, a.kind == AccessKind::Atomic && !a.isSignal);
  if (commuting && !place.looks.empty()) {
    Clock known;
    place.eachRelease(place.newest(), [&](uint64_t, const Release& r) { r.addTo(known); });
    place.comesBehindLooks([&](const Stamp& look) { return actors_.covers(known, look, look.part); });
  }
  if (remembered_ + place.remembered() > m_.options.updatesKept && place.remembered() > 1) place.forgetHalf();
  remembered_ += place.remembered();
}

// A wait may have ended with an update that is forgotten: then its knowledge is not known.
void Checker::exceeded(const MemoryAccess& a, const SyncPlace& place) {
  misuse(a, place.forgotten(),
         "history exceeded: this wait may have ended with one of the signal's first updates, which are forgotten (a "
         "run remembers " +
             std::to_string(m_.options.updatesKept) + " updates); nothing is proven (M6)",
         "the last update forgotten", ReportKind::HistoryExceeded);
}

// Whoever has acquired an update comes after it, though a relaxed one brings nothing else.
void Checker::learnUpdate(const MemoryAccess& a, SyncPlace& place, uint64_t number) {
  const UpdatePoint* update = place.update(number);
  if (!update || a.transfer) return;
  View v = viewOf(a);
  Part mine, theirs;
  if (ordered(v, stampOf(a, v), update->by, a.address, a.address + a.bytes, &mine, &theirs)) return;
  if (!place.key) place.key = newKey();
  ClockKey key = keyOfUpdates(place.key);
  uint32_t upTo = uint32_t(number);
  if (!a.run)
    (a.stream ? serialOf(*a.stream) : hostOf(a.rank)).clock.raise(key, upTo);
  else if (ProgramState& p = stateOf(*a.run); isWhole(a))
    p.common.raise(key, upTo);
  else
    p.extraFor(a.lane, a.run->lanes).raise(key, upTo);
}

bool Checker::knowsUpdate(const View& v, const Stamp& now, const SyncPlace* place, const SignalUpdate& update) {
  return place && update.number && lastLearnt(v, now, *place) >= update.number;
}

// The last update of a place that the actor comes after by what others or its own waits have told it.
uint64_t Checker::lastLearnt(const View& v, const Stamp& now, const SyncPlace& place) {
  if (!place.key) return 0;
  const Clock* extra = v.program ? v.program->extraOf(now.part) : nullptr;
  return std::max(v.clock->get(keyOfUpdates(place.key)), extra ? extra->get(keyOfUpdates(place.key)) : 0);
}

// A plain access behind a wait that has acquired a signal's update, or a later one, comes after it though it was
// relaxed.
bool Checker::acquiredUpdate(const View& v, const Stamp& now, const Stamp& s, uint64_t address) {
  const Site& site = sites_[s.site];
  if (!site.signal || site.kind == AccessKind::Read) return false;
  const SyncPlace* place = sync_.find(address - (uint32_t(address) - s.origin));
  return place && knowsUpdate(v, now, place, {s, 0, place->numberOf(s)});
}

bool Checker::knowsWait(const View& v, const Stamp& now, const Stamp& wait) const {
  auto has = [&](const Clock& c) {
    return std::max(c.get(keyOfWaits(wait.actor, wait.part)), c.get(keyOfWaits(wait.actor, kEveryThread))) >= wait.time;
  };
  const Clock* extra = v.program ? v.program->extraOf(now.part) : nullptr;
  return has(*v.clock) || (extra && has(*extra));
}

// A relaxed update is still ordered after its issuer's waits that have ended, and after the updates that those waits
// follow.
void Checker::orderSignals(ProgramState& p, Part part, bool whole, Release& r) {
  auto take = [&](const Clock& known) {
    known.each([&](const Clock::Entry& e) {
      if (e.key >= kSignalOrder) r.extra.raise(e.key, e.time);
    });
  };
  take(p.common);
  if (const Clock* extra = whole ? nullptr : p.extraOf(part)) take(*extra);
  r.extra.raise(keyOfWaits(p.actor, kEveryThread), whole ? p.time : p.barrierTime);
  r.extra.raise(keyOfWaits(p.actor, part), p.time);
  r.hasWaits = true;
}

// The last update of a place that who looks has seen or knows of: it sees no older one.
uint64_t Checker::lastKnown(const MemoryAccess& a, const SyncPlace& place) {
  View v = viewOf(a);
  Stamp now = stampOf(a, v);
  uint64_t number = place.lastKnown(now.actor, now.part, [&](const Stamp& s) {
    Part mine, theirs;
    return ordered(v, now, s, a.address, a.address + a.bytes, &mine, &theirs);
  });
  return std::max(number, lastLearnt(v, now, place));
}

// The last update that who looks has seen or knows of in whatever order those that commute have come.
uint64_t Checker::lastCertain(const MemoryAccess& a, const SyncPlace& place) {
  View v = viewOf(a);
  Stamp now = stampOf(a, v);
  uint64_t number = lastLearnt(v, now, place);
  for (auto look = place.looks.lower_bound({now.actor, 0}); look != place.looks.end(); ++look) {
    if (look->first.first != now.actor) break;
    Part mine, theirs;
    if (look->first.second == now.part ||
        ordered(v, now, look->second.by, a.address, a.address + a.bytes, &mine, &theirs))
      number = std::max(number, look->second.certain);
  }
  return number;
}

// A wait that begins when the value it waits for is past, though nothing says that it comes so late. Updates before
// `from` have been looked at, and those up to the first one that is not ordered before the wait bring nothing.
bool Checker::isOvertaken(const MemoryAccess& a, const AwaitedSignal& signal, SyncPlace& place, uint64_t from) {
  if (wordAt(m_, signal.address, signal.bytes) != place.value()) return false;
  View v = viewOf(a);
  Stamp now = stampOf(a, v);
  auto unordered = [&](uint64_t number) {
    const UpdatePoint& u = *place.update(number);
    Part mine, theirs;
    return !ordered(v, now, u.by, a.address, a.address + a.bytes, &mine, &theirs) &&
           !knowsUpdate(v, now, &place, {u.by, 0, number});
  };
  uint64_t& known = place.looks[{now.actor, now.part}].allKnown;
  known = std::max(known, place.oldest() - 1);
  while (known < place.newest() && !unordered(known + 1)) ++known;
  for (uint64_t k = std::max({known, from, place.oldest()}); k <= place.newest(); ++k) {
    const UpdatePoint& u = *place.update(k);
    if (!holds(signal.compare, u.value, signal.value, signal.bytes) || (u.by.actor != now.actor && !unordered(k)))
      continue;
    uint64_t over = place.newest();
    while (over > known && !unordered(over)) --over;
    if (over == known) return false;
    misuse(a, place.update(over)->by,
           "the wait for " + std::string(signOf(signal.compare)) + " " + valueText(signal.value, signal.bytes) +
               " begins when that value is past: an update, to " + valueText(place.update(over)->value, signal.bytes) +
               ", has come, and nothing orders it after the wait (M15)",
           "the update");
    return true;
  }
  return false;
}

// The answer goes by the rule that orders waits (M6), not by the value that a wait happened to see.
std::vector<Diagnostic> Checker::unacquired(Address signal) {
  SyncPlace* place = sync_.find(signal);
  if (!place || place->isAcquired() || !place->seenBy().actor) return {};
  auto told = [&](const Stamp& s, const std::string& text) {
    Diagnostic d = placeOfStamp(s);
    d.message = text + accessText(sites_[s.site]) + " by " + actorText(s, s.part);
    return d;
  };
  std::vector<Diagnostic> notes{told(place->seenBy(), "this may end before that update: ")};
  if (const UpdatePoint* enough = place->lastSeen())
    notes.push_back(told(enough->by, "the update that is enough for it: "));
  return notes;
}

void Checker::misuse(const MemoryAccess& a, const Stamp& other, std::string message, std::string otherText,
                     ReportKind kind) {
  Stamp now = a.kind == AccessKind::Read ? stampOf(a, viewOf(a)) : lastStrong_;
  if (!isNew(kind, now, other)) return;
  Report r = begin(now, kind);
  r.message = addressText(m_, a.address, a.bytes) + ": " + message;
  Diagnostic d = placeOfStamp(other);
  d.message = otherText + ": " + accessText(sites_[other.site]) + " by " + actorText(other, other.part);
  r.notes.insert(r.notes.begin(), std::move(d));
  tell(std::move(r));
}

}  // namespace tandem::interpreter::check
