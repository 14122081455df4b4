// Flags and counters that are no signals are put back by strong stores. One that may come before or behind another update,
// so that one of them is lost, is told as a signal's is (M15): beside an atomic that counts, and where a loop waits for one
// of the two values.
#include "interpreter/check/checker.h"
#include "interpreter/vm/fail.h"
#include "interpreter/vm/run.h"
#include <algorithm>

namespace tandem::interpreter::check {

// Returns true for an atomic by which others are told something that a store would wipe out. One that a loop repeats
// until it gets through may be.
bool Checker::isCounted(const MemoryAccess& a) {
  if (a.kind != AccessKind::Atomic || a.isSignal || !a.run || a.semantic == Semantic::Relaxed) return false;
  const Prepared& i = a.run->prepared->code[a.run->pc];
  if (i.op != Op::AtomicRmw || spins(*a.run->prepared, a.run->pc)) return false;
  RmwOp op = RmwOp(i.sub);
  return op == RmwOp::Add || op == RmwOp::And || op == RmwOp::Or || op == RmwOp::Xor;
}

bool Checker::comesAfter(const MemoryAccess& a, const SyncPlace& place, uint64_t number) {
  View v = viewOf(a);
  Stamp now = stampOf(a, v);
  const Stamp& by = place.update(number)->by;
  Part mine, theirs;
  return ordered(v, now, by, a.address, a.address + a.bytes, &mine, &theirs) ||
         knowsUpdate(v, now, &place, {by, 0, number});
}

// Notes whether an atomic comes after the last store, before it learns anything by its old value: it might have come before
// the store and found another one.
void Checker::asksForStore(const MemoryAccess& a) {
  const SyncPlace* place = isCounted(a) ? sync_.find(a.address) : nullptr;
  knowsStore_ = !place || !place->update(place->lastSet()) || comesAfter(a, *place, place->lastSet());
}

// Judges the newest update of a place against those before it that it does not come after.
void Checker::findLost(const MemoryAccess& a, SyncPlace& place) {
  const UpdatePoint& now = *place.update(place.newest());
  auto isLost = [&](const UpdatePoint& other, const char* what, const char* otherWhat) {
    misuse(a, other.by,
           std::string(what) + valueText(now.value, a.bytes) + " is not ordered after " + otherWhat +
               valueText(other.value, a.bytes) + ": the store may wipe out the atomic (M15)",
           "the other update");
  };
  if (const UpdatePoint* store = place.update(place.lastSet()); now.counts && store && !knowsStore_)
    isLost(*store, "the atomic update to ", "a store of ");
  for (uint64_t n = place.newest() - 1; now.sets && n >= place.oldest() && !comesAfter(a, place, n); --n) {
    const UpdatePoint& other = *place.update(n);
    if (other.counts) return isLost(other, "the store of ", "an atomic update to ");
    if (!other.sets) return;
    if (other.value != now.value) return place.clashes(n);
  }
}

// `ends`: the values with which a loop that waits for the word ends.
void Checker::findClash(const MemoryAccess& a, SyncPlace& place, const std::function<bool(uint64_t)>& ends) {
  for (uint64_t n = std::max(place.clashesSeen + 1, place.oldest()); n <= place.newest(); ++n) {
    const UpdatePoint &later = *place.update(n), *earlier = place.update(later.clash);
    if (!earlier || ends(later.value) == ends(earlier->value) ||
        !isNew(ReportKind::SignalMisuse, later.by, earlier->by))
      continue;
    Report r = begin(later.by, ReportKind::SignalMisuse);
    r.message = addressText(m_, a.address, a.bytes) + ": the store of " + valueText(later.value, a.bytes) +
                " is not ordered after a store of " + valueText(earlier->value, a.bytes) +
                ": either may come last, and a loop waits for one of them (M15)";
    auto note = [&](const Stamp& at, const std::string& what) {
      Diagnostic d = placeOfStamp(at);
      d.message = what + accessText(sites_[at.site]) + " by " + actorText(at, at.part);
      r.notes.insert(r.notes.begin(), std::move(d));
    };
    note(stampOf(a, viewOf(a)), "the loop's look: ");
    note(earlier->by, "the other update: ");
    tell(std::move(r));
  }
  place.clashesSeen = place.newest();
}

}  // namespace tandem::interpreter::check
