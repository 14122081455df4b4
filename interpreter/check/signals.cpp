// Signals used twice without order: updates of which either may come last, and updates that take away what a waiter
// waits for (M11, M15).
#include "interpreter/check/checker.h"
#include "interpreter/memory/access.h"
#include "interpreter/vm/fail.h"

namespace tandem::interpreter::check {
namespace {

std::string valueText(uint64_t value, uint64_t bytes) {
  return std::to_string(bytes == 4 ? int64_t(int32_t(value)) : int64_t(value));
}

}  // namespace

void Checker::wrote(const MemoryAccess& a, uint64_t old, uint64_t now) {
  if (m_.failed) return;
  SignalUses* uses = a.isSignal ? &signals_.at(a.address) : signals_.find(a.address);
  if (!uses) return;
  View v = viewOf(a);
  Stamp by = stampOf(a, v);
  auto after = [&](const Stamp& s) {
    Part mine, theirs;
    return ordered(v, by, s, a.address, a.address + a.bytes, &mine, &theirs);
  };
  for (const SignalUpdate& u : uses->updates) {
    if (!(a.sets || u.sets) || (a.sets && u.sets && u.value == now) || after(u.by)) continue;
    return misuse(a, u.by,
                  std::string(a.sets ? "set" : "add") + " of the signal, to " + valueText(now, a.bytes) +
                      ", is not ordered after " + (u.sets ? "a set" : "an add") + " to " + valueText(u.value, a.bytes) +
                      ": either may come last (M11)",
                  "the other update");
  }
  unsigned bytes = unsigned(a.bytes);
  for (const SignalLook& w : uses->waiting) {
    if (!holds(w.compare, old, w.value, bytes) || holds(w.compare, now, w.value, bytes)) continue;
    return misuse(a, w.by,
                  "the update from " + valueText(old, bytes) + " to " + valueText(now, bytes) + " takes away the value that a wait for " +
                      compareText(w.compare) + " " + valueText(w.value, bytes) + " has not seen yet (M15)",
                  "the wait");
  }
  for (const SignalLook& w : uses->waits) {
    if (holds(w.compare, now, w.value, bytes) || after(w.by)) continue;
    return misuse(a, w.by,
                  "the update to " + valueText(now, bytes) + " is not ordered after a wait for " + compareText(w.compare) + " " +
                      valueText(w.value, bytes) + ": that wait may miss its value and never end (M15)",
                  "the wait");
  }
  std::erase_if(uses->waits, [&](const SignalLook& w) { return after(w.by); });
  std::erase_if(uses->updates, [&](const SignalUpdate& u) { return after(u.by); });
  uses->updates.push_back({by, a.sets, now});
}

void Checker::misuse(const MemoryAccess& a, const Stamp& other, std::string message, std::string otherText) {
  Stamp now = stampOf(a, viewOf(a));
  Report r = begin(now, "signal-misuse");
  r.message = addressText(m_, a.address, a.bytes) + ": " + message;
  Diagnostic d = placeOfStamp(other);
  d.message = otherText + ": " + accessText(sites_[other.site]) + " by " + actorText(other, other.part);
  r.notes.insert(r.notes.begin(), std::move(d));
  m_.reports.push_back(std::move(r));
  m_.failed = true;
}

}  // namespace tandem::interpreter::check
