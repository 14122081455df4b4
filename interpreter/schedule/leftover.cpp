// This file reports what is not at rest when everything has ended: signals that nobody consumed, puts that nobody
// completed (M9, M15).
#include "interpreter/dist/delivery.h"
#include "interpreter/schedule/scheduler.h"
#include "interpreter/vm/fail.h"
#include <algorithm>

namespace tandem::interpreter {
namespace {

// A signal not at rest, and the wait that need not come after its last update, if there is one.
struct Restless {
  Address address = 0;
  std::vector<Diagnostic> why;
};

// Signals of a buffer that are neither zero nor acquired since their last update, in order; one list for each line that
// wrote them.
std::vector<std::vector<Restless>> restless(Machine& m, Allocation& a) {
  std::vector<Restless> found;
  for (auto& [address, record] : a.signals) {
    if (!record.isSignal || !record.written) continue;
    uint64_t value = 0;
    memcpy(&value, a.bytesAt(address), record.bytes);
    if (!value) continue;
    std::vector<Diagnostic> why = m.observer ? m.observer->unacquired(address) : std::vector<Diagnostic>();
    if (!record.acquired || !why.empty()) found.push_back({address, std::move(why)});
  }
  std::sort(found.begin(), found.end(), [](const Restless& x, const Restless& y) { return x.address < y.address; });
  std::vector<std::vector<Restless>> lists;
  auto sameLine = [&](const Restless& x, const Restless& y) {
    const SignalRecord &one = a.signals[x.address], &other = a.signals[y.address];
    return one.program == other.program && one.location == other.location && x.why.empty() == y.why.empty();
  };
  for (Restless& r : found) {
    auto list = std::find_if(lists.begin(), lists.end(), [&](const auto& l) { return sameLine(l.front(), r); });
    if (list == lists.end()) list = lists.insert(list, std::vector<Restless>());
    list->push_back(std::move(r));
  }
  return lists;
}

void reportLeftover(Machine& m, Allocation& a, std::vector<Restless>& signals) {
  Report r{ReportKind::LeftoverSignal};
  r.rank = a.rank;
  bool isSeen = !signals[0].why.empty();
  r.message = std::to_string(signals.size()) + " signal" + (signals.size() == 1 ? "" : "s") + " of `" + a.name +
              "` on rank " + std::to_string(a.rank) + " set and " +
              (isSeen ? "no wait need come after the last update (M15):" : "not waited for at exit:");
  constexpr size_t kShown = 8;
  for (size_t k = 0; k < signals.size() && k < kShown; ++k) {
    const SignalRecord& s = a.signals[signals[k].address];
    std::string at =
        "offset " + std::to_string(signals[k].address - a.begin) + " holds " + std::to_string(int64_t(s.value));
    r.message += (k ? ", " : " ") + at;
    Diagnostic d = s.program ? placeOf(*s.program, s.location) : note("");
    d.message = at + ", written by " +
                (s.program && !s.program->name.empty() ? whoText(s.rank, s.id) + " of `" + s.program->name + "`"
                                                       : "a stream of rank " + std::to_string(s.rank));
    if (k == 0 && s.program) {
      r.file = d.file;
      r.range = d.range;
      r.program = s.id;
      r.kernel = s.program->name;
    }
    r.notes.push_back(std::move(d));
  }
  for (Diagnostic& d : signals[0].why) r.notes.push_back(std::move(d));
  if (signals.size() > kShown) r.message += ", ...";
  m.reports.push_back(std::move(r));
}

}  // namespace

void World::finish() {
  Machine& m = impl_->m;
  for (const Machine::Unfinished& u : m.unfinished) {
    Report r{ReportKind::UnfinishedPut};
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
    for (std::vector<Restless>& signals : restless(m, *a)) reportLeftover(m, *a, signals);
  }
}

}  // namespace tandem::interpreter
