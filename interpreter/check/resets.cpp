// Flags and counters that are no signals are put back by strong stores. One that may come before or behind another update,
// so that one of them is lost, is told as a signal's is (M15): beside an atomic that counts, and where a loop waits for one
// of the two values.
#include "interpreter/check/checker.h"
#include "interpreter/vm/fail.h"
#include "interpreter/vm/run.h"
#include <algorithm>

namespace tandem::interpreter::check {

// One that a loop repeats until it gets through may be wiped out. A relaxed one may be a statistic unless its program uses the
// old value or somebody waits for the word.
Counts Checker::countsOf(const MemoryAccess& a) {
  if (a.kind != AccessKind::Atomic || a.isSignal || !a.run) return Counts::No;
  const Prepared& i = a.run->prepared->code[a.run->pc];
  bool dependsOnOld = i.op == Op::AtomicRmw && RmwOp(i.sub) != RmwOp::Xchg && RmwOp(i.sub) != RmwOp::FAdd;
  if (!dependsOnOld || (i.resultUsed && spins(*a.run->prepared, a.run->pc))) return Counts::No;
  return a.semantic != Semantic::Relaxed || i.resultUsed ? Counts::Yes : Counts::IfAwaited;
}

// An atomic whose old value nobody uses may do what a store does: an exchange sets the value, an `and` clears bits.
bool Checker::isBlind(const MemoryAccess& a, RmwOp op) {
  if (a.kind != AccessKind::Atomic || a.isSignal || !a.run) return false;
  const Prepared& i = a.run->prepared->code[a.run->pc];
  return i.op == Op::AtomicRmw && RmwOp(i.sub) == op && !i.resultUsed;
}

bool Checker::comesAfter(const MemoryAccess& a, const SyncPlace& place, uint64_t number) {
  View v = viewOf(a);
  Stamp now = stampOf(a, v);
  const Stamp& by = place.update(number)->by;
  Part mine, theirs;
  return ordered(v, now, by, a.address, a.address + a.bytes, &mine, &theirs) ||
         knowsUpdate(v, now, &place, {by, 0, number});
}

// Notes the last store if an atomic does not come after it, before it learns anything by its old value: it might have come
// before the store and found another one.
void Checker::asksForStore(const MemoryAccess& a) {
  unknownStore_ = 0;
  const SyncPlace* place = countsOf(a) != Counts::No ? sync_.find(a.address) : nullptr;
  const UpdatePoint* store = place ? place->update(place->lastSet()) : nullptr;
  bool mayClash = store && !(store->clears && isBlind(a, RmwOp::And));  // bits are cleared in any order
  if (mayClash && !comesAfter(a, *place, place->lastSet())) unknownStore_ = place->lastSet();
}

static const char* updateText(const UpdatePoint& u) {
  return u.sets ? "store of " : u.clears ? "clearing of bits to " : "atomic update to ";
}

void Checker::tellLost(const MemoryAccess& a, SyncPlace& place, uint64_t other) {
  const UpdatePoint &now = *place.update(place.newest()), &before = *place.update(other);
  bool isLater = now.sets || (now.clears && !before.sets);
  const UpdatePoint &atomic = isLater ? before : now, &store = isLater ? now : before;
  auto isExtreme = [](RmwOp op) { return op >= RmwOp::Max; };
  if (const auto& c = atomic.commuting; c && isExtreme(c->op) && c->after(store.value) == store.value) return;
  if (store.clears && !(place.changedBits(other) & place.changedBits(place.newest()))) return;
  if ((atomic.counts == Counts::IfAwaited || store.clears) && !place.isAwaited) return place.clashes(other);
  misuse(a, before.by,
         std::string("the ") + updateText(now) + valueText(now.value, a.bytes) + " is not ordered after " +
             (before.sets || before.clears ? "a " : "an ") + updateText(before) + valueText(before.value, a.bytes) +
             ": the " + (store.clears ? "clearing" : "store") + " may wipe out the atomic (M15)",
         "the other update");
}

// Judges the newest update of a place against those before it that it does not come after.
void Checker::findLost(const MemoryAccess& a, SyncPlace& place) {
  const UpdatePoint& now = *place.update(place.newest());
  if (unknownStore_) tellLost(a, place, unknownStore_);
  bool judges = now.sets || now.clears;
  for (uint64_t n = place.newest() - 1; judges && n >= place.oldest() && !comesAfter(a, place, n); --n) {
    const UpdatePoint& other = *place.update(n);
    bool isApart = now.clears && (other.clears || !(place.changedBits(n) & place.changedBits(place.newest())));
    if (other.counts != Counts::No && !isApart) return tellLost(a, place, n);
    if (now.clears) continue;
    if (!other.sets) return;
    if (other.value != now.value) return place.clashes(n);
  }
}

// `ends`: the values with which a loop that waits for the word ends; `waitsHere`: it acquires, and for no other word.
void Checker::findClash(const MemoryAccess& a, SyncPlace& place, bool waitsHere,
                        const std::function<bool(uint64_t)>& ends) {
  std::erase_if(place.clashing, [&](uint64_t number) {
    const UpdatePoint *update = place.update(number), *earlier = update ? place.update(update->clash) : nullptr;
    if (!earlier) return true;
    const UpdatePoint& later = *update;
    bool areStores = later.sets && earlier->sets, clears = later.clears || earlier->clears;
    if (areStores && !waitsHere) return false;
    if ((areStores && ends(later.value) == ends(earlier->value)) ||
        !isNew(ReportKind::SignalMisuse, later.by, earlier->by))
      return true;
    auto text = [&](const UpdatePoint& u, const std::string& article) {
      return article + " " + updateText(u) + valueText(u.value, a.bytes);
    };
    Report r = begin(later.by, ReportKind::SignalMisuse);
    r.message = addressText(m_, a.address, a.bytes) + ": " + text(later, "the") + " is not ordered after " +
                text(*earlier, earlier->sets || earlier->clears ? "a" : "an") +
                (areStores ? std::string(": either may come last, and a loop waits for one of them (M15)")
                           : std::string(": the ") + (clears ? "clearing" : "store") +
                                 " may wipe out the atomic, and a loop waits for the word (M15)");
    auto note = [&](const Stamp& at, const std::string& what) {
      Diagnostic d = placeOfStamp(at);
      d.message = what + accessText(sites_[at.site]) + " by " + actorText(at, at.part);
      r.notes.insert(r.notes.begin(), std::move(d));
    };
    note(stampOf(a, viewOf(a)), "the loop's look: ");
    note(earlier->by, "the other update: ");
    tell(std::move(r));
    return true;
  });
}

}  // namespace tandem::interpreter::check
