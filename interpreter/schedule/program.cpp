// Programs of a grid become resident as slots free up, run, and leave.
#include "interpreter/schedule/scheduler.h"
#include "interpreter/vm/branches.h"
#include "interpreter/vm/charge.h"
#include "interpreter/vm/registers.h"
#include <algorithm>

namespace tandem::interpreter {

bool World::Impl::startGrid(Stream& s) {
  StreamItem& item = s.items.front();
  auto grid = std::make_unique<Grid>();
  grid->launch = std::move(item.launch);
  auto& slot = prepared[grid->launch.program.get()];
  if (!slot) slot = prepare(grid->launch.program);
  grid->prepared = slot.get();
  grid->stream = &s;
  grid->number = uint32_t(item.done);
  grid->before = item.before;
  grid->behind = item.behind;
  grid->startNs = grid->endNs = s.clockNs + m.clock.launch();
  uint64_t count = 1;
  for (int32_t d : grid->launch.grid) count *= uint64_t(std::max(d, 0));
  grid->order.resize(count);
  for (uint32_t k = 0; k < count; ++k) grid->order[k] = k;
  // Programs start in grid order, but those that fit together have no order among themselves.
  uint32_t window = uint32_t(m.options.slotsPerRank);
  for (uint32_t first = 0; first < count && !m.options.chooser; first += window) {
    uint32_t n = uint32_t(std::min<uint64_t>(window, count - first));
    for (uint32_t k = n; k > 1; --k) std::swap(grid->order[first + k - 1], grid->order[first + m.random.below(k)]);
  }
  ++m.counters.launches;
  if (m.observer) m.observer->gridStarts(s);
  s.grid = std::move(grid);
  if (m.observer) m.observer->records(s, s.began);
  if (count == 0) return false;
  ranks[size_t(s.rank)].starting.push_back(s.grid.get());
  m.block(s, Blocked::No);
  fillSlots(s.rank);
  return true;
}

void World::Impl::fillSlots(int rank) {
  RankState& r = ranks[size_t(rank)];
  while (!r.freeSlots.empty() && !r.starting.empty()) {
    // Launches of different streams share the slots in an order of the seed.
    size_t which = r.starting.size() > 1 && !m.options.chooser ? m.random.below(uint32_t(r.starting.size())) : 0;
    Grid* g = r.starting[which];
    // The slot that is free first in modelled time, the lowest of several.
    auto first = std::min_element(r.freeSlots.begin(), r.freeSlots.end(), [&](int a, int b) {
      auto at = [&](int slot) { return std::pair(std::max(r.slotClockNs[size_t(slot)], g->startNs), slot); };
      return at(a) < at(b);
    });
    int slot = *first;
    r.freeSlots.erase(first);
    startRun(*g, slot);
    if (g->next == g->order.size()) r.starting.erase(r.starting.begin() + long(which));
  }
}

void World::Impl::startRun(Grid& g, int slot) {
  Run* run;
  if (freeRuns.empty()) {
    runs.push_back(std::make_unique<Run>());
    run = runs.back().get();
  } else {
    run = freeRuns.back();
    freeRuns.pop_back();
  }
  uint32_t number = g.order[g.next++];
  ++g.running;
  const Program& program = *g.prepared->program;
  run->prepared = g.prepared;
  run->grid = &g;
  run->rank = g.stream->rank;
  run->team = g.launch.team;
  run->slot = slot;
  run->launch = g.number;
  run->lastTurn = 0;
  run->letsGo = false;
  run->priority = 0;
  run->grids = g.launch.grid;
  uint32_t x = uint32_t(g.launch.grid[0]), y = uint32_t(g.launch.grid[1]);
  run->id = {int32_t(number % x), int32_t(number / x % y), int32_t(number / x / y)};
  run->runId = nextRunId++;
  run->pc = 0;
  run->lanes = program.perThread ? uint32_t(g.launch.numWarps) * 32 : 1;
  run->mask = LaneMask{};
  run->maskStack.clear();
  run->parked.clear();
  run->file = run->lastFile = 0;
  run->named.fill({});
  run->awaitedRound = Run::kNoRound;
  run->watched = Watched{};
  run->puts.assign(size_t(m.options.rankCount), {});
  run->pendingPuts = 0;
  run->late.clear();
  run->passing = {};
  run->strays.clear();
  run->spins.clear();
  ++run->groupTurn;
  run->forgetReads(m.version);
  run->privateVersion = 0;
  run->sharedBuffers.clear();
  run->awaited.clear();
  run->collective = nullptr;
  run->waitBeganNs = -1;
  int64_t& slotClock = ranks[size_t(run->rank)].slotClockNs[size_t(slot)];
  run->clockNs = run->computeBeganNs = std::max(slotClock, g.startNs);
  run->slots.assign(program.registers.size(), Slot{0});
  for (size_t a = 0; a < program.arguments.size() && a < g.launch.arguments.size(); ++a) {
    Register r = program.arguments[a].reg;
    if (g.prepared->registers[r].isInline)
      run->slots[r].bits = g.launch.arguments[a].bits;
    else
      setInteger(m, *run, r, int64_t(g.launch.arguments[a].bits));
  }
  ++m.counters.programs;
  if (m.observer) m.observer->programStarts(*run, *g.stream);
  m.makeRunnable(*run);
}

void World::Impl::finishRun(Run& run) {
  Grid& g = *run.grid;
  span(m, run, SpanKind::Compute, run.computeBeganNs, run.clockNs, g.prepared->program->name, 0);
  Run::Puts left;
  for (const Run::Puts& puts : run.puts)
    if (puts.unfinished) left = {0, left.unfinished + puts.unfinished, puts.location};
  if (left.unfinished) m.unfinished.push_back({run.rank, run.id, g.prepared->program, left.location, left.unfinished});
  m.block(run, Blocked::No);
  if (m.observer) m.observer->programEnds(run);
  dropRegisters(m, run);
  m.arena.resetShared(run.rank, run.slot);
  RankState& rank = ranks[size_t(run.rank)];
  rank.slotClockNs[size_t(run.slot)] = run.clockNs;
  g.endNs = std::max(g.endNs, run.clockNs);
  rank.freeSlots.push_back(run.slot);
  if (g.running > 1 || g.next < g.order.size()) letDependentsGo(m, run);  // behind the last one the launch has ended
  run.runId = 0;
  freeRuns.push_back(&run);
  fillSlots(run.rank);
  if (--g.running == 0 && g.next == g.order.size()) m.makeRunnable(*g.stream);
}

}  // namespace tandem::interpreter
