// Two runs of one computation compared: the first store that differs, or the first buffer.
#include "interpreter/check/store_log.h"
#include "interpreter/schedule/scheduler.h"
#include "interpreter/vm/fail.h"
#include <algorithm>

namespace tandem::interpreter {
namespace {

// Memory that the host has given and nobody wrote is no result: it may hold addresses, which differ from run to run.
uint64_t contentOf(const Allocation& a) {
  if (a.shift && !a.written) return 0;
  uint64_t h = 1469598103934665603ull;
  auto* p = static_cast<const uint8_t*>(a.bytesAt(a.begin));
  for (uint64_t k = 0; k < a.end - a.begin; ++k) h = (h ^ p[k]) * 1099511628211ull;
  return h;
}

bool haveSameBytes(const check::Buffer& mine, const check::Buffer& theirs) {
  return mine.begin && theirs.begin && mine.bytes == theirs.bytes;
}

// The first byte that differs and is no turn, of buffers that are still there.
std::optional<uint64_t> firstByte(Machine& one, const check::Buffer& mine, Machine& other,
                                  const check::Buffer& theirs) {
  auto *a = static_cast<const uint8_t*>(one.arena.bytesAt(mine.begin)),
       *b = static_cast<const uint8_t*>(other.arena.bytesAt(theirs.begin));
  for (uint64_t at = 0; (at = uint64_t(std::mismatch(a + at, a + mine.bytes, b + at).first - a)) < mine.bytes; ++at)
    if (!check::StoreLog::isTurn(mine.begin + at - one.arena.base(), *one.stores, *other.stores)) return at;
  return std::nullopt;
}

// The last writers of the first byte that differs: the first is the report's place.
void nameWriters(Report& r, Machine& one, const check::Buffer& mine, Machine& other, const check::Buffer& theirs) {
  if (!haveSameBytes(mine, theirs) || !one.observer) return;
  uint64_t at = firstByte(one, mine, other, theirs).value_or(0);
  std::vector<Diagnostic> writers = one.observer->writersOf(mine.begin + at);
  if (other.observer)
    for (Diagnostic& d : other.observer->writersOf(theirs.begin + at)) writers.push_back(std::move(d));
  for (Diagnostic& d : writers) {
    if (!d.file) continue;
    if (!r.file) {
      r.file = d.file;
      r.range = d.range;
    }
    bool isKnown = std::any_of(r.notes.begin(), r.notes.end(),
                               [&](const Diagnostic& n) { return n.file == d.file && n.range.line == d.range.line; });
    if (isKnown) continue;
    d.message = "byte " + std::to_string(at) + " was last written here: " + d.message;
    r.notes.push_back(std::move(d));
  }
}

}  // namespace

void World::Impl::logEnd(const Allocation& a) {
  if (!m.stores) return;
  m.stores->ended[a.rank].push_back({a.rank, a.name, contentOf(a)});
  m.stores->forget(a.begin - m.arena.base(), a.end - a.begin);
}

void World::Impl::logBuffers() {
  if (!m.stores) return;
  m.stores->buffers.clear();
  for (auto& [rank, ended] : m.stores->ended)
    m.stores->buffers.insert(m.stores->buffers.end(), ended.begin(), ended.end());
  for (Allocation* a : m.arena.allocationsInOrder())
    if (!a->freed) m.stores->buffers.push_back({a->rank, a->name, contentOf(*a), a->begin, a->end - a->begin});
}

// A program may store other values on its way, as long as the result is the same: the program that comes last adds up,
// the one that has the lock adds.
std::string World::firstDifference(const World& other) const {
  const auto &mine = impl_->m.stores, &theirs = other.impl_->m.stores;
  if (!mine || !theirs) return "";
  const auto &a = mine->buffers, &b = theirs->buffers;
  auto differs =
      std::mismatch(a.begin(), a.end(), b.begin(), b.end(), [&](const check::Buffer& x, const check::Buffer& y) {
        if (x.rank != y.rank) return false;
        return x.hash == y.hash || (haveSameBytes(x, y) && !firstByte(impl_->m, x, other.impl_->m, y));
      });
  if (differs.first == a.end() && differs.second == b.end()) return "";
  std::string seeds;
  if (!options().chooser)
    seeds = " between seed " + std::to_string(options().seed) + " and seed " + std::to_string(other.options().seed);
  if (auto d = check::StoreLog::firstDifference(*mine, *theirs)) {
    const check::LoggedStore& store = d->mine.program ? d->mine : d->theirs;
    Report r{ReportKind::ScheduleDependent};
    r.rank = d->who.rank;
    r.program = d->who.id;
    r.kernel = store.program->name;
    Diagnostic place = placeOf(*store.program, store.location);
    r.file = place.file;
    r.range = place.range;
    r.notes = std::move(place.notes);
    bool sameLine = d->mine.program && d->theirs.program && d->mine.location == d->theirs.location;
    r.message = sameLine ? "this store writes other bytes under another schedule"
                         : "this store happens under one schedule only";
    r.message += ": the first that differs" + seeds;
    return r.render();
  }
  const check::Buffer& buffer = differs.first != a.end() ? *differs.first : *differs.second;
  Report r{ReportKind::ScheduleDependent};
  r.rank = buffer.rank;
  r.message = "`" + buffer.name + "` of rank " + std::to_string(buffer.rank) +
              " ends with other bytes under another schedule, though " +
              "every program stored the same: transfers, copies or atomic updates came in another order" + seeds;
  if (differs.first != a.end() && differs.second != b.end())
    nameWriters(r, impl_->m, *differs.first, other.impl_->m, *differs.second);
  return r.render();
}

}  // namespace tandem::interpreter
