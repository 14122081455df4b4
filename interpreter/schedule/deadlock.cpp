// When nothing can change any more, this file reports a deadlock or a livelock: every waiter with the value that it
// expects, the value that is there, and the writer of that value.
#include "interpreter/schedule/deadlock_cycle.h"
#include "interpreter/schedule/scheduler.h"
#include "interpreter/schedule/spinning.h"
#include "interpreter/schedule/waiter_note.h"
#include "interpreter/vm/fail.h"
#include <algorithm>
#include <map>
#include <tuple>

namespace tandem::interpreter {
namespace {

constexpr size_t kMaxNotes = 48, kMaxAlike = 4;

// Adds ", 2 streams wait" to a list.
void addCount(std::string& list, size_t count, const char* what) {
  if (count)
    list += (list.empty() ? "" : ", ") + std::to_string(count) + " " + what + (count == 1 ? " waits" : "s wait");
}

std::string programsText(size_t count, const char* more) {
  return std::to_string(count) + " program" + (count == 1 ? "" : "s") + more;
}

// Adds the line where the host has queued a write of the signal that no stream has come to.
void addQueued(Machine& m, const Stream& s, const AwaitedSignal& w, const Task& waiter,
               std::vector<Diagnostic>& notes) {
  for (size_t k = 1; k < s.items.size(); ++k) {
    const StreamItem& item = s.items[k];
    bool writesThere = item.kind == ItemKind::SignalWrite && w.address - item.dest < item.count * item.destPitch;
    if (!writesThere || notes.size() >= kMaxNotes) continue;
    bool isBehind = &waiter == &s || (!waiter.isStream && static_cast<const Run&>(waiter).grid->stream == &s);
    Diagnostic d = placeOf(m.hostPlaces.program(), item.hostLocation);
    d.message = "a write of " + signalName(m, w.address) + " is queued on stream " + std::to_string(s.id) +
                " of rank " + std::to_string(s.rank) + ", behind the " +
                (isBehind ? (waiter.isStream ? "wait itself" : "kernel that waits for it")
                          : itemText(s) + " that the stream is at");
    notes.push_back(std::move(d));
  }
}

}  // namespace

void World::reportStuck(const std::vector<std::string>& hostNotes) {
  Machine& m = impl_->m;
  impl_->tellLeft();
  std::vector<Task*> stuck(m.blockedTasks.begin(), m.blockedTasks.end());
  std::sort(stuck.begin(), stuck.end(), before);
  size_t programs = size_t(std::count_if(stuck.begin(), stuck.end(), [](Task* t) { return !t->isStream; })),
         streams = stuck.size() - programs;
  auto looks = [](const Task* t) { return t->isStream || onlyLooks(static_cast<const Run&>(*t)); };
  bool isLivelock = programs && std::all_of(stuck.begin(), stuck.end(), looks);
  Report r{isLivelock ? ReportKind::Livelock : ReportKind::Deadlock};
  std::string waiters;
  if (!isLivelock) addCount(waiters, programs, "program");
  addCount(waiters, streams, "stream");
  addCount(waiters, hostNotes.size(), "host");
  r.message = isLivelock ? "livelock: " + programsText(programs, programs == 1 ? " loops" : " loop") +
                               " for ever, and nothing changes" + (waiters.empty() ? "" : "; " + waiters)
                         : "deadlock: nothing can run; " + waiters;
  for (auto& rank : impl_->ranks)
    for (Grid* g : rank.starting)
      r.notes.push_back(note(programsText(g->order.size() - g->next, "") + " of `" + g->prepared->program->name +
                             "` on rank " + std::to_string(g->stream->rank) +
                             (g->order.size() - g->next == 1 ? " has" : " have") + " not started: all " +
                             std::to_string(m.options.slotsPerRank) + " slots are taken by programs that wait"));
  std::map<std::tuple<int, std::string, uint32_t>, size_t> alike;  // programs of a rank at one line
  size_t left = 0;
  for (Task* t : stuck) {
    Diagnostic d = waiterNote(m, *t);
    if (t->isStream && programs == 0 && !r.file) {
      r.rank = t->rank;
      r.file = d.file;
      r.range = d.range;
    }
    if (!t->isStream && !r.file) {
      auto& run = static_cast<Run&>(*t);
      r.rank = t->rank;
      r.program = run.id;
      r.kernel = run.prepared->program->name;
      Diagnostic head = headOf(run, d);
      r.file = head.file;
      r.range = head.range;
    }
    if (!t->isStream && ++alike[{t->rank, d.file ? d.file->name : "", d.range.line}] > kMaxAlike) continue;
    if (r.notes.size() < kMaxNotes)
      r.notes.push_back(std::move(d));
    else
      ++left;
  }
  for (Task* t : stuck)
    for (const AwaitedSignal& w : t->awaited)
      for (auto& rank : impl_->ranks)
        for (auto& s : rank.streams) addQueued(m, *s, w, *t, r.notes);
  for (Diagnostic& line : cycleNotes(m, stuck)) r.notes.push_back(std::move(line));
  for (const auto& [where, count] : alike) {
    const auto& [rank, file, line] = where;
    if (count > kMaxAlike)
      r.notes.push_back(note(programsText(count - kMaxAlike, " more") + " of rank " + std::to_string(rank) +
                             (count - kMaxAlike == 1 ? " waits" : " wait") + " at " + file + ":" +
                             std::to_string(line)));
  }
  if (left) r.notes.push_back(note("and " + std::to_string(left) + " waiters more"));
  for (const std::string& h : hostNotes) r.notes.push_back(note(h));
  m.reports.push_back(std::move(r));
  m.failed = true;
}

}  // namespace tandem::interpreter
