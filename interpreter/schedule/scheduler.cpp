// The turn: perhaps deliver a late put, pick a runnable task, run it for a random number of instructions.
#include "interpreter/schedule/scheduler.h"
#include "interpreter/check/checker.h"
#include "interpreter/dist/delivery.h"
#include "interpreter/schedule/sync_recorder.h"
#include "interpreter/vm/branches.h"
#include "interpreter/vm/late_stores.h"
#include "interpreter/vm/registers.h"
#include <algorithm>

namespace tandem::interpreter {

World::Impl::Impl(const WorldOptions& options) : m(options) {
  if (options.logStores) m.stores = std::make_unique<check::StoreLog>();
  if (options.check) m.observer = std::make_unique<check::Checker>(m);
  if (options.chooser) m.observer = std::make_unique<SyncRecorder>(m, std::move(m.observer));
  ranks.resize(size_t(options.rankCount));
  for (int r = 0; r < options.rankCount; ++r) {
    for (int s = options.slotsPerRank - 1; s >= 0; --s) ranks[size_t(r)].freeSlots.push_back(s);
    ranks[size_t(r)].slotClockNs.assign(size_t(options.slotsPerRank), 0);
    ranks[size_t(r)].streams.push_back(makeStream(r, 0));
  }
}

World::Impl::~Impl() {
  for (auto& run : runs) dropRegisters(m, *run);
}

bool World::Impl::turn() {
  if (m.options.chooser) return chosenTurn();
  if (!m.pending.empty() && m.random.oneIn(4)) deliverOne(m, false);
  if (m.failed) return true;
  if (m.runnable.empty()) return deliverOne(m, false) || deliverOne(m, true) || leaveBehind();
  ++m.counters.switches;
  Task& t = pick();
  if (t.isStream)
    turnOfStream(static_cast<Stream&>(t));
  else
    turnOfProgram(static_cast<Run&>(t));
  return true;
}

// A GPU promises that every thread gets on, but not that threads part where they need not; so this is the last resort.
bool World::Impl::leaveBehind() {
  std::vector<Run*> blocked;
  for (Task* t : m.blockedTasks)
    if (!t->isStream) blocked.push_back(static_cast<Run*>(t));
  std::sort(blocked.begin(), blocked.end(), [](const Run* a, const Run* b) { return a->runId < b->runId; });
  return std::any_of(blocked.begin(), blocked.end(), [&](Run* run) { return leaveOthersBehind(m, *run); });
}

// Under the checker some seeds end each turn before a synchronising operation: others may come between any two, and a
// store may be late.
void World::Impl::turnOfProgram(Run& run) {
  bool preempts = m.options.check && m.options.seed & 4;
  if (!run.late.empty() && !mayPass(m, run)) {
    storeLate(m, run);
    return;
  }
  if (preempts && mayBeLate(m, run) && m.lateness.oneIn(2)) return takeLate(m, run);
  runUntil(run, 1u << m.random.below(9), preempts ? synchronises : nullptr);
}

static bool endsPassing(const Prepared& i) { return synchronises(i) || !isPassed(i); }

// Behind the first instruction, `stop` may name one to stop before, and late stores end the turn where they must not be late any more.
void World::Impl::runUntil(Run& run, uint32_t quantum, bool (*stop)(const Prepared&)) {
  uint32_t left = quantum;
  notePassing(run);
  if (!run.late.empty()) stop = endsPassing;
  const Prepared* code = run.prepared->code.data();
  Step step = Step::Next;
  while (left) {
    const Prepared& i = code[run.pc];
    if (stop && left != quantum && stop(i)) break;
    bool mustMeet = i.meets != Meets::None && !run.parked.empty();
    step = mustMeet ? meetThreads(m, run, i) : Step::Next;
    if (step == Step::Next) step = i.handler(m, run, i);
    if (step >= Step::Blocked) break;
    --left;
    // A parked group may still read a register whose last read by this group is here.
    for (uint32_t k = 0; k < i.releaseCount && run.parked.empty(); ++k) setBuffer(m, run, i.releases[k], nullptr);
    if (step == Step::Next) ++run.pc;
  }
  uint32_t executed = quantum - left;
  m.counters.instructions += executed;
  run.clockNs += m.clock.instructions(executed);
  if (step == Step::Finished) finishRun(run);
}

}  // namespace tandem::interpreter
