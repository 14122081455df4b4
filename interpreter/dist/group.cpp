// A call has a group of callers: threads, warps, or the block.
#include "interpreter/dist/team.h"

namespace tandem::interpreter {

bool checkGroup(Machine& m, Run& run, const Prepared& i, Group group, const char* what) {
  if (run.mask.all || group == Group::Thread) return true;
  if (group == Group::Block) {
    fail(m, run, i, ReportKind::DivergentBlockOperation,
         std::string(what) + " needs all " + std::to_string(run.lanes) + " threads of the program, but only " +
             std::to_string(run.mask.active) + " call it");
    return false;
  }
  for (uint32_t warp = 0; warp < run.lanes / 32; ++warp) {
    uint32_t active = 0;
    for (uint32_t k = 0; k < 32; ++k) active += run.mask.bytes[warp * 32 + k];
    if (active == 0 || active == 32) continue;
    fail(m, run, i, ReportKind::NonUniformWarpOperation,
         std::string(what) + " needs all 32 threads of warp " + std::to_string(warp) + ", but only " +
             std::to_string(active) + " call it");
    return false;
  }
  return true;
}

bool checkOneGroup(Machine& m, Run& run, const Prepared& i, Group group, const char* what) {
  if (!checkGroup(m, run, i, group, what)) return false;
  bool apart = !run.mask.all || !run.maskStack.empty() || differs(run, i);
  uint32_t groups = !apart || group == Group::Block ? 1 : run.activeLanes() / (group == Group::Warp ? 32 : 1);
  if (groups <= 1) return true;
  fail(m, run, i, ReportKind::CollectiveMismatch,
       std::to_string(groups) + (group == Group::Warp ? " warps" : " threads") + " call " + what +
           ", each for itself: one group of threads of each rank calls (M12)");
  return false;
}

bool differs(const Run& run, const Prepared& i) {
  bool differ = false;
  for (uint32_t k = 0; k < i.operandCount; ++k) differ = differ || isLanes(run, i.operands[k]);
  for (uint32_t k = 0; k < i.resultCount; ++k) differ = differ || isLanes(run, i.results[k]);
  return differ;
}

uint32_t observedThread(const Run& run, const Prepared& i, Group group, uint32_t lane) {
  if (!run.prepared->program->perThread || group == Group::Block) return kTileCode;
  return group == Group::Thread && run.mask.all && !differs(run, i) ? kEachThread : lane;
}

// The threads of the range agree on every operand.
static bool agree(Machine& m, Run& run, const Prepared& i, uint32_t first, uint32_t count, ReportKind kind,
                  const char* what) {
  for (uint32_t k = 0; k < i.operandCount; ++k) {
    Register r = i.operands[k];
    if (!isLanes(run, r)) continue;
    size_t bytes = size_t(run.info(r).elemBytes) * run.info(r).vectorLength;
    const uint8_t* p = data(m, run, r);
    for (uint32_t lane = first + 1; lane < first + count; ++lane)
      if (memcmp(p + first * bytes, p + lane * bytes, bytes) != 0) {
        fail(m, run, i, kind,
             std::string(what) + ": threads " + std::to_string(first) + " and " + std::to_string(lane) +
                 " disagree on operand " + std::to_string(k));
        return false;
      }
  }
  return true;
}

bool eachCaller(Machine& m, Run& run, const Prepared& i, Group group, bool repeats, const char* what,
                const std::function<bool(uint32_t)>& body) {
  if (!checkGroup(m, run, i, group, what)) return false;
  if (!run.prepared->program->perThread) return body(0);
  bool differ = differs(run, i);
  if (group == Group::Block)
    return agree(m, run, i, 0, run.lanes, ReportKind::DivergentBlockOperation, what) && body(0);
  if (group == Group::Warp) {
    for (uint32_t warp = 0; warp < run.lanes / 32; ++warp) {
      if (!run.laneActive(warp * 32)) continue;
      if (!agree(m, run, i, warp * 32, 32, ReportKind::NonUniformWarpOperation, what)) return false;
      if (!body(warp * 32)) return false;
      if (!differ && !repeats) return true;
    }
    return true;
  }
  if (!differ && !repeats) return body(run.firstActiveLane());
  for (uint32_t lane = 0; lane < run.lanes; ++lane)
    if (run.laneActive(lane) && !body(lane)) return false;
  return true;
}

}  // namespace tandem::interpreter
