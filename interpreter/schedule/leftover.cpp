// What is not at rest when everything has ended: signals nobody consumed, puts nobody completed (M9, M15).
#include "interpreter/dist/delivery.h"
#include "interpreter/schedule/scheduler.h"
#include "interpreter/vm/fail.h"
#include <algorithm>

namespace tandem::interpreter {
namespace {

// Addresses of a buffer whose signals are neither zero nor acquired since their last update, in order.
std::vector<Address> restless(Allocation& a) {
  std::vector<Address> found;
  for (auto& [address, record] : a.signals) {
    if (!record.isSignal || !record.written || record.acquired) continue;
    uint64_t value = 0;
    memcpy(&value, reinterpret_cast<const void*>(address), record.bytes);
    if (value) found.push_back(address);
  }
  std::sort(found.begin(), found.end());
  return found;
}

void reportLeftover(Machine& m, Allocation& a, const std::vector<Address>& addresses) {
  Report r;
  r.severity = Severity::Warning;
  r.kind = "leftover-signal";
  r.rank = a.rank;
  r.message = std::to_string(addresses.size()) + " signal" + (addresses.size() == 1 ? "" : "s") + " of `" + a.name +
              "` on rank " + std::to_string(a.rank) + " set and not waited for at exit:";
  constexpr size_t kShown = 8;
  for (size_t k = 0; k < addresses.size() && k < kShown; ++k) {
    const SignalRecord& s = a.signals[addresses[k]];
    std::string at = "offset " + std::to_string(addresses[k] - a.begin) + " holds " + std::to_string(int64_t(s.value));
    r.message += (k ? ", " : " ") + at;
    Diagnostic d = s.program ? placeOf(*s.program, s.location) : note("");
    d.message = at + ", written by " +
                (s.program ? whoText(s.rank, s.id) + " of `" + s.program->name + "`"
                           : "a stream of rank " + std::to_string(s.rank));
    if (k == 0 && s.program) {
      r.file = d.file;
      r.range = d.range;
      r.program = s.id;
      r.kernel = s.program->name;
    }
    r.notes.push_back(std::move(d));
  }
  if (addresses.size() > kShown) r.message += ", ...";
  m.reports.push_back(std::move(r));
}

}  // namespace

void World::finish() {
  Machine& m = impl_->m;
  for (const Machine::Unfinished& u : m.unfinished) {
    Report r;
    r.severity = Severity::Warning;
    r.kind = "unfinished-put";
    r.rank = u.rank;
    r.program = u.id;
    r.kernel = u.program->name;
    Diagnostic place = placeOf(*u.program, u.location);
    r.file = place.file;
    r.range = place.range;
    r.notes = std::move(place.notes);
    r.message = std::to_string(u.count) + " non-blocking transfer" + (u.count == 1 ? "" : "s") +
                " with neither `fence` nor `quiet` before the end of the program";
    m.reports.push_back(std::move(r));
  }
  m.unfinished.clear();
  impl_->tellLeft();
  while (!m.failed && deliverOne(m, true)) {
  }
  if (m.observer) m.observer->ended();
  impl_->logBuffers();
  if (m.failed) return;
  for (Allocation* a : m.arena.allocationsInOrder()) {
    if (a->freed || a->signals.empty()) continue;
    std::vector<Address> addresses = restless(*a);
    if (!addresses.empty()) reportLeftover(m, *a, addresses);
  }
}

}  // namespace tandem::interpreter
