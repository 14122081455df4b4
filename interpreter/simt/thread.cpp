// Thread indices, special registers, and barriers inside a program. Threads run in step, so a barrier of all checks
// who comes; a named one can join branches that run in turns.
#include "interpreter/dist/team.h"
#include "interpreter/schedule/stream.h"
#include "interpreter/vm/branches.h"
#include "interpreter/vm/handlers.h"

namespace tandem::interpreter::handlers {

Step tid(Machine& m, Run& run, const Prepared& i) {
  Result result(m, run, i.r);
  if (i.as<imm::Tid>().axis == 0)
    makeRange(0, reinterpret_cast<int32_t*>(result.data()), run.count(i.r));
  else
    memset(result.data(), 0, registerBytes(run, i.r));
  result.commit();
  return Step::Next;
}

Step ntid(Machine& m, Run& run, const Prepared& i) {
  setInteger(m, run, i.r, i.as<imm::Ntid>().axis == 0 ? run.lanes : 1);
  return Step::Next;
}

namespace {

// CUDA's cooperative groups have this workspace: its size, then the barrier of the grid, which begins at zero.
constexpr uint32_t kGridWorkspace[2] = {sizeof kGridWorkspace, 0};

Address gridWorkspace(Machine& m, Grid& grid, int rank) {
  if (grid.workspace || !grid.launch.cooperative) return grid.workspace;
  Allocation* made = m.arena.allocate(rank, sizeof kGridWorkspace, MemoryKind::Local, true).allocation;
  if (!made) return 0;
  made->name = "workspace of the cooperative launch";
  memcpy(reinterpret_cast<void*>(made->begin), kGridWorkspace, sizeof kGridWorkspace);
  if (m.observer) m.observer->forget(made->begin, sizeof kGridWorkspace);
  return grid.workspace = made->begin;
}

int64_t readClock(Machine& m, Run& run) {
  ++run.privateVersion;  // a loop that looks at the clock is not a spin
  return run.clockNs += m.clock.instructions(1) + 1;
}

// A bit for each warp of the current group, of the 32 that a program may have.
uint32_t warpsOf(const Run& run) {
  uint32_t warps = 0;
  for (uint32_t first = 0; first < run.lanes; first += 32) warps |= uint32_t(run.laneActive(first)) << first / 32;
  return warps;
}

}  // namespace

Step special(Machine& m, Run& run, const Prepared& i) {
  auto read = [&]() -> int64_t {
    switch (SpecialRegister(i.as<imm::Special>().which)) {
      case SpecialRegister::Sm: return run.slot;
      case SpecialRegister::SmCount: return m.options.slotsPerRank;
      case SpecialRegister::Grid: return run.launch;
      case SpecialRegister::GridWorkspace: return int64_t(gridWorkspace(m, *run.grid, run.rank));
      default: return readClock(m, run);
    }
  };
  setInteger(m, run, i.r, read());
  return Step::Next;
}

Step threadBarrier(Machine& m, Run& run, const Prepared& i) {
  if (!checkGroup(m, run, i, Group::Block, "`__syncthreads`")) return Step::Failed;
  if (m.observer) m.observer->threadBarrier(run);
  return Step::Next;
}

Step namedBarrier(Machine& m, Run& run, const Prepared& i) {
  int64_t id = i.as<imm::NamedBarrier>().id, threads = i.as<imm::NamedBarrier>().threads;
  auto wrong = [&](const std::string& what) {
    return fail(m, run, i, ReportKind::DivergentBlockOperation,
                "barrier " + std::to_string(id) + " of " + std::to_string(threads) + " threads" + what);
  };
  if (threads <= 0 || threads % 32 || threads > int64_t(run.lanes))
    return wrong(" in a program of " + std::to_string(run.lanes));
  if (!checkGroup(m, run, i, Group::Warp, "`barrier`")) return Step::Failed;
  Run::NamedBarrier& barrier = run.named[size_t(id) % run.named.size()];
  if (run.awaitedRound == Run::kNoRound) {
    uint32_t warps = warpsOf(run);
    if (barrier.arrived && barrier.threads != threads)
      return wrong(", where others have come to one of " + std::to_string(barrier.threads));
    if (barrier.warps & warps) return wrong(", to which a warp comes again before all have come");
    barrier.arrived += run.activeLanes();
    barrier.warps |= warps;
    barrier.threads = uint32_t(threads);
    if (barrier.arrived > threads) return wrong(", to which " + std::to_string(barrier.arrived) + " come");
    bool completes = barrier.arrived == threads;
    if (m.observer) m.observer->namedBarrierArrives(run, id, completes);
    if (completes) {
      barrier = {.rounds = barrier.rounds + 1};
      ++run.privateVersion;  // news for a branch that waits here
      if (m.observer && !i.as<imm::NamedBarrier>().arriveOnly) m.observer->namedBarrierLeaves(run, id);
      return Step::Next;
    }
    if (i.as<imm::NamedBarrier>().arriveOnly) return Step::Next;
    run.awaitedRound = barrier.rounds;
  } else if (barrier.rounds != run.awaitedRound) {
    run.awaitedRound = Run::kNoRound;
    if (m.observer) m.observer->namedBarrierLeaves(run, id);
    return Step::Next;
  }
  run.watched = Watched{};
  run.awaited.clear();
  return stall(m, run, Blocked::NamedBarrier, Step::Blocked);
}

Step warpBarrier(Machine& m, Run& run, const Prepared& i) {
  if (!checkGroup(m, run, i, Group::Warp, "`__syncwarp`")) return Step::Failed;
  if (m.observer) m.observer->warpBarrier(run);
  return Step::Next;
}

// Memory is sequentially consistent here; fences matter to the observer only.
Step threadFence(Machine& m, Run& run, const Prepared& i) {
  if (m.observer)
    m.observer->threadFence(run, Semantic(i.as<imm::ThreadFence>().semantic), Scope(i.as<imm::ThreadFence>().scope));
  return Step::Next;
}

}  // namespace tandem::interpreter::handlers
