// This file handles releases and acquires: the knowledge that a strong write leaves at its address, and the readers
// that learn it (M4, M5, M6, M10, M11, M14).
#include "interpreter/check/checker.h"
#include "interpreter/memory/access.h"
#include "interpreter/schedule/stream.h"
#include "interpreter/vm/registers.h"
#include <algorithm>

namespace tandem::interpreter::check {
namespace {

bool releases(Semantic s) { return s == Semantic::Release || s == Semantic::AcqRel || s == Semantic::SeqCst; }
bool acquires(Semantic s) { return s == Semantic::Acquire || s == Semantic::AcqRel || s == Semantic::SeqCst; }

// The parity of the phase for which the access looks at an mbarrier, if it does.
std::optional<uint64_t> awaitedParity(Machine& m, const MemoryAccess& a) {
  Run& run = const_cast<Run&>(*a.run);  // to read a register
  const Prepared& i = run.prepared->code[run.pc];
  if (i.op != Op::MbarrierWait && i.op != Op::MbarrierTryWait) return std::nullopt;
  return rawInteger(m, run, i.b, a.lane < run.lanes ? a.lane : run.firstActiveLane()) & 1;
}

}  // namespace

void Checker::synchronise(const MemoryAccess& a) {
  if (a.run && a.kind != AccessKind::Write) looks(stateOf(*a.run), a);
  hasChain_ = false;
  asksForStore(a);
  // A wait acquires once its condition holds: see waits().
  if (a.kind != AccessKind::Write && !a.isSignal) acquire(a);
  // Nobody can tell that an update has been there if it left the value as it was.
  if (a.kind != AccessKind::Read && !a.preserves) publish(a);
}

// No load goes ahead of an atomic of the whole program, nor of the thread barrier behind a thread's look (M7).
void Checker::looks(ProgramState& p, const MemoryAccess& a) {
  if (!isWhole(a))
    p.threadsLooked = true;
  else if (a.kind == AccessKind::Atomic)
    p.meetEarlyLoads();
}

void Checker::publish(const MemoryAccess& a) {
  if (a.sets)
    if (SyncPlace* place = sync_.find(a.address)) place->beginChain();
  if (a.run) return publishOfProgram(stateOf(*a.run), a);
  Release r;
  r.rank = a.rank;
  if (a.transfer) {
    r.actor = a.transfer->observedActor;
    r.common = a.transfer->bulk ? carriedByLoad(a) : static_cast<const Transfer*>(a.transfer->observed.get())->carried;
    r.isFull = true;
  } else {
    Serial& s = a.stream ? serialOf(*a.stream) : hostOf(a.rank);
    r.actor = s.actor;
    r.common = s.publish();
    r.isFull = true;
  }
  sync_.at(a.address).add(std::move(r));
}

void Checker::publishOfProgram(ProgramState& p, const MemoryAccess& a) {
  // One of the threads' writes is read, and nobody knows which: so it carries the knowledge that all threads share.
  bool each = a.lane == kEachThread, whole = isWhole(a) && !each, isRelease = releases(a.semantic);
  Part part = Part(a.lane);
  ThreadState* thread = whole || each || p.threads.empty() ? nullptr : &p.threads[a.lane];
  auto later = [](const FencePoint* all, const FencePoint* own) {
    return !all || (own && own->time >= all->time) ? own : all;
  };
  std::vector<const FencePoint*> fences;  // the widest first; a narrower one counts if it came later
  for (Scope scope : {Scope::Sys, Scope::Gpu, Scope::Cta}) {
    const FencePoint* fence = later(p.fences.last(scope), thread ? thread->fences.last(scope) : nullptr);
    if (fence && (fences.empty() || fence->time > fences.back()->time)) fences.push_back(fence);
  }
  int peer = m_.arena.rankOf(a.address);
  const FencePoint *ordersAll = &p.orders.of(peer), *ordersOwn = thread ? &thread->orders.of(peer) : nullptr;
  const FencePoint& orders = *later(ordersAll, ordersOwn);
  // A relaxed write of one thread may be a flag: noted for explanations.
  bool isFlag = a.isSignal || whole || a.run->activeLanes() == 1;
  bool isOfThread = !whole && !each && !a.isSignal;
  if (SyncPlace* known = isOfThread ? sync_.find(a.address) : nullptr)
    known->carryOn(p.actor, part, isRelease ? std::optional(a.scope) : std::nullopt);
  if (!isRelease && fences.empty() && !orders.time && !isFlag) return;
  SyncPlace& place = sync_.at(a.address);
  auto make = [&](Scope scope) {
    Release r;
    r.actor = p.actor;
    r.rank = p.rank;
    r.scope = scope;
    r.part = part;
    r.now = p.time;
    r.transfers = transfers_;
    return r;
  };
  auto addFence = [&](Release& r, const FencePoint& f) {
    r.common = f.common;
    r.extra = f.extra;
    r.everyTime = whole && f.byAll ? f.time : f.barrierTime;
    r.partTime = f.time;
    if (f.byAll && whole) r.tileTime = f.time;
  };
  Release own = make(a.scope);
  if (isRelease) {
    own.common = whole ? p.joined() : p.common;
    if (const Clock* extra = whole ? nullptr : p.extraOf(part)) own.extra = *extra;
    own.everyTime = whole ? p.time : p.barrierTime;
    own.partTime = p.time;
    own.isFull = true;
    own.isOfThread = isOfThread;
    own.carriesChain = hasChain_ && acquires(a.semantic) && !each;
  } else {
    for (const FencePoint* fence : fences) {
      Release fenced = make(a.scope);
      fenced.fence = fence->scope;
      addFence(fenced, *fence);
      place.add(std::move(fenced));
    }
    if (orders.time) addFence(own, orders);
  }
  if (peer >= 0 && p.lastPut.contains(peer)) {  // others may have fenced transfers before a barrier
    own.putPart = Part(kFirstPut + peer);
    for (const FencePoint* point : {ordersAll, ordersOwn}) {
      if (!point) continue;
      own.puts = std::max(own.puts, point->transfers);
      for (const ThreadPut& put : point->puts) {
        if (put.peer != peer) continue;
        own.extra.raise(keyOfTransfer(put.number), 1);
        own.hasSinglePuts = true;
      }
    }
  }
  if (!isRelease) orderSignals(p, part, whole, own);
  if (isRelease || orders.time || isFlag) place.add(std::move(own));
  ++p.time;
}

void Checker::acquire(const MemoryAccess& a) {
  SyncPlace* place = sync_.find(a.address);
  if (!place) return;
  if (a.run) {
    if (std::optional<uint64_t> parity = awaitedParity(m_, a)) {
      auto ends = [&](uint64_t value) { return (value & 1) != *parity; };
      if (ends(wordAt(m_, a.address, 8))) acquireAwaited(a, false, ends);
      return;
    }
    if (acquirePolled(a) || acquireDecided(a, *place)) return;
    if (commutingOf(a, 0, 0)) {
      acquire(a, *place, place->upTo(lastCertain(a, *place)));
      hasChain_ = false;
      return;
    }
    if (place->newest()) place->sees(lastStrong_, place->newest(), false);
  }
  acquire(a, *place, place->all());
}

// Goes from the newest release on, since that often carries the others. Releases that this reader has been through
// bring nothing again.
void Checker::acquire(const MemoryAccess& a, SyncPlace& place, const Acquired& acquired, const Spared& spared) {
  place.forgetReaders([&](uint32_t actor) { return actors_[actor].kind == ActorKind::Program && !programs_[actor]; });
  if (a.transfer || acquired.begin == acquired.end) return;
  ProgramState* p = a.run ? &stateOf(*a.run) : nullptr;
  Serial* s = p ? nullptr : a.stream ? &serialOf(*a.stream) : &hostOf(a.rank);
  uint32_t actor = p ? p->actor : s->actor, location = p && !p->early.empty() ? a.location : 0;
  SyncPlace::Taken& taken = place.taken[{actor, Part(a.lane), acquires(a.semantic), a.scope, location}];
  if (taken.end <= acquired.begin) taken.all = true;
  uint64_t first = std::max(acquired.begin, taken.end);
  bool inBlocks = p && acquires(a.semantic) && a.scope == Scope::Sys && p->early.empty() && spared.empty();
  for (uint64_t k = acquired.end; k-- > first;) {
    bool endsBlock = (k + 1) % SyncPlace::kBlock == 0 && k + 1 >= first + SyncPlace::kBlock;
    if (const ReleaseBlock* block = inBlocks && endsBlock ? place.blockAt(k + 1 - SyncPlace::kBlock) : nullptr) {
      p->missed.unfenced.join(block->all);
      (isWhole(a) ? p->common : p->extraFor(a.lane, a.run->lanes)).join(block->brings);
      k -= SyncPlace::kBlock - 1;
      continue;
    }
    const Release& r = place.release(k);
    // Accesses of scope `gpu` are reported for themselves, and synchronise.
    bool isNarrow = !includes(r.fence, r.actor, actor);
    bool synchronises = reaches(std::min(r.scope, r.fence), r.actor, actor) && (!p || reaches(a.scope, actor, r.actor));
    if (isNarrow || !synchronises) taken.all = false;
    if (p && (isNarrow || !synchronises)) r.addAllTo(p->missed.narrow);
    if (!synchronises) continue;
    if (auto certain = spared.find(k); certain != spared.end()) {
      if (p) r.addAllTo(p->missed.spared);
      learn(p, s, a, certain->second, isNarrow);
    } else {
      learn(p, s, a, r, isNarrow);
    }
    if (r.carriesChain) break;
  }
  // A later wait may bring all of what this one has done without.
  taken.end = std::max(taken.end, spared.empty() ? acquired.end : std::min(acquired.end, spared.begin()->first));
  taken.all &= spared.empty();
  hasChain_ = taken.all;
}

void Checker::learn(ProgramState* p, Serial* s, const MemoryAccess& a, const Release& r, bool isNarrow) {
  if (p)
    acquireByProgram(*p, a, r);
  else if (isNarrow)
    r.addNarrowTo(s->clock);
  else
    r.addTo(s->clock);
}

// A loop that looks at a word until it compares true is a wait; its looks before the last one order nothing. Returns
// true if the access is part of one.
bool Checker::acquirePolled(const MemoryAccess& a) {
  const PollLoop* poll = a.kind == AccessKind::Read || a.preserves ? polls_.find(*a.run) : nullptr;
  if (!poll || a.bytes > 8) return false;
  SyncPlace* place = sync_.find(a.address);
  if (poll->givesUp) {
    Acquired all = place ? place->all() : Acquired();
    for (uint64_t k = all.begin; k < all.end; ++k) place->release(k).addAllTo(stateOf(*a.run).missed.gaveUp);
    return true;
  }
  auto ends = [&](uint64_t value) { return endsPoll(m_, *a.run, *poll, a.lane, a.address, value); };
  std::optional<bool> ended = ends(wordAt(m_, a.address, unsigned(a.bytes)));
  if (place) {
    place->isAwaited = true;
    bool waitsHere = !poll->hasSeveral && ended && acquires(a.semantic);
    findClash(a, *place, waitsHere, [&](uint64_t value) { return ends(value).value_or(false); });
  }
  if (ended.value_or(false)) acquireAwaited(a, false, [&](uint64_t value) { return ends(value).value_or(false); });
  if (ended.value_or(true)) return ended.has_value();
  if (!poll->hasSeveral) return true;
  // The value that this look has found may be why another look ends the loop later.
  return place && acquireDecided(a, *place);
}

// A look that decides conditions and nothing else may have found the first value that decides them so. Returns true if
// the access is one.
bool Checker::acquireDecided(const MemoryAccess& a, const SyncPlace& place) {
  bool isLook = (a.kind == AccessKind::Read || a.preserves) && a.bytes <= 8;
  const Decision* decision = isLook ? polls_.decisionOf(*a.run) : nullptr;
  if (!decision || lastKnown(a, place) == place.newest()) return false;
  auto decides = [&](uint64_t value) { return decided(m_, *a.run, *decision, a.lane, a.address, value); };
  std::optional<std::vector<uint64_t>> now = decides(wordAt(m_, a.address, unsigned(a.bytes)));
  if (now) acquireAwaited(a, false, [&](uint64_t value) { return decides(value) == now; });
  return now.has_value();
}

// A wait may have ended with the first update that satisfies it, whatever has come since; another schedule lets it.
void Checker::acquireAwaited(const MemoryAccess& a, bool valueUsed, const std::function<bool(uint64_t)>& ends) {
  SyncPlace* place = sync_.find(a.address);
  if (!place) return;
  Acquired acquired = place->all();
  Spared spared;
  if (!valueUsed && wordAt(m_, a.address, unsigned(a.bytes)) == place->value()) {
    uint64_t known = lastKnown(a, *place);
    if (place->isForgotten(known)) exceeded(a, *place);
    acquired = place->firstFrom(known, ends).value_or(acquired);
    spared = sparedBy(a, *place, acquired.number, ends);
  }
  place->sees(stampOf(a, viewOf(a)), acquired.number, true,
              spared.empty() ? std::nullopt : std::optional(spared.begin()->first));
  acquire(a, *place, acquired, spared);
  learnUpdate(a, *place, acquired.number);
}

// An actor that knows a release's time knows everything that the release carries.
bool Checker::knowsRelease(const ProgramState& p, const MemoryAccess& a, const Release& r) const {
  if (r.puts || r.hasSinglePuts || r.hasWaits || !r.partTime) return false;
  auto has = [&](const Clock& c) {
    return c.get(keyOf(r.actor, r.part)) >= r.partTime && c.get(keyOf(r.actor, kEveryThread)) >= r.everyTime;
  };
  const Clock* extra = isWhole(a) ? nullptr : p.extraOf(Part(a.lane));
  return has(p.common) || (extra && has(*extra));
}

void Checker::acquireByProgram(ProgramState& p, const MemoryAccess& a, const Release& r) {
  bool isAcquire = acquires(a.semantic), whole = isWhole(a);
  bool isNarrow = !includes(r.fence, r.actor, p.actor);
  if (isAcquire && whole && !isNarrow) learnEarly(p, a, r);
  if (!isNarrow && knowsRelease(p, a, r)) return;
  const Clock& unknown = p.unknownOf(r.common);
  if (isAcquire && r.everyTime == r.now)
    p.missed.unfenced.raise(keyOf(r.actor, kAllTransfers), r.transfers);  // all else is known from now on
  else
    r.addAllTo(isAcquire ? p.missed.unfenced : p.missed.loose, unknown);
  if (!isAcquire) r.addTo(p.missed.relaxed, unknown);
  Pending* pending = isAcquire ? nullptr : whole ? &p.pending : &p.thread(a.lane, a.run->lanes).pending;
  Clock& known = pending ? pending->all : whole ? p.common : p.extraFor(a.lane, a.run->lanes);
  if (pending && r.actor == p.actor) r.addTo(pending->own, unknown);
  if (isNarrow)
    r.addNarrowTo(known, unknown);
  else
    r.addTo(known, unknown);
}

// A fence turns knowledge of relaxed reads into acquired knowledge; at scope `gpu` only that of its own rank, at `cta`
// that of its program.
void Checker::learnFenced(ProgramState& p, Clock& known, const Pending& pending, Scope scope) {
  if (scope == Scope::Sys) return known.join(pending.all);
  if (scope == Scope::Cta) {
    p.missed.narrow.join(pending.all);
    return known.join(pending.own);
  }
  pending.all.each([&](const Clock::Entry& e) {
    bool isFar = !(e.key >> 60) && actors_[actorOf(e.key)].rank != p.rank;
    known.raise(isFar ? kNarrow | e.key : e.key, e.time);
  });
}

// Loads that may overtake this wait learn nothing by it (M7).
void Checker::learnEarly(ProgramState& p, const MemoryAccess& a, const Release& r) {
  for (EarlyView& e : p.early) {
    if (!e.mayOvertake(a.location)) {
      if (e.isBehind) r.addTo(e.known);
      continue;
    }
    if (!e.isBehind) e.known = p.common;
    e.isBehind = true;
    auto wait =
        std::find_if(e.overtaken.begin(), e.overtaken.end(), [&](const auto& w) { return w.location == a.location; });
    if (wait == e.overtaken.end()) wait = e.overtaken.insert(wait, {a.location, {}});
    r.addTo(wait->brought);
  }
}

void Checker::waits(const MemoryAccess& a, const AwaitedSignal& signal, bool done) {
  if (m_.failed) return;
  flush();
  if (done) {
    acquireAwaited(a, signal.valueUsed,
                   [&](uint64_t value) { return holds(signal.compare, value, signal.value, signal.bytes); });
    if (a.run) fenceOfWait(*a.run, a);
  }
  View v = viewOf(a);
  Stamp now = stampOf(a, v);
  SignalUses& uses = signals_.at(signal.address);
  auto mine = std::find_if(uses.waiting.begin(), uses.waiting.end(), [&](const SignalLook& w) {
    return w.by.actor == now.actor && w.by.part == now.part && w.compare == signal.compare && w.value == signal.value;
  });
  bool isWaiting = mine != uses.waiting.end();
  if (done) {
    if (isWaiting) uses.waiting.erase(mine);
    return noteWait(uses, v, {now, signal.compare, signal.value, 0}, a);
  }
  SyncPlace* place = sync_.find(signal.address);
  if (place && isOvertaken(a, signal, *place, isWaiting ? mine->number + 1 : 0)) return;
  if (!isWaiting) mine = uses.waiting.insert(mine, {now, signal.compare, signal.value, 0});
  mine->by = now;
  mine->number = place ? place->newest() : 0;
}

}  // namespace tandem::interpreter::check
