// Bulk copies read by the asynchronous proxy: threads' stores reach it only through a proxy fence (M16).
#include "interpreter/check/checker.h"
#include "interpreter/simt/bulk_copy.h"
#include <algorithm>

namespace tandem::interpreter::check {

void Checker::proxyFence(const Run& run, bool sharedOnly) {
  flush();
  addProxyFence(stateOf(run), run, true, !sharedOnly);
}

// A fence orders its thread's own accesses and those of others that the thread knows.
void Checker::addProxyFence(ProgramState& p, const Run& run, bool shared, bool global) {
  auto add = [&](const Clock& extra, Part part) {
    Clock fence, own;
    own.raise(keyOf(p.actor, kEveryThread), part == kEveryThread ? p.time : p.barrierTime);
    own.raise(keyOf(p.actor, part), p.time);
    proxyFences_.push_back({p.common, extra, std::move(own)});
    uint32_t number = uint32_t(proxyFences_.size() - 1);
    if (shared) fence.raise(keyOfProxyFence(p.actor, part, false), number);
    if (global) fence.raise(keyOfProxyFence(p.actor, part, true), number);
    return fence;
  };
  if (run.mask.all) {
    p.common.join(add(p.allExtra(), kEveryThread));
  } else {
    for (uint32_t lane = 0; lane < run.lanes; ++lane)
      if (run.laneActive(lane)) {
        const Clock* extra = p.extraOf(Part(lane));
        p.addExtra(lane, run.lanes, add(extra ? *extra : Clock(), Part(lane)));
      }
  }
  ++p.time;
}

// A wait fences for the bulk loads behind it (M6).
void Checker::fenceOfWait(const Run& run, const MemoryAccess& a) {
  auto [known, isNew] = copiesInBulk_.try_emplace(a.program, false);
  if (isNew && a.program)
    known->second = std::any_of(a.program->code.begin(), a.program->code.end(),
                                [](const Instruction& i) { return i.op == Op::TmaLoad || i.op == Op::BulkLoad; });
  if (known->second) addProxyFence(stateOf(run), run, false, true);
}

// The end of a kernel orders everything.
bool Checker::needsProxyFence(const MemoryAccess& a, const Stamp& s) const {
  const Actor& writer = actors_[s.actor];
  if (writer.kind != ActorKind::Program || sites_[s.site].by != Site::By::Program) return false;
  (void)a;
  return actors_.grids[writer.grid].endTime == 0;
}

bool Checker::proxyFenced(const View& v, const Stamp& now, const Stamp& s, uint64_t begin, uint64_t end, Part* mine,
                          Part* theirs) const {
  const Allocation* buffer = m_.arena.find(begin);
  ClockKey family = keyOfProxyFence(0, 0, !(buffer && buffer->shared));
  std::vector<const ProxyFence*> fences;
  v.clock->each([&](const Clock::Entry& e) {
    if ((e.key & (kProxyFences | ClockKey(1) << 63)) == family) fences.push_back(&proxyFences_[e.time]);
  });
  uint64_t step = s.laneBytes ? s.laneBytes : end - begin;
  for (uint64_t at = begin; at < end; at += step) {
    *mine = now.part;
    *theirs = s.threadAt(at);
    if (std::none_of(fences.begin(), fences.end(), [&](const ProxyFence* f) {
          return actors_.covers(f->common, s, *theirs) || actors_.covers(f->extra, s, *theirs) ||
                 actors_.covers(f->own, s, *theirs);
        }))
      return false;
  }
  return true;
}

}  // namespace tandem::interpreter::check
