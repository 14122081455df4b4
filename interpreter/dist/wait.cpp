// wait and signal_wait_until: suspend the program until signals compare true (M6).
#include "interpreter/dist/team.h"
#include "interpreter/vm/branches.h"
#include "interpreter/vm/charge.h"
#include "interpreter/vm/handlers.h"
#include <algorithm>

namespace tandem::interpreter {
namespace {

// An address that is wrong holds: the wait itself reports it.
bool holdsNow(Machine& m, const AwaitedSignal& w) {
  const Allocation* a = m.arena.find(w.address);
  if (!a || a->freed || w.address + w.bytes > a->end) return true;
  uint64_t seen = 0;
  memcpy(&seen, a->bytesAt(w.address), w.bytes);
  return holds(w.compare, seen, w.value, w.bytes);
}

// Checks whether every awaited signal holds; those that do not stay in run.awaited with a watch each. `seen` gets each
// value. Returns Failed, Next (all hold) or Blocked. `threads` has the waiting thread for each signal; if it is empty,
// the whole program waits for all.
Step await(Accessor who, Run& run, const Prepared& i, std::vector<AwaitedSignal>& wanted, std::vector<uint64_t>& seen,
           const std::vector<uint32_t>& threads = {}) {
  Machine& m = who.m;
  if (m.asksWait) {
    *m.asksWait = std::all_of(wanted.begin(), wanted.end(), [&](const AwaitedSignal& w) { return holdsNow(m, w); });
    return Step::Blocked;
  }
  bool whole = run.prepared->program->perThread && threads.empty();
  std::vector<AwaitedSignal> open;
  int64_t writtenNs = run.clockNs;
  int writer = -1;
  Address last = wanted.empty() ? 0 : wanted.front().address;  // whose writer ended the wait
  for (const AwaitedSignal& w : wanted) {
    uint64_t value;
    if (!threads.empty())
      who.lane = threads[size_t(&w - wanted.data())];
    else if (whole)
      who.lane = kAllThreads;
    if (!readSignal(who, w.address, w.bytes, &value)) return Step::Failed;
    seen.push_back(value);
    bool done = holds(w.compare, value, w.value, w.bytes);
    observeWait(who, w, done);
    if (!done) {
      open.push_back(w);
      continue;
    }
    noteAcquired(m, w.address);
    SignalRecord* r = signalRecord(m, w.address);
    if (r && r->written && r->timeNs > writtenNs) {
      writtenNs = r->timeNs;
      writer = r->rank;
      last = w.address;
    }
  }
  if (open.empty()) {
    ++m.counters.waits;
    if (writtenNs > run.clockNs || run.waitBeganNs >= 0)
      span(m, run, SpanKind::Wait, run.clockNs, writtenNs, "wait", i.location, writer, 0, signalWords(m, last));
    run.clockNs = writtenNs;
    run.waitBeganNs = -1;
    run.awaited.clear();
    return Step::Next;
  }
  run.waitBeganNs = run.clockNs;
  run.watched = Watched{};
  for (const AwaitedSignal& w : open) run.watched.places.push_back({w.address, w.bytes});
  run.awaited = std::move(open);
  return stall(m, run, Blocked::Signal, Step::Blocked);
}

}  // namespace

namespace handlers {

Step waitOp(Machine& m, Run& run, const Prepared& i) {
  unsigned bytes = i.elemBytes == 4 ? 4 : 8;
  std::vector<AwaitedSignal> wanted;
  if (!checkGroup(m, run, i, Group::Block, "`wait`")) return Step::Failed;
  bool perLane = isLanes(run, i.a) || isLanes(run, i.b) || isLanes(run, i.c);
  for (uint32_t lane = 0; lane < (perLane ? run.lanes : 1); ++lane) {
    int64_t count = integer(m, run, i.b, lane);
    if (count < 0 || count > 1 << 16)
      return fail(m, run, i, ReportKind::IndexOutOfRange, "`wait` on " + std::to_string(count) + " signals");
    const auto* p = reinterpret_cast<const uint64_t*>(data(m, run, i.a));
    for (int64_t k = 0; k < count; ++k)
      wanted.push_back({heapAddress(m, run.rank, p[isLanes(run, i.a) ? lane : 0] + uint64_t(k) * bytes), bytes,
                        Compare(i.as<imm::Wait>().compare), rawInteger(m, run, i.c, lane)});
  }
  std::vector<uint64_t> seen;
  Accessor who(m, run, i);
  who.scope = Scope(i.as<imm::Wait>().scope);
  who.semantic = Semantic(i.as<imm::Wait>().semantic);
  Step step = await(who, run, i, wanted, seen);
  if (step == Step::Next && i.r != kNone) setInteger(m, run, i.r, 0);
  return step;
}

Step consumeToken(Machine& m, Run& run, const Prepared& i) { return copy(m, run, i); }

Step signalWait(Machine& m, Run& run, const Prepared& i) {
  unsigned bytes = i.elemBytes == 4 ? 4 : 8;
  std::vector<AwaitedSignal> wanted;
  std::vector<uint32_t> lanes, threads;
  bool ok = eachCaller(m, run, i, Group::Thread, false, "`signal_wait_until`", [&](uint32_t lane) {
    wanted.push_back({heapAddress(m, run.rank, rawInteger(m, run, i.a, lane)), bytes,
                      Compare(i.as<imm::SignalWait>().compare), rawInteger(m, run, i.b, lane), false, i.resultUsed});
    lanes.push_back(lane);
    threads.push_back(observedThread(run, i, Group::Thread, lane));
    return true;
  });
  if (!ok) return Step::Failed;
  std::vector<uint64_t> seen;
  Accessor who(m, run, i);
  who.scope = Scope::Sys;
  who.semantic = Semantic::Acquire;
  if (!run.mask.all && !differs(run, i)) who.threads = &run.mask;
  Step step = await(who, run, i, wanted, seen, threads);
  if (step != Step::Next || i.r == kNone) return step;
  if (!isLanes(run, i.r)) {
    setInteger(m, run, i.r, int64_t(seen.back()));
    return Step::Next;
  }
  Result result(m, run, i.r);
  auto* out = reinterpret_cast<uint64_t*>(result.data());
  memset(out, 0, registerBytes(run, i.r));
  for (size_t k = 0; k < lanes.size(); ++k) out[lanes[k]] = seen[k];
  if (lanes.size() == 1)
    for (uint32_t lane = 0; lane < run.lanes; ++lane) out[lane] = seen[0];
  result.commit();
  return Step::Next;
}

}  // namespace handlers
}  // namespace tandem::interpreter
