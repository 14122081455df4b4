// The turn of a world whose schedule a chooser decides: operations that concern nobody else are done at once, and
// before every synchronising operation the chooser picks the task that goes on. A wait is a choice once it holds; a
// signal that a late put carries is one from the moment it may arrive, and a late store from the program's coming to it on.
#include "interpreter/dist/delivery.h"
#include "interpreter/dist/team.h"
#include "interpreter/schedule/scheduler.h"
#include "interpreter/schedule/sync_recorder.h"
#include "interpreter/vm/fail.h"
#include "interpreter/vm/late_stores.h"
#include <algorithm>

namespace tandem::interpreter {
namespace {

enum class Place : uint8_t { Local, Choice, Held };  // Held: until a transfer or a late store has arrived

constexpr uint32_t kLocalTurn = 1u << 16;

Transition nameOf(const Task& task) {
  Transition t;
  t.rank = task.rank;
  if (task.isStream) {
    t.kind = Transition::Kind::Stream;
    t.launch = static_cast<const Stream&>(task).id;
    return t;
  }
  auto& run = static_cast<const Run&>(task);
  t.launch = run.launch;
  t.program = uint32_t(run.id[0] + run.grids[0] * (run.id[1] + run.grids[1] * run.id[2]));
  return t;
}

Transition nameOf(const SyncRecorder& recorder, const PendingPut& put) {
  Transition t{Transition::Kind::Put, put.rank};
  t.launch = put.launch;
  t.program = put.number;
  t.number = recorder.numberOf(put);
  return t;
}

// The first late store of a program.
Transition nameOfStore(const Run& run) {
  Transition t = nameOf(run);
  t.kind = Transition::Kind::Store;
  t.number = run.late.front().steps;
  return t;
}

// Some may sleep in a loop that looks.
std::vector<Run*> runsWithLateStores(const Machine& m) {
  std::vector<Run*> found;
  auto add = [&](Task* task) {
    if (!task->isStream && !static_cast<Run*>(task)->late.empty()) found.push_back(static_cast<Run*>(task));
  };
  std::for_each(m.runnable.begin(), m.runnable.end(), add);
  std::for_each(m.blockedTasks.begin(), m.blockedTasks.end(), add);
  return found;
}

bool owesSignal(const Machine& m, const std::function<bool(const PendingPut&)>& whose) {
  return std::any_of(m.pending.begin(), m.pending.end(), [&](const auto& p) { return p->hasSignal && whose(*p); });
}

Place placeOfStream(Machine& m, const Stream& s) {
  const StreamItem& item = s.items.front();
  if (item.kind == ItemKind::SignalWrite) return Place::Choice;
  if (item.kind == ItemKind::Barrier) {
    if (s.collective) return Place::Local;
    return owesSignal(m, [&](const PendingPut& p) { return p.rank == s.rank; }) ? Place::Held : Place::Choice;
  }
  if (item.kind != ItemKind::SignalWait || !m.arena.find(item.dest)) return Place::Local;
  uint64_t seen = 0;
  memcpy(&seen, m.arena.bytesAt(item.dest), size_t(item.signalBytes));
  return holds(item.compare, seen, item.value, unsigned(item.signalBytes)) ? Place::Choice : Place::Local;
}

Place placeOfProgram(Machine& m, Run& run) {
  const Prepared& i = run.prepared->code[run.pc];
  bool isLate = mayBeLate(m, run);
  if (!run.late.empty() && !isLate && !mayPass(m, run)) return Place::Held;
  if (!synchronises(i)) return Place::Local;
  auto quiets = [&](const PendingPut& p) {
    return i.op == Op::Quiet ? i.a == kNone || namesPeer(m, run, i.a, p.peer)
                             : i.op == Op::Barrier && !i.as<imm::Barrier>().syncOnly;
  };
  if (owesSignal(m, [&](const PendingPut& p) {
        return p.runId == run.runId && (quiets(p) || p.epoch < run.puts[size_t(p.peer)].fences);
      }))
    return Place::Held;
  if (isLate) return Place::Local;
  if (i.op == Op::Quiet || run.collective || (i.op == Op::GridBarrier && run.awaitedRound != Run::kNoRound))
    return Place::Local;
  if ((i.op != Op::Wait && i.op != Op::SignalWait) || !run.parked.empty()) return Place::Choice;
  bool holds = true;
  m.asksWait = &holds;
  i.handler(m, run, i);
  m.asksWait = nullptr;
  return holds ? Place::Choice : Place::Local;
}

Place placeOf(Machine& m, Task& task) {
  return task.isStream ? placeOfStream(m, static_cast<Stream&>(task)) : placeOfProgram(m, static_cast<Run&>(task));
}

}  // namespace

bool synchronises(const Prepared& i) {
  switch (i.op) {
    case Op::Wait:
    case Op::SignalWait:
    case Op::Notify:
    case Op::Signal:
    case Op::Quiet:
    case Op::Barrier:
    case Op::Broadcastmem:
    case Op::Fcollect:
    case Op::GridBarrier:
    case Op::AtomicRmw:
    case Op::AtomicCas: return true;
    case Op::Ld:
    case Op::St: return i.immediateCount <= 2 || !i.as<imm::St>().weak;
    case Op::Load: return i.immediateCount > 0 && i.as<imm::Load>().isVolatile;
    case Op::ThreadFence: return Semantic(i.as<imm::ThreadFence>().semantic) == Semantic::SeqCst;
    default: return false;
  }
}

bool World::Impl::chosenTurn() {
  auto& recorder = static_cast<SyncRecorder&>(*m.observer);
  if (deliverOneBulk(m)) return true;
  struct Able {
    Transition who;
    Task* task;
    PendingPut* put;
  };
  std::vector<Able> able;
  std::vector<Task*> tasks = m.runnable;
  std::sort(tasks.begin(), tasks.end(), [](const Task* a, const Task* b) { return nameOf(*a) < nameOf(*b); });
  for (Task* task : tasks) {
    Place place = placeOf(m, *task);
    if (m.failed) return true;
    if (place == Place::Choice) able.push_back({nameOf(*task), task, nullptr});
    if (place != Place::Local) continue;
    recorder.begins(task, true);
    turnOf(*task);
    return true;
  }
  for (Run* run : runsWithLateStores(m)) able.push_back({nameOfStore(*run), run, nullptr});
  for (auto& put : m.pending)
    if (put->hasSignal && mayArrive(m, *put)) able.push_back({nameOf(recorder, *put), nullptr, put.get()});
  if (able.empty()) return deliverOne(m, true) || leaveBehind();

  std::sort(able.begin(), able.end(), [](const Able& a, const Able& b) { return a.who < b.who; });
  std::vector<Transition> enabled;
  for (const Able& a : able) enabled.push_back(a.who);
  std::optional<size_t> choice = m.options.chooser->choose(enabled);
  if (!choice) {
    tellLeft();
    abandoned = true;
    return false;
  }
  const Able& chosen = able[*choice];
  bool isStore = chosen.who.kind == Transition::Kind::Store;
  recorder.begins(isStore ? nullptr : chosen.task, false);
  if (chosen.put)
    deliver(m, *chosen.put);
  else if (isStore)
    storeFirst(m, static_cast<Run&>(*chosen.task));
  else
    turnOf(*chosen.task);
  return true;
}

void World::Impl::turnOf(Task& task) {
  ++m.counters.switches;
  if (task.isStream) return turnOfStream(static_cast<Stream&>(task));
  Run& run = static_cast<Run&>(task);
  if (!mayBeLate(m, run)) return runUntil(run, kLocalTurn, synchronises);
  takeLate(m, run);
  run.late.back().steps = static_cast<SyncRecorder&>(*m.observer).stepsOf(run);
}

// Tells the chooser the steps that had not happened when everything had ended, or nothing could go on: another order
// might have let them.
void World::Impl::tellLeft() {
  if (!m.options.chooser) return;
  auto& recorder = static_cast<SyncRecorder&>(*m.observer);
  std::vector<Task*> blocked(m.blockedTasks.begin(), m.blockedTasks.end());
  std::sort(blocked.begin(), blocked.end(), [](const Task* a, const Task* b) { return nameOf(*a) < nameOf(*b); });
  for (Task* task : blocked) {
    for (const AwaitedSignal& w : task->awaited)
      if (!w.isMbarrier) m.options.chooser->leaves(nameOf(*task), recorder.on(w.address, w.bytes, SyncKind::Read));
    for (size_t k = 0; task->awaited.empty() && k < task->waiterCount; ++k)
      m.options.chooser->leaves(nameOf(*task),
                                recorder.on(task->waiters[k].address, task->waiters[k].bytes, SyncKind::Read));
  }
  for (Run* run : runsWithLateStores(m)) {
    const Run::LateStore& store = run->late.front();
    m.options.chooser->leaves(nameOfStore(*run), recorder.on(store.address, store.bytes, SyncKind::Write));
  }
  for (auto& put : m.pending) {
    SyncKind kind = put->signalKind == SignalKind::Add ? SyncKind::Update : SyncKind::Write;
    if (put->hasSignal) m.options.chooser->leaves(nameOf(recorder, *put), recorder.on(put->signal, 8, kind));
  }
}

}  // namespace tandem::interpreter
