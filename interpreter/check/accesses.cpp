// Each access against the last ones of its bytes. Accesses of consecutive threads by one instruction are one access.
#include "interpreter/check/checker.h"
#include "interpreter/schedule/stream.h"
#include "interpreter/simt/bulk_copy.h"
#include "interpreter/vm/fail.h"
#include <functional>

namespace tandem::interpreter::check {

Checker::Checker(Machine& m)
    : m_(m), actors_(m.options.rankCount), history_(m.arena.base(), m.arena.reservedBytes()),
      hosts_(size_t(m.options.rankCount)) {
  for (int r = 0; r < m.options.rankCount; ++r) hosts_[size_t(r)].actor = actors_.hostOf(r);
}

// A peer that may still access the buffer does so after its end (M2).
void Checker::freed(int rank, Address address, uint64_t bytes, const std::string& file, uint32_t line) {
  flush();
  if (!bytes || file.empty() || m_.failed) return;
  View v;
  v.self = actors_.hostOf(rank);
  v.clock = &hostOf(rank).clock;
  Stamp now;
  now.actor = v.self;
  now.time = hostOf(rank).time;
  history_.eachMade(address, bytes, [&](Cell& cell, uint64_t at) {
    auto check = [&](const Stamp& s) {
      Part mine, theirs;
      if (!s.actor || actors_[s.actor].rank == rank || sites_[s.site].by >= Site::By::Stream) return;
      if (!ordered(v, now, s, at, at + (cell.end - cell.begin), &mine, &theirs))
        reportFreed(s, theirs, at, cell.end - cell.begin, file, line);
    };
    auto checkAll = [&](const Stamp& last, uint32_t more) {
      check(last);
      if (more)
        for (const Stamp& s : history_.list(more)) check(s);
    };
    checkAll(cell.write, cell.moreWrites);
    checkAll(cell.read, cell.moreReads);
  });
}

// Lanes of one operation have no order (M1).
void Checker::lanesDiffer(const MemoryAccess& a) {
  flush();
  View v = viewOf(a);
  Stamp now = stampOf(a, v);
  if (m_.failed || !isNew(ReportKind::Race, now, {})) return;  // no place: the store races with itself
  Report r = begin(now, ReportKind::Race);
  r.message = accessText(sites_[now.site]) + " of " + addressText(m_, a.address, a.bytes) + " by " +
              actorText(now, now.part) +
              ": several of its lanes write there, and not the same; which of them stays is not defined (M1)";
  tell(std::move(r));
}

// The language says what a division by zero gives (kernels.h), other compilers of the same text do not.
void Checker::dividesByZero(const Run& run) {
  MemoryAccess at;
  at.run = &run;
  at.program = run.prepared->program.get();
  at.location = run.prepared->code[run.pc].location;
  Stamp now = stampOf(at, viewOf(at));
  if (m_.failed || !isNew(ReportKind::DivisionByZero, now, {})) return;
  Report r = begin(now, ReportKind::DivisionByZero);
  r.message =
      "integer division by zero: here a quotient has all bits set and a remainder is the dividend; Triton "
      "promises nothing";
  tell(std::move(r));
}

void Checker::forget(Address address, uint64_t bytes) {
  flush();
  if (!bytes) return;
  history_.forget(address, bytes);
  sync_.forget(address, bytes, [&](const SyncPlace& place) {
    remembered_ -= place.remembered();
    endedKeys_[place.key] = true;
  });
  signals_.forget(address, bytes);
}

void Checker::access(const MemoryAccess& a) {
  if (m_.failed || !a.bytes) return;
  if (hasPending_) {
    if (extendsPending(a)) return;
    flush();
  }
  if (!a.strong && a.run && !a.collective) {
    pending_ = a;
    hasPending_ = true;
    return;
  }
  AsOfThen then(*this, a);
  process(a);
  if (!a.strong || m_.failed) return;
  lastStrong_ = stampOf(a, viewOf(a));
  synchronise(a);
}

std::shared_ptr<void> Checker::comesLate(const Run& run) {
  flush();
  ProgramState& p = stateOf(run);
  auto then = std::make_shared<ProgramState>(p);
  if (const Prepared& i = run.prepared->code[run.pc]; i.op == Op::AtomicRmw && !i.as<imm::AtomicRmw>().perThread)
    p.meetEarlyLoads();
  ++p.time;
  return then;
}

void Checker::flush() {
  if (!hasPending_) return;
  hasPending_ = false;
  if (!m_.failed) process(pending_);
}

bool Checker::extendsPending(const MemoryAccess& a) {
  MemoryAccess& p = pending_;
  if (a.run != p.run || a.strong || a.again || p.again || a.address != p.address + p.bytes || a.kind != p.kind ||
      a.location != p.location || a.collective)
    return false;
  if (a.lane >= kFirstPut) {
    if (a.lane != p.lane) return false;
  } else {
    // One access of each thread so far, all of one size.
    uint32_t each = p.laneBytes ? p.laneBytes : uint32_t(p.bytes);
    if (a.laneBytes ? a.laneBytes != each : a.bytes != each) return false;
    if (p.lane >= kFirstPut || a.lane != p.lane + p.bytes / each || each > 0xffff) return false;
    p.laneBytes = each;
  }
  p.bytes += a.bytes;
  p.changes |= a.changes;
  return true;
}

View Checker::viewOf(const MemoryAccess& a) {
  View v;
  if (a.collective) {
    const Meeting& meeting = meetings_[a.collective];
    v.clock = a.collective->ordersAll() ? &meeting.all : &meeting.callers[meeting.from].called;
  } else if (a.transfer) {
    v.clock = &static_cast<const Transfer*>(a.transfer->observed.get())->clock;
  } else if (a.run) {
    v.program = &stateOf(*a.run);
    v.self = v.program->actor;
    v.clock = &v.program->common;
    v.changes = a.changes;
    if (const EarlyView* early = v.program->early.empty() || a.strong ? nullptr : v.program->earlyView(a.location);
        early && early->isBehind) {
      v.early = early;
      v.clock = &early->known;
    }
  } else {
    Serial& s = a.stream ? serialOf(*a.stream) : hostOf(a.rank);
    v.self = s.actor;
    v.clock = &s.clock;
  }
  return v;
}

static Part partOf(const BulkCopy& copy, AccessKind kind) {
  if (!copy.hasGroup()) return kLoaded;
  Part copies = copy.kind == CopyKind::OfThread ? kCopied : kind == AccessKind::Read ? kStoreRead : kStored;
  return Part(copies + copy.lane);
}

Stamp Checker::stampOf(const MemoryAccess& a, const View& v) {
  Stamp s;
  s.site = siteOf(a);
  s.origin = uint32_t(a.address);
  if (a.transfer) {
    const PendingPut& p = *a.transfer;
    auto& t = *static_cast<const Transfer*>(p.observed.get());
    s.actor = p.observedActor;
    s.time = t.number;
    s.part = p.bulk ? partOf(*p.bulk, a.kind) : Part((p.isGet ? kFirstGet : kFirstPut) + p.peer);
    return s;
  }
  s.actor = v.self;
  if (a.collective) {
    s.actor = stateOf(*a.run).actor;
    s.time = stateOf(*a.run).time;  // after everything that the call has published
    s.part = callerOf(*a.collective, a.run->rank).part;
  } else if (a.run) {
    s.time = v.program->time;
    s.part = Part(a.lane);
    s.laneBytes = a.lane < kFirstPut && a.laneBytes < a.bytes ? uint16_t(a.laneBytes) : 0;
  } else {
    s.time = (a.stream ? serialOf(*a.stream) : hostOf(a.rank)).time;
  }
  return s;
}

uint32_t Checker::siteOf(const MemoryAccess& a) {
  Site site;
  site.program = a.program;
  site.location = a.location;
  site.kind = a.kind;
  site.strong = a.strong;
  site.signal = a.isSignal;
  site.scope = a.scope;
  site.bytes = a.strong ? uint32_t(a.bytes) : 0;
  site.elementBytes = a.strong ? a.elementBytes : 0;
  if (a.strong) site.type = a.type;
  using By = Site::By;
  site.by = a.transfer     ? By::Transfer
            : a.collective ? By::Collective
            : a.run        ? By::Program
            : a.isView     ? By::View
            : a.stream     ? By::Stream
                           : By::Host;
  if (sites_[lastSite_] == site && lastSite_) return lastSite_;
  size_t h = std::hash<const void*>()(site.program) ^ site.location * 0x9e3779b97f4a7c15ull ^ size_t(site.kind) << 1 ^
             size_t(site.strong) << 3 ^ size_t(site.signal) << 30 ^ size_t(site.scope) << 4 ^ size_t(site.bytes) << 6 ^
             size_t(site.by) << 20;
  for (uint32_t k : siteIndex_[h])
    if (sites_[k] == site) return lastSite_ = k;
  sites_.push_back(site);
  lastSite_ = uint32_t(sites_.size() - 1);
  siteIndex_[h].push_back(lastSite_);
  return lastSite_;
}

bool Checker::includes(Scope scope, uint32_t from, uint32_t to) const {
  if (scope == Scope::Sys || from == to) return true;
  const Actor &a = actors_[from], &b = actors_[to];
  return scope == Scope::Gpu && a.rank == b.rank && a.kind == ActorKind::Program && b.kind == ActorKind::Program;
}

// Strong accesses of one address and size, or a read of one element of a vector that is written.
bool Checker::areOneSize(const Site& a, const Stamp& now, const Site& b, const Stamp& s) const {
  auto readsElement = [](const Site& read, const Stamp& at, const Site& vector, const Stamp& from) {
    return read.kind == AccessKind::Read && !read.elementBytes && read.bytes == vector.elementBytes &&
           (at.origin - from.origin) % vector.elementBytes == 0;
  };
  return (a.bytes == b.bytes && now.origin == s.origin) || readsElement(a, now, b, s) || readsElement(b, s, a, now);
}

bool Checker::compatible(const Site& a, const Stamp& now, const Site& b, const Stamp& s) const {
  return a.strong && b.strong && areOneSize(a, now, b, s) && includes(a.scope, now.actor, s.actor) &&
         includes(b.scope, s.actor, now.actor);
}

// Whatever races with `old` and comes after `now` races with `now` too.
bool Checker::supersedes(const Site& now, const Site& old) const {
  bool writes = now.kind != AccessKind::Read, oldWrites = old.kind != AccessKind::Read;
  if (oldWrites && !writes) return false;
  return !now.strong || (old.strong && now.scope == old.scope && now.bytes == old.bytes);
}

// The rows of a tile were last accessed by the same few programs, so most questions are one of the last.
bool Checker::knows(const View& v, Part mine, const Stamp& s, Part theirs) const {
  if (v.program && v.program->anyExtra) return findOrder(v, mine, s, theirs);
  KnownOrder question{
      v.self, v.program ? v.program->barrierTime : 0, v.program != nullptr, v.changes, v.narrow, mine, theirs, s.actor,
      s.time};
  Answer& answer = answers_[(s.actor ^ s.time) % answers_.size()];
  if (answer.question == question && answer.clock.same(*v.clock)) return answer.known;
  answer = {question, *v.clock, findOrder(v, mine, s, theirs)};
  return answer.known;
}

bool Checker::findOrder(const View& v, Part mine, const Stamp& s, Part theirs) const {
  if (oneKnows(v, mine, s, theirs)) return true;
  // An access by each thread needs all of them to know, and to be known.
  bool isOwn = s.actor == v.self && !isTransfer(theirs);
  bool mineDiffer = mine == kEach && v.program && (isOwn || v.program->anyExtra);
  if (!mineDiffer && theirs != kEach) return false;
  uint32_t myThreads = mineDiffer ? actors_[v.self].lanes : 1,
           theirThreads = theirs == kEach ? actors_[s.actor].lanes : 1;
  for (uint32_t m = 0; m < myThreads; ++m)
    for (uint32_t t = 0; t < theirThreads; ++t)
      if (!oneKnows(v, mineDiffer ? Part(m) : mine, s, theirs == kEach ? Part(t) : theirs)) return false;
  return true;
}

bool Checker::oneKnows(const View& v, Part mine, const Stamp& s, Part theirs) const {
  if (s.actor == v.self && !isTransfer(theirs)) {
    if (!v.program || mine == kEveryThread || theirs == kEveryThread || s.time <= v.program->barrierTime) return true;
    // Being the same threads does not put them in order if each of them changes memory that others of them may still
    // read or write.
    if (theirs == mine && !(mine == kEach && v.changes)) return true;
  }
  Part known = theirs == kEach ? kEveryThread : theirs;  // one thread's release is none of the others' (M4)
  if (actors_.covers(*v.clock, s, known, v.narrow)) return true;
  const Clock* extra = v.program ? v.program->extraOf(mine) : nullptr;
  return extra && actors_.covers(*extra, s, known, v.narrow);
}

// Threads store the same by one operation (M1).
bool Checker::storesAgain(const View& v, const MemoryAccess& a, const Stamp& now, const Stamp& s) {
  return a.again && s.actor == v.self && s.site == now.site && s.time == now.time && s.part < kFirstPut;
}

// A put before a `fence`, and a later write of the same program to the same peer (M9).
bool Checker::fenced(const View& v, const Stamp& now, const Stamp& s) const {
  if (!v.program || s.actor != v.self || s.part < kFirstPut || s.part >= kFirstGet) return false;
  if (sites_[s.site].kind == AccessKind::Read || sites_[now.site].kind == AccessKind::Read) return false;
  const auto& threads = v.program->threads;
  int peer = s.part - kFirstPut;
  auto covers = [&](const FencePoint& point) {
    return s.time <= point.transfers ||
           std::ranges::any_of(point.puts, [&](auto& put) { return put.number == s.time; });
  };
  return covers(v.program->orders.of(peer)) || (now.part < threads.size() && covers(threads[now.part].orders.of(peer)));
}

// Returns true if `s` happens-before `now` in all of [begin, end). If not, sets `mine` and `theirs` to the parts of the
// two actors between which the order is missing.
bool Checker::ordered(const View& v, const Stamp& now, const Stamp& remembered, uint64_t begin, uint64_t end,
                      Part* mine, Part* theirs) const {
  const Stamp s = actors_.settled(remembered);
  if (!now.laneBytes && !s.laneBytes) {
    *mine = now.part;
    *theirs = s.part;
    return knows(v, now.part, s, s.part);
  }
  if (s.actor == v.self && now.sameThreads(s)) return true;
  bool isOwn = s.actor == v.self && !isTransfer(s.part);
  Part all = isTransfer(s.part) ? s.part : kEveryThread;
  if (isOwn ? v.program && s.time <= v.program->barrierTime : actors_.covers(*v.clock, s, all, v.narrow)) return true;
  for (uint64_t at = begin; at < end;) {
    *mine = now.threadAt(at);
    *theirs = s.threadAt(at);
    if (!knows(v, *mine, s, *theirs)) return false;
    auto next = [&](const Stamp& t) {
      return t.laneBytes ? at + t.laneBytes - (uint32_t(at) - t.origin) % t.laneBytes : end;
    };
    at = std::min(next(now), next(s));
  }
  return true;
}

// Puts `now` among the accesses of its kind: in place of those it supersedes.
void Checker::remember(const View& v, const Stamp& now, const Site& site, Stamp& last, uint32_t& more, uint64_t begin,
                       uint64_t end) {
  auto superseded = [&](const Stamp& s) {
    Part a, b;
    return supersedes(site, sites_[s.site]) && ordered(v, now, s, begin, end, &a, &b);
  };
  if (!last.actor || superseded(last)) {
    last = now;
    if (!more) return;
    std::vector<Stamp>& others = history_.list(more);
    std::erase_if(others, superseded);
    if (others.empty()) history_.drop(more);
    return;
  }
  std::vector<Stamp>& others = history_.list(more);
  if (!others.empty() && superseded(others.back())) {
    others.back() = now;
    return;
  }
  size_t n = others.size();
  if (n >= 16 && (n & (n - 1)) == 0) std::erase_if(others, superseded);
  others.push_back(now);
}

bool Checker::judge(const View& v, const MemoryAccess& a, const Stamp& now, const Site& site, Cell& cell,
                    uint64_t address) {
  uint64_t end = address + (cell.end - cell.begin);
  bool bulkReads =
      a.transfer && a.transfer->bulk && a.transfer->bulk->kind != CopyKind::OfThread && site.kind == AccessKind::Read;
  bool isForAll = site.strong && site.scope == Scope::Sys && !m_.options.portability;
  auto check = [&](const Stamp& remembered) {
    Part mine, theirs;
    const Stamp s = actors_.settled(remembered);
    if (!s.actor) return;
    const Site& there = sites_[s.site];
    // The many updates of one word by many ranks: what `compatible` says of them.
    if (isForAll && there.strong && there.scope == Scope::Sys && there.bytes == site.bytes && s.origin == now.origin)
      return;
    if (compatible(site, now, there, s)) {
      if (m_.options.portability) reportPortability(v, a, now, s, address, end);
      return;
    }
    if (fenced(v, now, s) || storesAgain(v, a, now, s)) return;
    uint64_t from = std::max<uint64_t>(address, a.address), to = std::min(end, a.address + a.bytes);
    if (!ordered(v, now, s, address, end, &mine, &theirs)) {
      if (!acquiredUpdate(v, now, s, address)) report(v, a, now, s, from, to, mine, theirs);
    } else if (bulkReads && needsProxyFence(a, s) && !proxyFenced(v, now, s, from, to, &mine, &theirs))
      report(v, a, now, s, from, to, mine, theirs,
             "no `fence_proxy_async` orders what the thread has stored before what a bulk copy reads (M16)");
  };
  auto checkAll = [&](const Stamp& last, uint32_t more) {
    check(last);
    if (more)
      for (const Stamp& s : history_.list(more)) check(s);
  };
  checkAll(cell.write, cell.moreWrites);
  bool writes = site.kind != AccessKind::Read;
  if (writes) checkAll(cell.read, cell.moreReads);
  if (m_.failed) return false;
  if (writes && !site.strong && !a.again) {
    cell.write = now;
    cell.read = Stamp();
    history_.drop(cell.moreWrites);
    history_.drop(cell.moreReads);
  } else if (writes) {
    remember(v, now, site, cell.write, cell.moreWrites, address, end);
  } else {
    remember(v, now, site, cell.read, cell.moreReads, address, end);
  }
  return true;
}

void Checker::process(const MemoryAccess& a) {
  View v = viewOf(a);
  Stamp now = stampOf(a, v);
  Site site = sites_[now.site];
  bool alike = site.kind != AccessKind::Read && !site.strong && !a.again;
  history_.each(a.address, a.bytes, alike,
                [&](Cell& cell, uint64_t address) { return judge(v, a, now, site, cell, address); });
}

}  // namespace tandem::interpreter::check
