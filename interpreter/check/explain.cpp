// The report of a race: both places, and the edge that is missing, by the rule of the memory model that would give it.
#include "interpreter/check/checker.h"
#include "interpreter/vm/fail.h"

namespace tandem::interpreter::check {
namespace {

const char* opText(Op op) {
  switch (op) {
    case Op::Load:
    case Op::BlockLoad:
    case Op::Ld: return "load";
    case Op::Store:
    case Op::BlockStore:
    case Op::St: return "store";
    case Op::AtomicRmw:
    case Op::AtomicCas: return "atomic";
    case Op::Put:
    case Op::PutValue: return "put";
    case Op::PutSignal: return "put with signal";
    case Op::Get: return "get";
    case Op::Signal: return "signal";
    case Op::Notify: return "notify";
    case Op::Wait:
    case Op::SignalWait: return "wait";
    case Op::Broadcastmem:
    case Op::Fcollect: return "collective";
    case Op::MbarrierInit: return "mbarrier_init";
    case Op::MbarrierInvalidate: return "mbarrier_invalidate";
    case Op::MbarrierArrive: return "arrival at an mbarrier";
    case Op::MbarrierTryWait:
    case Op::MbarrierWait: return "wait for an mbarrier";
    case Op::TmaLoad:
    case Op::BulkLoad: return "bulk load";
    case Op::TmaStore:
    case Op::BulkStore: return "bulk store";
    case Op::CopyAsync: return "asynchronous copy";
    case Op::MultimemSt:
    case Op::MultimemLdReduce: return "multimem access";
    case Op::SmemAlloc:
    case Op::SmemStore: return "shared-memory store";
    case Op::SmemRead:
    case Op::SmemLoad: return "shared-memory load";
    default: return nullptr;
  }
}

std::string threadText(Part thread) {
  if (thread < kFirstPut) return ", thread " + std::to_string(thread);
  return thread == kEach ? ", each thread" : "";
}

// The thread of an actor that was heard of at that time or later; empty when none was.
std::string releaserText(const Clock& known, uint32_t actor, uint32_t time) {
  std::string text;
  known.each([&](const Clock::Entry& e) {
    if (actorOf(e.key) != actor || e.key >> 60 || e.time < time || !text.empty()) return;
    if (Part part = Part(e.key); part < kFirstPut)
      text = "thread " + std::to_string(part);
    else if (part == kEach)
      text = "each thread for itself";
  });
  return text;
}

const char* scopeText(Scope s) { return s == Scope::Cta ? "`cta`" : s == Scope::Gpu ? "`gpu`" : "`sys`"; }

}  // namespace

std::string Checker::accessText(const Site& site) const {
  const char* verb = site.kind == AccessKind::Read ? "read" : site.kind == AccessKind::Write ? "write" : "update";
  if (site.by == Site::By::View) return "`numpy()` (read or write)";
  if (site.program)
    for (const Instruction& i : site.program->code)
      if (i.location == site.location && opText(i.op)) return std::string(opText(i.op)) + " (" + verb + ")";
  return site.kind == AccessKind::Atomic ? "signal write" : verb;
}

std::string Checker::actorText(const Stamp& s, Part thread) const {
  const Actor& a = actors_[s.actor];
  switch (a.kind) {
    case ActorKind::Host: return "the host of rank " + std::to_string(a.rank);
    case ActorKind::Stream: return "stream " + std::to_string(a.number) + " of rank " + std::to_string(a.rank);
    default: break;
  }
  std::string text = whoText(a.rank, a.id) + threadText(thread);
  if (const ProgramPtr& p = actors_.grids[a.grid].program) text += " of `" + p->name + "`";
  return text;
}

Diagnostic Checker::placeOfStamp(const Stamp& s) const {
  const Site& site = sites_[s.site];
  return site.program ? placeOf(*site.program, site.location) : note("");
}

Report Checker::begin(const Stamp& now, ReportKind kind) const {
  const Actor& a = actors_[now.actor];
  Report r{kind};
  r.rank = a.rank;
  r.program = a.id;
  Diagnostic place = placeOfStamp(now);
  r.file = place.file;
  r.range = place.range;
  r.notes = std::move(place.notes);
  if (a.kind == ActorKind::Program && actors_.grids[a.grid].program) r.kernel = actors_.grids[a.grid].program->name;
  if (!m_.options.chooser) r.notes.push_back(note("seed " + std::to_string(m_.options.seed) + " gives this run again"));
  return r;
}

void Checker::report(const View& v, const MemoryAccess& a, const Stamp& now, const Stamp& s, uint64_t begin,
                     uint64_t end, Part mine, Part theirs, const std::string& missing) {
  const Site &here = sites_[now.site], &there = sites_[s.site];
  bool misused = (here.signal && !there.strong) || (there.signal && !here.strong);
  ReportKind kind = misused           ? ReportKind::SignalMisuse
                    : missing.empty() ? kindOf(v, now, s, begin, end)
                                      : ReportKind::Race;
  if (!isNew(kind, now, s)) return;
  Report r = this->begin(now, kind);
  r.message = accessText(here) + " of " + addressText(m_, begin, end - begin) + " by " + actorText(now, mine) +
              " is not ordered after the " + accessText(there) + " by " + actorText(s, theirs) + "; ";
  Missing edge =
      misused ? "a signal is touched only by signal operations, waits, strong accesses of its size and streams (M15)"
      : missing.empty() ? missingEdge(v, now, s, mine, theirs)
                        : Missing(missing);
  r.message += edge.text;
  Diagnostic first = placeOfStamp(s);
  first.message = "first access: " + accessText(sites_[s.site]) + " by " + actorText(s, theirs);
  r.notes.insert(r.notes.begin(), edge.notes.begin(), edge.notes.end());
  r.notes.insert(r.notes.begin(), std::move(first));
  if (missing.empty() && a.run && a.run->passing.look != kNoLocation) {
    Diagnostic late = placeOf(*a.run->prepared->program, a.run->passing.store);
    late.message = "the others saw this store late, as a GPU may let them: no `sc` fence lies between it and a look";
    Diagnostic look = placeOf(*a.run->prepared->program, a.run->passing.look);
    look.message = "this look went before it (M4)";
    r.notes.insert(r.notes.begin() + 1, {std::move(late), std::move(look)});
  }
  for (size_t k = 0; v.early && k < v.early->overtaken.size(); ++k) {
    const EarlyView::Overtaken& wait = v.early->overtaken[k];
    if (!actors_.covers(wait.brought, s, theirs)) continue;
    Diagnostic place = placeOf(*here.program, wait.location);
    place.message = "overtaken: this wait";
    r.notes.insert(r.notes.begin() + 1, std::move(place));
    break;
  }
  tell(std::move(r));
}

// Returns the kind of the report: `scope` if only a scope is missing that today's hardware does without.
ReportKind Checker::kindOf(const View& v, const Stamp& now, const Stamp& s, uint64_t begin, uint64_t end) const {
  const Site &here = sites_[now.site], &there = sites_[s.site];
  bool isScope;
  if (here.strong && there.strong) {
    isScope = areOneSize(here, now, there, s) && reaches(here.scope, now.actor, s.actor) &&
              reaches(there.scope, s.actor, now.actor);
  } else {
    View narrow = v;
    narrow.narrow = true;
    Part mine, theirs;
    isScope = ordered(narrow, now, s, begin, end, &mine, &theirs);
  }
  return isScope ? ReportKind::Scope : ReportKind::Race;
}

// Reports accesses that the model allows and that OpenSHMEM, or PTX to the letter, does not.
void Checker::reportPortability(const View& v, const MemoryAccess& a, const Stamp& now, const Stamp& s, uint64_t begin,
                                uint64_t end) {
  const Site &here = sites_[now.site], &there = sites_[s.site];
  bool isMixed = here.type && there.type && *here.type != *there.type,
       isVector = here.elementBytes && there.elementBytes;
  Part mine, theirs;
  if ((!isMixed && !isVector) || ordered(v, now, s, begin, end, &mine, &theirs) ||
      !isNew(ReportKind::Portability, now, s))
    return;
  Report r = this->begin(now, ReportKind::Portability);
  r.message =
      accessText(here) + " of " + addressText(m_, a.address, a.bytes) + " by " + actorText(now, mine) +
      " is not ordered after the " + accessText(there) + " by " + actorText(s, theirs) + "; " +
      (isMixed
           ? "they have different types, which OpenSHMEM does not allow for atomics of one address (M14)"
           : "a vector's elements are accesses of their own in PTX, in no order: one may be new and the next old (M1)");
  Diagnostic first = placeOfStamp(s);
  first.message = "first access: " + accessText(there) + " by " + actorText(s, theirs);
  r.notes.insert(r.notes.begin(), std::move(first));
  tell(std::move(r));
}

void Checker::reportFreed(const Stamp& s, Part theirs, uint64_t begin, uint64_t bytes, const std::string& file,
                          uint32_t line) {
  if (!isNew(ReportKind::UseAfterFree, s, s)) return;
  Report r = this->begin(s, ReportKind::UseAfterFree);
  r.message = accessText(sites_[s.site]) + " of " + addressText(m_, begin, bytes) + " by " + actorText(s, theirs) +
              " is not ordered before the buffer's end: its host has freed it, and no barrier lies between (M2)";
  r.notes.insert(r.notes.begin(), note("freed at " + hostLineText(file, line)));
  tell(std::move(r));
}

std::vector<Diagnostic> Checker::writersOf(Address address) {
  std::vector<Stamp> stamps;
  auto add = [&](const Stamp& s) {
    if (s.actor) stamps.push_back(s);
  };
  history_.eachMade(address / History::kPageBytes * History::kPageBytes, History::kPageBytes,
                    [&](Cell& cell, uint64_t at) {
                      if (address < at || address >= at + (cell.end - cell.begin)) return;
                      add(cell.write);
                      if (cell.moreWrites)
                        for (const Stamp& s : history_.list(cell.moreWrites)) add(s);
                    });
  // An atomic that has left the value as it was is no writer.
  const SyncPlace* place = sync_.find(address);
  auto isLook = [&](const Stamp& s) {
    return sites_[s.site].kind == AccessKind::Atomic && !(place && place->numberOf(s));
  };
  std::erase_if(stamps, isLook);
  if (stamps.empty() && place && place->update(place->newest())) stamps.push_back(place->update(place->newest())->by);
  std::vector<Diagnostic> writers;
  for (const Stamp& s : stamps) {
    writers.push_back(placeOfStamp(s));
    writers.back().message = accessText(sites_[s.site]) + " by " + actorText(s, s.threadAt(address));
  }
  return writers;
}

namespace {

constexpr size_t kTold = 20;

bool isMinor(ReportKind kind) { return kind == ReportKind::Scope || kind == ReportKind::Portability; }

}  // namespace

bool Checker::isNew(ReportKind kind, const Stamp& a, const Stamp& b) {
  if (isMinor(kind) && (minor_ >= kTold || (kind == ReportKind::Scope && !m_.options.scope))) return false;
  auto placeOf = [&](const Stamp& s) {
    const Site& site = sites_[s.site];
    if (!site.program || site.location >= site.program->locations.size()) return size_t(site.by) + 1;
    const Location& l = site.program->locations[site.location];
    return std::hash<std::string>()(site.program->files[l.file]->name) * 31 + l.range.line;
  };
  auto [low, high] = std::minmax({placeOf(a), placeOf(b)});
  return told_.emplace(kind, low, high).second;
}

void Checker::tell(Report r) {
  bool minor = isMinor(r.kind);
  m_.reports.push_back(std::move(r));
  if (minor)
    ++minor_;
  else if (++serious_ >= kTold)
    m_.failed = true;
}

Checker::Missing Checker::missingEdge(const View& v, const Stamp& now, const Stamp& s, Part mine, Part theirs) {
  const Site &a = sites_[now.site], &b = sites_[s.site];
  const Actor &me = actors_[now.actor], &other = actors_[s.actor];
  if (a.by == Site::By::Collective || b.by == Site::By::Collective)
    return "a collective that returns says that the caller's own `dest` is written and its own `source` may be reused, "
           "and nothing of the other members': a barrier lies between, or the call has `barrier=True` (M12)";
  if (a.strong && b.strong) {
    if (!areOneSize(a, now, b, s)) return "both are atomic, but of different addresses or sizes (M1)";
    bool mineIsNarrow = !includes(a.scope, now.actor, s.actor);
    Scope narrow = mineIsNarrow ? a.scope : b.scope;
    return std::string("scope ") + scopeText(narrow) + " of " + (mineIsNarrow ? "this access" : "the first access") +
           " does not include the other's thread" +
           (me.rank != other.rank ? ": between ranks it must be `sys` (M14)" : " (M14)");
  }
  if (v.early && actors_.covers(v.program->common, s, theirs))
    return "the load may start before the wait that brings this, because the wait's token does not reach it: "
           "`dl.consume_token(x, token)` "
           "on its pointer or descriptor orders them (M7)";
  if (now.actor == s.actor) {
    if (isTransfer(theirs) || isTransfer(mine)) return missingOfTransfer(v, now, s, mine, theirs);
    if (mine == kEach && theirs == kEach)
      return "each thread does both, and none waits for the others: an atomic, one thread for all, or `__syncthreads()` "
             "between them (M3)";
    if (mine < kFirstPut && theirs < kFirstPut && mine / 32 == theirs / 32)
      return "no `__syncthreads()`, or `__syncwarp()` within a warp, lies between them (M3)";
    return "no `__syncthreads()` lies between them (M3)";
  }
  bool programs = me.kind == ActorKind::Program && other.kind == ActorKind::Program;
  if (me.rank != other.rank || isTransfer(theirs) || isTransfer(mine) || programs)
    return missingBetween(v, now, s, mine, theirs);
  if (me.kind == ActorKind::Host || other.kind == ActorKind::Host)
    return "the host has not waited for the stream (M13)";
  Missing missed("");  // by a program that has waited for a stream, or the other way round
  if (me.kind == ActorKind::Program) missed = missedBy(now.actor, s, theirs, false);
  if (other.kind == ActorKind::Program) missed = missedBy(s.actor, now, mine, false);
  return missed.text.empty() ? "no event or signal orders the two streams (M13)" : missed;
}

// A program and its own transfer, or two of its transfers.
Checker::Missing Checker::missingOfTransfer(const View& v, const Stamp& now, const Stamp& s, Part mine, Part theirs) {
  if (isBulk(mine) || isBulk(theirs))
    return "no wait for the copy lies between: its mbarrier, or that for its group (M16)";
  if (Missing missed = missedBy(now.actor, s, theirs, false); isTransfer(theirs) && !missed.text.empty()) return missed;
  if (isTransfer(mine) && isTransfer(theirs)) return "no `fence` or `quiet` lies between the two transfers (M9)";
  // The transfer's clock has the accesses before its call.
  if (isTransfer(mine) && s.part < kFirstPut && s.time <= v.clock->latestOf(now.actor))
    return "the transfer does not wait for what other threads have stored: no `__syncthreads()` lies between (M3)";
  return (isTransfer(mine) ? mine : theirs) >= kFirstGet
             ? "no `quiet` lies between a get and the use of its destination (M9)"
             : "no `quiet` lies between a put and the reuse of its bytes (M9)";
}

// Returns the synchronisation by which a program almost learnt of an access that it does not know; empty if there is
// none.
Checker::Missing Checker::missedBy(uint32_t actor, const Stamp& s, Part theirs, bool stale) {
  const ProgramState* p = actor < programs_.size() ? programs_[actor].get() : nullptr;
  auto ended = ended_.find(actor);
  auto brings = [&](const Release& r) {
    Clock all;
    r.addAllTo(all);
    return actors_.covers(all, s, theirs);
  };
  std::vector<Diagnostic> wait = endedEarly(
      actor, [&](const SyncPlace& place, const SyncPlace::Look& look) { return place.anyBetween(look, brings); });
  const char* early =
      "a wait may have ended with an older update of the signal, which does not order this access (M15)";
  if (!p && ended == ended_.end()) return wait.empty() ? Missing("") : Missing(early, std::move(wait));
  const Missed& missed = p ? p->missed : ended->second.first;
  for (size_t k = 0; p && k < p->threads.size(); ++k)
    if (actors_.covers(p->threads[k].extra, s, theirs))
      return "thread " + std::to_string(k) +
             " has acquired it, but no `__syncthreads()` lies between that and the other access (M3)";
  Clock known = p ? p->joined() : ended->second.second;
  bool isNarrow = actors_.covers(known, s, theirs, true) && !actors_.covers(known, s, theirs);
  if (actors_.covers(missed.narrow, s, theirs) || isNarrow)
    return "it was released and seen, but a scope on the way does not include the other side: between ranks it must be "
           "`sys` (M14)";
  if (actors_.covers(missed.gaveUp, s, theirs))
    return "the loop that looks for the update that says so may give up before, and what comes behind it is the same "
           "(M6)";
  if (actors_.covers(missed.relaxed, s, theirs))
    return {"the update that says so was read, but by a relaxed read or wait: it must acquire (M4, M6)",
            std::move(wait)};
  if (!wait.empty()) return {early, std::move(wait)};
  if (actors_.covers(missed.spared, s, theirs))
    return {
        "a wait may have ended before the update of the signal that orders this access: the others are enough for it "
        "(M15)",
        endedEarly(
            actor,
            [&](const SyncPlace& place, const SyncPlace::Look& look) { return place.anyBefore(look.end, brings); },
            brings)};
  bool isProgram = actors_[s.actor].kind == ActorKind::Program && !isTransfer(theirs);
  if (actors_.covers(missed.unfenced, s, theirs)) {
    if (std::string by = isProgram ? releaserText(known, s.actor, s.time) : ""; !by.empty())
      return "it was released by " + by +
             ", but no `__syncthreads()` lies between the access and that release, or the fence before it (M3, M4)";
    if (isTransfer(theirs) && theirs >= kFirstGet)
      return "the signal that was waited for is not ordered after this get: it takes a `quiet` before it, a `fence` does "
             "not complete gets (M9)";
    if (isTransfer(theirs))
      return "the signal that was waited for is not ordered after this transfer: it takes the put's own signal, or a "
             "`fence` or `quiet` before it, in the thread that put or behind a `__syncthreads()` (M9)";
    return "the update that was waited for does not release this access: a release order, `notify` or a `fence` before "
           "it is "
           "missing (M4, M11)";
  }
  if (isProgram && stale && known.latestOf(s.actor))
    return {"the newest update acquired from there was sent before the " + accessText(sites_[s.site]) +
                ": wait for one that is sent after it (M15)",
            endedEarly(actor, [&](const SyncPlace& place, const SyncPlace::Look& look) {
              const UpdatePoint* enough = place.update(look.number);
              return enough && enough->by.actor == s.actor;
            })};
  if (isProgram && stale && knowsSibling(known, actor, s.actor))
    return "what was acquired is an update of another program of that launch, which orders that program's accesses only "
           "(M5, M13)";
  if (actors_.covers(missed.loose, s, theirs))
    return "an update that comes after it was seen, but neither does that release this access, nor does the look acquire "
           "(M4, M14)";
  return "";
}

// Returns the program that knows of an access and has told this one of something, by an update that does not pass that on;
// empty if there is none.
Checker::Missing Checker::missedThrough(uint32_t actor, const Stamp& s, Part theirs) {
  struct Knowledge {
    const Missed* missed = nullptr;
    Clock known;
  };
  auto of = [&](uint32_t a) -> Knowledge {
    if (a < programs_.size() && programs_[a]) return {&programs_[a]->missed, programs_[a]->joined()};
    auto ended = ended_.find(a);
    return ended == ended_.end() ? Knowledge() : Knowledge{&ended->second.first, ended->second.second};
  };
  Knowledge mine = of(actor);
  Missing found("");
  auto look = [&](const Clock::Entry& e) {
    uint32_t teller = actorOf(e.key);
    bool isUpdate = !(e.key >> 60) && Part(e.key) == kEveryThread && teller != actor && teller != s.actor;
    if (!found.text.empty() || !isUpdate || mine.known.get(e.key) >= e.time) return;
    if (!actors_.covers(of(teller).known, s, theirs)) return;
    const Actor& a = actors_[teller];
    found = "an update by " + whoText(a.rank, a.id) +
            ", which knows of that access, was seen, but does not pass that on: a release order, `notify` or a `fence` "
            "before it is missing (M4, M11)";
  };
  if (!mine.missed) return found;
  mine.missed->unfenced.each(look);
  mine.missed->loose.each(look);
  return found;
}

// The last wait of an actor that `isIt`, and the update that is enough for it, none that `brings` what is missing.
std::vector<Diagnostic> Checker::endedEarly(uint32_t actor,
                                            const std::function<bool(const SyncPlace&, const SyncPlace::Look&)>& isIt,
                                            const std::function<bool(const Release&)>& brings) {
  const SyncPlace* place = nullptr;
  const SyncPlace::Look* wait = nullptr;
  sync_.each([&](const SyncPlace& p) {
    for (auto look = p.looks.lower_bound({actor, 0}); look != p.looks.end() && look->first.first == actor; ++look) {
      bool isLater = look->second.waited && (!wait || wait->by.time <= look->second.by.time);
      if (!isLater || !isIt(p, look->second)) continue;
      place = &p;
      wait = &look->second;
    }
  });
  if (!wait) return {};
  auto told = [&](const std::string& what, const Stamp& at) {
    Diagnostic d = placeOfStamp(at);
    d.message = what + accessText(sites_[at.site]) + " by " + actorText(at, at.part);
    return d;
  };
  std::vector<Diagnostic> notes{told("ended early: ", wait->by)};
  uint64_t number = wait->number;
  while (brings && place->brings(number, brings)) --number;
  if (const UpdatePoint* enough = place->update(number))
    notes.push_back(told("enough for that wait: ", enough->by));
  else if (!place->isForgotten(number))
    notes.push_back(note("enough for that wait: the value from before all updates"));
  return notes;
}

// Returns true if the clock knows another program of the other's launch.
bool Checker::knowsSibling(const Clock& known, uint32_t actor, uint32_t other) const {
  bool found = false;
  known.each([&](const Clock::Entry& e) {
    if (e.key >> 60) return;
    uint32_t from = actorOf(e.key);
    const Actor& a = actors_[from];
    found = found || (from != actor && from != other && a.kind == ActorKind::Program && a.grid == actors_[other].grid);
  });
  return found;
}

Checker::Missing Checker::missingBetween(const View& v, const Stamp& now, const Stamp& s, Part mine, Part theirs) {
  const Actor &me = actors_[now.actor], &other = actors_[s.actor];
  bool stale = !isTransfer(mine) && !isTransfer(theirs);  // an old update may be all that was acquired
  Missing missed = missedBy(now.actor, s, theirs, stale);
  // The first access may be the one that came too early.
  if (missed.text.empty()) missed = missedBy(s.actor, now, mine, stale);
  if (!missed.text.empty()) return missed;
  if (Missing relayed = missedThrough(now.actor, s, theirs); !relayed.text.empty()) return relayed;
  if (isBulk(theirs) || isBulk(mine))
    return "no `cp_async_bulk_wait_group` lies between the bulk copy and what tells of it (M16)";
  const ProgramState* reader = s.actor < programs_.size() ? programs_[s.actor].get() : nullptr;
  if (isTransfer(mine) && !isTransfer(theirs) && reader && reader->common.latestOf(now.actor))
    return "the last message acquired from there is an older one: no wait for this one, and nothing tells its sender "
           "that the bytes "
           "are free (M15)";
  if (isTransfer(theirs) || isTransfer(mine))
    return "nothing tells the other side that the transfer is complete: no signal after `quiet` or of the put itself, "
           "no barrier (M8, M12)";
  if (me.kind == ActorKind::Host || other.kind == ActorKind::Host)
    return "no barrier of the ranks orders it with the host's access (M12)";
  if (me.kind == ActorKind::Program && other.kind == ActorKind::Program && me.grid == other.grid)
    return "two programs of one kernel have no order but by signals and atomics (M13)";
  auto streamOf = [&](const Actor& a) { return actors_[actors_.grids[a.grid].stream].number; };
  if (me.rank == other.rank && me.kind == ActorKind::Program && other.kind == ActorKind::Program &&
      streamOf(me) == streamOf(other))
    return "one kernel may start before the other ends, and no `gdc_wait` lies between (M13)";
  if (me.rank == other.rank) return "the two kernels run on streams that no event orders (M13)";
  return "no signal, barrier or atomic orders them (M5, M6, M12)";
}

}  // namespace tandem::interpreter::check
