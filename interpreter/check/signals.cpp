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
  if (SyncPlace* place = sync_.find(a.address)) place->wrote(lastStrong_, old, now, a.kind == AccessKind::Atomic && !a.isSignal);
  if (!a.isSignal && a.run) noteLock(a, old, now);
  SignalUses* uses = a.isSignal ? &signals_.at(a.address) : signals_.find(a.address);
  if (!uses) return;
  View v = viewOf(a);
  Stamp by = lastStrong_;
  auto after = [&](const Stamp& s) {
    Part mine, theirs;
    return ordered(v, by, s, a.address, a.address + a.bytes, &mine, &theirs);
  };
  for (const SignalUpdate& u : uses->updates) {
    if (!(a.sets || u.sets) || (a.sets && u.sets && u.value == now) || after(u.by)) continue;
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
    if (holds(w.compare, now, w.value, bytes) || after(w.by)) continue;
    misuse(a, w.by,
           "the update to " + valueText(now, bytes) + " is not ordered after a wait for " + compareText(w.compare) +
               " " + valueText(w.value, bytes) + ": that wait may miss its value and never end (M15)",
           "the wait");
    break;
  }
  std::erase_if(uses->waits, [&](const SignalLook& w) { return after(w.by); });
  std::erase_if(uses->updates, [&](const SignalUpdate& u) {
    if (!after(u.by)) return false;
    if (uses->past.size() == kPastKept) uses->past.erase(uses->past.begin());
    uses->past.push_back(u);
    return true;
  });
  uses->updates.push_back({by, a.sets, now});
}

// A wait that begins when the value it waits for is past, though nothing says that it comes so late.
bool Checker::isOvertaken(const MemoryAccess& a, const AwaitedSignal& signal, const SignalUses& uses) {
  View v = viewOf(a);
  Stamp now = stampOf(a, v);
  auto unordered = [&](const SignalUpdate& u) {
    Part mine, theirs;
    return !ordered(v, now, u.by, a.address, a.address + a.bytes, &mine, &theirs);
  };
  auto hadIt = [&](const SignalUpdate& u) {
    return holds(signal.compare, u.value, signal.value, signal.bytes) && (u.by.actor == now.actor || unordered(u));
  };
  if (std::none_of(uses.updates.begin(), uses.updates.end(), hadIt) &&
      std::none_of(uses.past.begin(), uses.past.end(), hadIt))
    return false;
  auto over = std::find_if(uses.updates.rbegin(), uses.updates.rend(), unordered);
  if (over == uses.updates.rend() || uses.updates.back().value != wordAt(a.address, signal.bytes)) return false;
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
  if (const UpdatePoint* enough = place->lastSeen()) notes.push_back(told(enough->by, "the update that is enough for it: "));
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
