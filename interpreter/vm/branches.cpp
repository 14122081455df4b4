// This file picks the group of threads that goes on: one that has news, one not started yet, one that need not wait for
// the others, or none.
#include "interpreter/vm/branches.h"
#include "interpreter/vm/fail.h"
#include "interpreter/vm/late_stores.h"
#include "interpreter/vm/register_files.h"
#include "interpreter/vm/regroup.h"
#include "interpreter/vm/registers.h"
#include <algorithm>

namespace tandem::interpreter {
namespace {

using State = ThreadGroup::State;

ThreadGroup& park(Machine& m, Run& run, State state) {
  ThreadGroup g;
  g.state = state;
  g.pc = run.pc;
  g.mask = run.mask;
  g.maskStack = run.maskStack;
  if (state == State::Waits) {
    g.watched = run.watched;
    g.awaited = run.awaited;
  }
  g.awaitedRound = run.awaitedRound;
  g.version = m.version;
  g.privateVersion = run.privateVersion;
  g.file = run.file;
  g.collective = run.collective;
  run.parked.push_back(std::move(g));
  return run.parked.back();
}

// Makes a parked group the current one. It forgets the words that it waited for: it will look again.
void resume(Machine& m, Run& run, size_t index) {
  ThreadGroup g = std::move(run.parked[index]);
  run.parked.erase(run.parked.begin() + long(index));
  uint32_t before = run.file;
  selectFile(run, g.file);
  dropUnusedFile(m, run, before);
  run.pc = g.pc;
  run.mask = std::move(g.mask);
  run.maskStack = std::move(g.maskStack);
  run.awaitedRound = g.awaitedRound;
  run.collective = g.collective;
  run.watched = Watched{};
  run.awaited.clear();
  ++run.groupTurn;
  run.forgetReads(m.version);
}

bool hasNews(const Machine& m, const Run& run, const ThreadGroup& g) {
  if (g.state == State::Ready) return true;
  return g.state == State::Waits && (g.version != m.version || g.privateVersion != run.privateVersion);
}

// Goes on with a group that can. False when there is none: each waits for memory or for other groups.
bool resumeAny(Machine& m, Run& run) {
  for (size_t k = 0; k < run.parked.size(); ++k)
    if (hasNews(m, run, run.parked[k])) return resume(m, run, k), true;
  if (!startOther(run)) return false;
  return resume(m, run, run.parked.size() - 1), true;
}

void watchAll(Machine& m, Run& run, const Watched& w) {
  for (auto [address, bytes] : w.places) m.watch(run, address, bytes);
  bool asleep = std::find(m.sleepers.begin(), m.sleepers.end(), &run) != m.sleepers.end();
  if (w.everything && !asleep) m.sleepers.push_back(&run);
}

Step failMeeting(Machine& m, Run& run) {
  auto worst = std::find_if(run.parked.begin(), run.parked.end(),
                            [&](const ThreadGroup& g) { return run.prepared->code[g.pc].op != Op::Return; });
  size_t index = worst == run.parked.end() ? 0 : size_t(worst - run.parked.begin());
  resume(m, run, index);
  const Prepared& i = run.prepared->code[run.pc];
  std::vector<Diagnostic> notes;
  for (const ThreadGroup& g : run.parked) {
    Diagnostic d = placeOf(*run.prepared->program, run.prepared->code[g.pc].location);
    d.message = std::to_string(g.mask.active) + " of the others are here";
    notes.push_back(std::move(d));
  }
  bool block = i.meets == Meets::Block || i.meets == Meets::Top;
  return fail(m, run, i, block ? ReportKind::DivergentBlockOperation : ReportKind::NonUniformWarpOperation,
              "this needs all " +
                  std::string(block ? std::to_string(run.lanes) + " threads of the program" : "threads of a warp") +
                  ", but only " + std::to_string(run.mask.active) + " come",
              std::move(notes));
}

// The current group is parked and waits for others: goes on with one of those.
Step goOn(Machine& m, Run& run) {
  if (resumeAny(m, run)) return Step::Jumped;
  for (size_t k = 0; k < run.parked.size(); ++k)
    if (run.parked[k].state == State::Waits) return resume(m, run, k), Step::Jumped;
  if (!releaseEarly(m, run)) return failMeeting(m, run);
  resume(m, run, run.parked.size() - 1);
  return Step::Jumped;
}

// Returns true if the threads of the warp at `first` are all that instruction `i` needs of it.
bool isWarpTogether(Machine& m, Run& run, const Prepared& i, uint32_t first) {
  uint32_t here = 0, needed = 0;
  for (uint32_t k = 0; k < 32; ++k) {
    if (!run.laneActive(first + k)) continue;
    here |= 1u << k;
    needed |= i.meets == Meets::Warp ? ~0u : uint32_t(integer(m, run, i.a, first + k));
  }
  return (needed & ~here) == 0;
}

// The threads of the current group that need no others for instruction `i`.
LaneMask complete(Machine& m, Run& run, const Prepared& i) {
  bool everything = i.meets == Meets::None || (i.meets == Meets::Top && !run.maskStack.empty());
  if (run.mask.all || everything) return run.mask;
  if (i.meets == Meets::Top || i.meets == Meets::Block) return makeMask(run.lanes, [](uint32_t) { return false; });
  std::vector<bool> warps;
  for (uint32_t first = 0; first < run.lanes; first += 32) warps.push_back(isWarpTogether(m, run, i, first));
  return makeMask(run.lanes, [&](uint32_t lane) { return run.laneActive(lane) && warps[lane / 32]; });
}

}  // namespace

Step stall(Machine& m, Run& run, Blocked why, Step whenBlocked) {
  if (!m.options.chooser && !run.late.empty() && !storeLate(m, run)) return Step::Failed;
  if (!run.maskStack.empty() || !run.parked.empty()) {
    Watched watched = run.watched;
    std::vector<AwaitedSignal> awaited = run.awaited;
    park(m, run, State::Waits);
    if (resumeAny(m, run)) return Step::Jumped;
    resume(m, run, run.parked.size() - 1);
    run.watched = std::move(watched);
    run.awaited = std::move(awaited);
  }
  watchAll(m, run, run.watched);
  for (const ThreadGroup& g : run.parked) {
    watchAll(m, run, g.watched);
    run.awaited.insert(run.awaited.end(), g.awaited.begin(), g.awaited.end());
  }
  m.block(run, why);
  return whenBlocked;
}

bool leaveOthersBehind(Machine& m, Run& run) {
  if (run.maskStack.empty() && run.parked.empty()) return false;
  Watched watched = run.watched;
  std::vector<AwaitedSignal> awaited = run.awaited;
  park(m, run, State::Ready);
  bool released = releaseEarly(m, run);
  resume(m, run, run.parked.size() - 1);
  if (released) {
    m.wake(run);
  } else {
    run.watched = std::move(watched);
    run.awaited = std::move(awaited);
  }
  return released;
}

Step joinAtEnd(Machine& m, Run& run) {
  MaskEntry& entry = run.maskStack.back();
  if (!entry.split || run.parked.empty()) return Step::Next;
  LaneMask here = run.mask;
  auto isHere = [&](const ThreadGroup& g) { return g.state == State::AtEnd && g.maskStack.back().id == entry.id; };
  for (const ThreadGroup& g : run.parked)
    if (isHere(g)) here = either(here, g.mask, run.lanes);
  if (!covers(here, entry.mask, run.lanes)) {
    park(m, run, State::AtEnd);
    return goOn(m, run);
  }
  for (size_t k = run.parked.size(); k-- > 0;)
    if (isHere(run.parked[k])) absorb(m, run, k);
  return Step::Next;
}

Step meetThreads(Machine& m, Run& run, const Prepared& i) {
  if (covers(complete(m, run, i), run.mask, run.lanes)) return Step::Next;
  for (size_t k = run.parked.size(); k-- > 0;) {
    const ThreadGroup& g = run.parked[k];
    if (g.state != State::Meets || g.pc != run.pc || g.maskStack.size() != run.maskStack.size()) continue;
    uniteStacks(run, k);
    absorb(m, run, k);
    k = run.parked.size();  // uniting may have parked more
  }
  LaneMask ready = complete(m, run, i);
  if (run.parked.empty() || covers(ready, run.mask, run.lanes)) return Step::Next;
  if (ready.active && canPart(run)) {
    ThreadGroup& waiting = partFrom(run, without(run.mask, ready, run.lanes));
    waiting.state = State::Meets;
    return Step::Next;
  }
  park(m, run, State::Meets);
  return goOn(m, run);
}

}  // namespace tandem::interpreter
