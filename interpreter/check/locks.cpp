// Locks taken in opposite order may end in a deadlock in another run. A lock is a word that a loop takes by an atomic
// update, and that its holder gives back by a write of the old value. If the holder writes another one, it holds nothing: so
// words are given back that several have at a time, as those of semaphores and of bits for what is free.
#include "interpreter/check/checker.h"
#include "interpreter/vm/fail.h"
#include "interpreter/vm/run.h"
#include <algorithm>
#include <functional>

namespace tandem::interpreter::check {
namespace {

bool writes(Op op) {
  switch (op) {
    case Op::St:
    case Op::Store:
    case Op::BlockStore:
    case Op::AtomicRmw:
    case Op::AtomicCas:
    case Op::Notify:
    case Op::Signal:
    case Op::Put:
    case Op::PutSignal:
    case Op::PutValue: return true;
    default: return false;
  }
}

}  // namespace

bool spins(const PreparedProgram& program, uint32_t pc) {
  constexpr uint32_t kLongest = 24;
  const auto& code = program.code;
  for (uint32_t at = pc + 1; at < code.size() && at < pc + kLongest && !writes(code[at].op); ++at) {
    if (code[at].op != Op::Jump && code[at].op != Op::LoopBack) continue;
    int64_t target = code[at].as<imm::Jump>().target;
    if (target > int64_t(pc)) continue;
    return int64_t(pc) - target < kLongest &&
           std::none_of(code.begin() + target, code.begin() + pc, [](const Prepared& i) { return writes(i.op); });
  }
  return false;
}

void Checker::noteLock(const MemoryAccess& a, uint64_t old, uint64_t now) {
  if (old == now) return;
  std::pair<uint32_t, Part> who{lastStrong_.actor, Part(a.lane)};
  auto held = held_.find(who);
  if (held != held_.end()) {
    auto& locks = held->second;
    auto at = std::find_if(locks.begin(), locks.end(), [&](const HeldLock& h) { return h.address == a.address; });
    if (at != locks.end()) {
      bool isFree = at->free == now;
      locks.erase(at);
      if (locks.empty()) held_.erase(held);
      if (isFree) return givesBack(a);
    }
  }
  if (a.kind != AccessKind::Atomic || a.scope == Scope::Cta) return;
  const Prepared& i = a.run->prepared->code[a.run->pc];
  bool decides = i.op == Op::AtomicCas || i.resultUsed;  // whether the loop goes on
  if (decides && spins(*a.run->prepared, a.run->pc)) takes(a, old);
}

void Checker::takes(const MemoryAccess& a, uint64_t old) {
  auto& locks = held_[{lastStrong_.actor, Part(a.lane)}];
  if (std::any_of(locks.begin(), locks.end(), [&](const HeldLock& h) { return h.address == a.address; })) return;
  std::vector<uint64_t> others;
  for (const HeldLock& h : locks) others.push_back(h.address);
  for (const HeldLock& h : locks) {
    LockOrder order{h.address, a.address, lastStrong_, Part(a.lane), others, false, false, stateOf(*a.run).met};
    lockOrders_.add(std::move(order));
  }
  locks.push_back({a.address, old, lastStrong_});
}

void Checker::givesBack(const MemoryAccess& a) {
  lockOrders_.eachOf(lastStrong_.actor, Part(a.lane), [&](LockOrder& o) {
    if (o.heldBack && o.takenBack) return;
    o.heldBack |= o.held == a.address;
    o.takenBack |= o.taken == a.address;
    if (o.heldBack && o.takenBack) findCycle(o);
  });
}

// Finds a chain of other holders, from the lock that `last` takes to the lock that it holds: each holds the lock that
// the one before it takes.
void Checker::findCycle(const LockOrder& last) {
  if (!lockOrders_.leads(last.taken, last.held)) return;
  std::vector<const LockOrder*> chain{&last};
  auto mayMeet = [&](const LockOrder& o) {
    return std::all_of(chain.begin(), chain.end(), [&](const LockOrder* c) {
      if (o.by.actor == c->by.actor && o.thread == c->thread) return false;
      auto both = [&](uint64_t lock) { return std::find(c->others.begin(), c->others.end(), lock) != c->others.end(); };
      if (std::any_of(o.others.begin(), o.others.end(), both)) return false;
      return !actors_.covers(c->met, o.by, o.thread) && !actors_.covers(o.met, c->by, c->thread);
    });
  };
  std::function<bool()> closes = [&] {
    if (chain.back()->taken == last.held && chain.size() > 1) return true;
    return lockOrders_.anyFrom(chain.back()->taken, [&](const LockOrder& o) {
      if (!o.heldBack || !o.takenBack || !mayMeet(o)) return false;
      chain.push_back(&o);
      if (closes()) return true;
      chain.pop_back();
      return false;
    });
  };
  if (!closes() || !isNew(ReportKind::Deadlock, last.by, chain.back()->by)) return;
  Report r = begin(last.by, ReportKind::Deadlock);
  r.message = actorText(last.by, last.thread) + " takes the lock " +
              addressText(m_, last.taken, sites_[last.by.site].bytes) + " while it holds " +
              addressText(m_, last.held, sites_[last.by.site].bytes) +
              ", and others take them in another order: each may hold what the next one waits for";
  std::vector<Diagnostic> notes;
  for (size_t k = 1; k < chain.size(); ++k) {
    Diagnostic d = placeOfStamp(chain[k]->by);
    d.message = "the other order: " + actorText(chain[k]->by, chain[k]->thread) + " takes " +
                addressText(m_, chain[k]->taken, sites_[chain[k]->by.site].bytes) + " while it holds " +
                addressText(m_, chain[k]->held, sites_[chain[k]->by.site].bytes);
    notes.push_back(std::move(d));
  }
  r.notes.insert(r.notes.begin(), notes.begin(), notes.end());
  tell(std::move(r));
}

}  // namespace tandem::interpreter::check
