// Signals used twice without order: updates of which either may come last, and updates that take away what a waiter
// waits for (M11, M15).
#include "interpreter/check/checker.h"
#include "interpreter/memory/access.h"
#include "interpreter/vm/fail.h"
#include "interpreter/vm/run.h"
#include <algorithm>

namespace tandem::interpreter::check {
namespace {

constexpr size_t kPastKept = 4;

std::string valueText(uint64_t value, uint64_t bytes) {
  return std::to_string(bytes == 4 ? int64_t(int32_t(value)) : int64_t(value));
}

}  // namespace

void Checker::wrote(const MemoryAccess& a, uint64_t old, uint64_t now) {
  if (m_.failed) return;
  if (SyncPlace* written = sync_.find(a.address))
    written->wrote(lastStrong_, old, now, a.kind == AccessKind::Atomic && !a.isSignal);
  if (!a.isSignal && a.run) noteLock(a, old, now);
  SignalUses* uses = a.isSignal ? &signals_.at(a.address) : signals_.find(a.address);
  if (!uses) return;
  const SyncPlace* place = sync_.find(a.address);
  View v = viewOf(a);
  Stamp by = lastStrong_;
  bool isNotify = a.run && isWhole(a) && a.semantic == Semantic::Release;  // its threads meet before it (M5)
  auto after = [&](const Stamp& s) {
    Part mine, theirs;
    return (isNotify && s.actor == by.actor) || ordered(v, by, s, a.address, a.address + a.bytes, &mine, &theirs);
  };
  auto afterUpdate = [&](const SignalUpdate& u) { return after(u.by) || knowsUpdate(v, by, place, u); };
  auto afterWait = [&](const SignalLook& w) { return after(w.by) || knowsWait(v, by, w.by); };
  for (const SignalUpdate& u : uses->updates) {
    if (!(a.sets || u.sets) || (a.sets && u.sets && u.value == now) || afterUpdate(u)) continue;
    misuse(a, u.by,
           std::string(a.sets ? "set" : "add") + " of the signal, to " + valueText(now, a.bytes) +
               ", is not ordered after " + (u.sets ? "a set" : "an add") + " to " + valueText(u.value, a.bytes) +
               ": either may come last (M11)",
           "the other update");
    break;
  }
  unsigned bytes = unsigned(a.bytes);
  for (const SignalLook& w : uses->waiting) {
    if (!holds(w.compare, old, w.value, bytes) || holds(w.compare, now, w.value, bytes)) continue;
    misuse(a, w.by,
           "the update from " + valueText(old, bytes) + " to " + valueText(now, bytes) +
               " takes away the value that a wait for " + compareText(w.compare) + " " + valueText(w.value, bytes) +
               " has not seen yet (M15)",
           "the wait");
    break;
  }
  for (const SignalLook& w : uses->waits) {
    if (holds(w.compare, now, w.value, bytes) || afterWait(w)) continue;
    misuse(a, w.by,
           "the update to " + valueText(now, bytes) + " is not ordered after a wait for " + compareText(w.compare) +
               " " + valueText(w.value, bytes) + ": that wait may miss its value and never end (M15)",
           "the wait");
    break;
  }
  std::erase_if(uses->waits, afterWait);
  std::erase_if(uses->updates, [&](const SignalUpdate& u) {
    if (!afterUpdate(u)) return false;
    if (uses->past.size() == kPastKept) uses->past.erase(uses->past.begin());
    uses->past.push_back(u);
    return true;
  });
  uses->updates.push_back({by, a.sets, now, place ? place->newest() : 0});
}

// Whoever has acquired an update comes after it, though a relaxed one brings nothing else.
void Checker::learnUpdate(const MemoryAccess& a, SyncPlace& place, uint64_t number) {
  const UpdatePoint* update = place.update(number);
  if (!update || a.transfer) return;
  View v = viewOf(a);
  Part mine, theirs;
  if (ordered(v, stampOf(a, v), update->by, a.address, a.address + a.bytes, &mine, &theirs)) return;
  if (!place.key) place.key = ++signalKeys_;
  ClockKey key = keyOfUpdates(place.key);
  uint32_t upTo = uint32_t(number);
  if (!a.run)
    (a.stream ? serialOf(*a.stream) : hostOf(a.rank)).clock.raise(key, upTo);
  else if (ProgramState& p = stateOf(*a.run); isWhole(a))
    p.common.raise(key, upTo);
  else
    p.extraFor(a.lane, a.run->lanes).raise(key, upTo);
}

bool Checker::knowsUpdate(const View& v, const Stamp& now, const SyncPlace* place, const SignalUpdate& update) const {
  if (!place || !place->key || !update.number) return false;
  ClockKey key = keyOfUpdates(place->key);
  const Clock* extra = v.program ? v.program->extraOf(now.part) : nullptr;
  return v.clock->get(key) >= update.number || (extra && extra->get(key) >= update.number);
}

bool Checker::knowsWait(const View& v, const Stamp& now, const Stamp& wait) const {
  auto has = [&](const Clock& c) {
    return std::max(c.get(keyOfWaits(wait.actor, wait.part)), c.get(keyOfWaits(wait.actor, kEveryThread))) >= wait.time;
  };
  const Clock* extra = v.program ? v.program->extraOf(now.part) : nullptr;
  return has(*v.clock) || (extra && has(*extra));
}

// What a relaxed update comes after all the same: its issuer's waits that have ended, and what those had come after.
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

// A wait that begins when the value it waits for is past, though nothing says that it comes so late.
bool Checker::isOvertaken(const MemoryAccess& a, const AwaitedSignal& signal, const SignalUses& uses) {
  View v = viewOf(a);
  Stamp now = stampOf(a, v);
  const SyncPlace* place = sync_.find(a.address);
  auto unordered = [&](const SignalUpdate& u) {
    Part mine, theirs;
    return !ordered(v, now, u.by, a.address, a.address + a.bytes, &mine, &theirs) && !knowsUpdate(v, now, place, u);
  };
  auto hadIt = [&](const SignalUpdate& u) {
    return holds(signal.compare, u.value, signal.value, signal.bytes) && (u.by.actor == now.actor || unordered(u));
  };
  if (std::none_of(uses.updates.begin(), uses.updates.end(), hadIt) &&
      std::none_of(uses.past.begin(), uses.past.end(), hadIt))
    return false;
  auto over = std::find_if(uses.updates.rbegin(), uses.updates.rend(), unordered);
  if (over == uses.updates.rend() || uses.updates.back().value != wordAt(m_, a.address, signal.bytes)) return false;
  misuse(a, over->by,
         "the wait for " + std::string(compareText(signal.compare)) + " " + valueText(signal.value, signal.bytes) +
             " begins when that value is past: an update, to " + valueText(over->value, signal.bytes) +
             ", has come, and nothing orders it after the wait (M15)",
         "the update");
  return true;
}

// By the rule that orders waits (M6), not by what a wait happened to see.
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

void Checker::misuse(const MemoryAccess& a, const Stamp& other, std::string message, std::string otherText) {
  Stamp now = a.kind == AccessKind::Read ? stampOf(a, viewOf(a)) : lastStrong_;
  if (!isNew("signal-misuse", now, other)) return;
  Report r = begin(now, "signal-misuse");
  r.message = addressText(m_, a.address, a.bytes) + ": " + message;
  Diagnostic d = placeOfStamp(other);
  d.message = otherText + ": " + accessText(sites_[other.site]) + " by " + actorText(other, other.part);
  r.notes.insert(r.notes.begin(), std::move(d));
  tell(std::move(r));
}

}  // namespace tandem::interpreter::check
