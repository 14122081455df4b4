// A barrier of all programs of one launch. Programs that wait keep their slots, so all must fit at once.
#include "interpreter/dist/team.h"
#include "interpreter/vm/charge.h"
#include "interpreter/vm/handlers.h"
#include <algorithm>

namespace tandem::interpreter::handlers {

Step gridBarrier(Machine& m, Run& run, const Prepared& i) {
  if (!checkGroup(m, run, i, Group::Block, "`sync_grid`")) return Step::Failed;
  GridMeeting& meeting = m.gridMeetings[run.grid];
  uint32_t programs = uint32_t(run.grids[0]) * uint32_t(run.grids[1]) * uint32_t(run.grids[2]);
  if (run.awaitedRound == Run::kNoRound) {
    run.awaitedRound = meeting.rounds;
    if (m.observer) m.observer->gridBarrierArrives(run);
    meeting.timeNs = std::max(meeting.timeNs, run.clockNs);
    if (++meeting.arrived == programs) {
      meeting.arrived = 0;
      ++meeting.rounds;
      ++m.version;
      std::vector<Task*> waiting;
      waiting.swap(meeting.waiting);
      for (Task* task : waiting) m.wake(*task);
    }
  }
  if (meeting.rounds == run.awaitedRound) {
    meeting.waiting.push_back(&run);
    m.block(run, Blocked::GridBarrier);
    return Step::Blocked;
  }
  run.awaitedRound = Run::kNoRound;
  if (m.observer) m.observer->gridBarrierLeaves(run);
  int64_t until = std::max(run.clockNs, meeting.timeNs) + m.clock.barrier();
  span(m, run, SpanKind::Barrier, run.clockNs, until, "sync_grid", i.location);
  run.clockNs = until;
  return Step::Next;
}

}  // namespace tandem::interpreter::handlers
