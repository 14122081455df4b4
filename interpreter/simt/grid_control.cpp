// A launch that may start before the stream's last one ends: when all programs of that have let it go, or have ended. It
// knows what they did only behind its wait.
#include "interpreter/schedule/stream.h"
#include "interpreter/vm/handlers.h"
#include <algorithm>
#include <utility>

namespace tandem::interpreter {

void letDependentsGo(Machine& m, Grid& grid) {
  if (!grid.behind || grid.behind->mayStart || grid.letGo < grid.order.size()) return;
  grid.behind->mayStart = true;
  for (Task* t : std::exchange(grid.behind->waiting, {})) m.wake(*t);
}

void letDependentsGo(Machine& m, Run& run) {
  if (std::exchange(run.letsGo, true)) return;
  Grid& grid = *run.grid;
  ++grid.letGo;
  if (grid.behind) grid.behind->startNs = std::max(grid.behind->startNs, run.clockNs);
  letDependentsGo(m, grid);
}

namespace handlers {

Step gridControl(Machine& m, Run& run, const Prepared& i) {
  if (!i.as<imm::GridControl>().waits) {
    letDependentsGo(m, run);
    return Step::Next;
  }
  Early* before = run.grid->before.get();
  if (!before) return Step::Next;
  if (!before->ended) {
    before->waiting.push_back(&run);
    m.block(run, Blocked::Launch);
    return Step::Blocked;
  }
  run.clockNs = std::max(run.clockNs, before->endNs);
  if (m.observer) m.observer->waitedFor(run, before->end);
  return Step::Next;
}

}  // namespace handlers
}  // namespace tandem::interpreter
