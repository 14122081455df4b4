// The report when nothing can run: every waiter with what it expects, what is there, and who wrote that.
#include "interpreter/schedule/deadlock_cycle.h"
#include "interpreter/schedule/scheduler.h"
#include "interpreter/schedule/waiter_note.h"
#include "interpreter/simt/mbarrier.h"
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

std::string signedText(uint64_t value, unsigned bytes) {
  return std::to_string(bytes == 4 ? int64_t(int32_t(value)) : int64_t(value));
}

std::string signalName(Machine& m, Address address) {
  Allocation* a = m.arena.find(address);
  if (!a) return "address " + hex(address);
  return "`" + a->name + "` + " + std::to_string(address - a->begin) + " of rank " + std::to_string(a->rank);
}

// As the checker remembers it, of what is no signal.
std::string plainWriterText(Machine& m, Address address, bool isZero) {
  std::vector<Diagnostic> writers = m.observer ? m.observer->writersOf(address) : std::vector<Diagnostic>();
  if (writers.empty()) return isZero ? "never written" : "written by no signal operation";
  const Diagnostic& last = writers.back();
  return "last written by the " + last.message + (last.file ? " at " + last.file->name + ":" + std::to_string(last.range.line) : "");
}

// "never written", or who wrote it last, where and what.
std::string writerText(Machine& m, Address address, unsigned bytes) {
  SignalRecord* r = signalRecord(m, address);
  uint64_t seen = 0;
  memcpy(&seen, m.arena.bytesAt(address), bytes);
  if (!r || !r->written) return plainWriterText(m, address, seen == 0);
  std::string text = "last written by " + whoText(r->rank, r->id);
  if (r->program) {
    Diagnostic place = placeOf(*r->program, r->location);
    text += " of `" + r->program->name + "`";
    if (place.file) text += " at " + place.file->name + ":" + std::to_string(place.range.line);
  } else {
    text += " (a stream)";
  }
  text += ", value " + signedText(r->value, bytes);
  return r->value == seen ? text : text + ", and changed since by a plain write, a copy or the host";
}

std::string awaitedText(Machine& m, const AwaitedSignal& w) {
  if (w.isMbarrier) return mbarrierText(m, w, signalName(m, w.address));
  uint64_t seen = 0;
  memcpy(&seen, m.arena.bytesAt(w.address), w.bytes);
  return "expects " + signalName(m, w.address) + " " + compareText(w.compare) + " " + signedText(w.value, w.bytes) +
         ", sees " + signedText(seen, w.bytes) + "; " + writerText(m, w.address, w.bytes);
}

// What the loop at the run's place reads memory with; null when it is not plain to see.
const Prepared* loadOfSpin(const Run& run) {
  const auto& code = run.prepared->code;
  for (size_t pc = run.pc; pc < code.size() && code[pc].op != Op::LoopBack; ++pc)
    if (code[pc].op == Op::Ld || code[pc].op == Op::Load || code[pc].op == Op::AtomicRmw || code[pc].op == Op::AtomicCas)
      return &code[pc];
  return nullptr;
}

uint32_t wordBytes(const Run& run) {
  const Prepared* load = loadOfSpin(run);
  return load ? std::clamp<uint32_t>(run.info(load->r).elemBytes, 1, 8) : 8;
}

std::string spinText(Machine& m, const Run& run) {
  std::vector<std::pair<Address, uint32_t>> places;
  for (size_t k = 0; k < run.waiterCount; ++k) places.emplace_back(run.waiters[k].address, run.waiters[k].bytes);
  if (run.watched.everything) places.assign(run.reads.begin(), run.reads.begin() + run.readCount);
  if (places.empty()) return "loops without end: nothing it reads can change";
  std::string text = "loops until memory changes:";
  constexpr size_t kShown = 3;
  size_t shown = 0;
  for (auto [address, length] : places) {
    unsigned bytes = std::min(length, wordBytes(run));
    for (uint32_t at = 0; at + bytes <= length && shown < kShown; at += bytes, ++shown) {
      if (!m.arena.find(address + at)) continue;
      uint64_t seen = 0;
      memcpy(&seen, m.arena.bytesAt(address + at), bytes);
      text += (shown ? "; " : " ") + std::string("reads ") + signalName(m, address + at) + ", sees " + signedText(seen, bytes) +
              ", " + writerText(m, address + at, bytes);
    }
  }
  return text;
}

std::string absentText(const Collective& c) {
  std::string absent;
  for (size_t k = 0; k < c.ranks.size(); ++k)
    if (!c.members[k].arrived) absent += (absent.empty() ? "" : ", ") + std::to_string(c.ranks[k]);
  return "has arrived; not arrived: rank " + absent;
}

std::string itemText(const Stream& s) {
  static const char* const words[] = {"launch",  "copy",         "fill",       "signal write", "signal wait",
                                      "barrier", "event record", "event wait", "callback"};
  return words[size_t(s.items.front().kind)];
}

std::string namedBarrierText(const Run& run) {
  const Prepared& i = run.prepared->code[run.pc];
  uint32_t arrived = run.named[size_t(i.immediates[0]) % run.named.size()].arrived;
  return "waits at barrier " + std::to_string(i.immediates[0]) + " for " + std::to_string(i.immediates[1]) +
         " threads; " + std::to_string(arrived) + " have come";
}

std::string gridBarrierText(Machine& m, const Run& run) {
  return "waits at `sync_grid` for " + std::to_string(int64_t(run.grids[0]) * run.grids[1] * run.grids[2]) +
         " programs; " + std::to_string(m.gridMeetings[run.grid].arrived) + " have come";
}

// When only some threads wait: how many, and where the others are. Empty when all wait.
std::string threadsText(const Run& run) {
  if (run.mask.all) return "";
  std::string text = " (" + std::to_string(run.mask.active) + " of its " + std::to_string(run.lanes) + " threads";
  for (const ThreadGroup& g : run.parked) {
    const Prepared& i = run.prepared->code[g.pc];
    text += "; " + std::to_string(g.mask.active) + (i.op == Op::Return ? " are done" : " wait");
    if (i.op == Op::Return) continue;
    if (g.state != ThreadGroup::State::Waits) text += " for the others";
    if (Diagnostic place = placeOf(*run.prepared->program, i.location); place.file)
      text += " at " + place.file->name + ":" + std::to_string(place.range.line);
  }
  return text + ")";
}

// Where the other groups of its threads wait, with the calls they are in.
void addGroups(const Run& run, std::vector<Diagnostic>& notes) {
  constexpr size_t kMaxGroups = 4;
  for (size_t k = 0; k < run.parked.size() && k < kMaxGroups; ++k) {
    const ThreadGroup& g = run.parked[k];
    if (run.prepared->code[g.pc].op == Op::Return) continue;
    Diagnostic d = placeOf(*run.prepared->program, run.prepared->code[g.pc].location);
    std::vector<Diagnostic> callers = std::move(d.notes);
    d.notes.clear();
    d.message = std::to_string(g.mask.active) + " of its threads wait here";
    notes.push_back(std::move(d));
    for (Diagnostic& caller : callers) notes.push_back(std::move(caller));
  }
}

}  // namespace

Diagnostic waiterNote(Machine& m, Task& t) {
  Diagnostic d;
  std::string what;
  if (t.isStream) {
    auto& s = static_cast<Stream&>(t);
    d = placeOf(m.hostPlaces.program(), s.items.front().hostLocation);
    what = "rank " + std::to_string(t.rank) + ", stream " + std::to_string(s.id) + ", " + itemText(s);
  } else {
    auto& run = static_cast<Run&>(t);
    const Prepared* load = t.blocked == Blocked::Spin ? loadOfSpin(run) : nullptr;
    d = placeOf(*run.prepared->program, load ? load->location : run.prepared->code[run.pc].location);
    what = whoText(run.rank, run.id) + ", kernel `" + run.prepared->program->name + "`";
  }
  switch (t.blocked) {
    case Blocked::Signal:
      for (size_t k = 0; k < t.awaited.size() && k < 4; ++k) what += (k ? "; " : " ") + awaitedText(m, t.awaited[k]);
      if (t.awaited.size() > 4) what += "; and " + std::to_string(t.awaited.size() - 4) + " signals more";
      break;
    case Blocked::Spin: what += " " + spinText(m, static_cast<Run&>(t)); break;
    case Blocked::NamedBarrier: what += " " + namedBarrierText(static_cast<Run&>(t)); break;
    case Blocked::GridBarrier: what += " " + gridBarrierText(m, static_cast<Run&>(t)); break;
    case Blocked::Barrier: what += " is in a barrier: " + absentText(*t.collective); break;
    case Blocked::Collective: what += " is in a collective: " + absentText(*t.collective); break;
    case Blocked::Event: what += " waits for an event that is not recorded"; break;
    case Blocked::No: break;
  }
  if (!t.isStream && t.blocked != Blocked::No) {
    what += threadsText(static_cast<Run&>(t));
    addGroups(static_cast<Run&>(t), d.notes);
  }
  d.message = what;
  return d;
}

bool before(const Task* a, const Task* b) {
  if (a->rank != b->rank) return a->rank < b->rank;
  if (a->isStream != b->isStream) return b->isStream;
  if (a->isStream) return static_cast<const Stream*>(a)->id < static_cast<const Stream*>(b)->id;
  return static_cast<const Run*>(a)->runId < static_cast<const Run*>(b)->runId;
}

namespace {

// Where the host has queued a write of the signal that no stream has come to.
void addQueued(Machine& m, const Stream& s, const AwaitedSignal& w, const Task& waiter, std::vector<Diagnostic>& notes) {
  for (size_t k = 1; k < s.items.size(); ++k) {
    const StreamItem& item = s.items[k];
    bool writesThere = item.kind == ItemKind::SignalWrite && w.address - item.dest < item.count * item.destPitch;
    if (!writesThere || notes.size() >= kMaxNotes) continue;
    bool isBehind = &waiter == &s || (!waiter.isStream && static_cast<const Run&>(waiter).grid->stream == &s);
    Diagnostic d = placeOf(m.hostPlaces.program(), item.hostLocation);
    d.message = "a write of " + signalName(m, w.address) + " is queued on stream " + std::to_string(s.id) + " of rank " +
                std::to_string(s.rank) + ", behind the " +
                (isBehind ? (waiter.isStream ? "wait itself" : "kernel that waits for it") : itemText(s) + " that the stream is at");
    notes.push_back(std::move(d));
  }
}

}  // namespace

void World::reportDeadlock(const std::vector<std::string>& hostNotes) {
  Machine& m = impl_->m;
  impl_->tellLeft();
  std::vector<Task*> stuck(m.blockedTasks.begin(), m.blockedTasks.end());
  std::sort(stuck.begin(), stuck.end(), before);
  Report r;
  r.kind = "deadlock";
  size_t programs = size_t(std::count_if(stuck.begin(), stuck.end(), [](Task*t) { return !t->isStream; })),
         streams = stuck.size() - programs;
  std::string waiters;
  addCount(waiters, programs, "program");
  addCount(waiters, streams, "stream");
  addCount(waiters, hostNotes.size(), "host");
  r.message = "deadlock: nothing can run; " + waiters;
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
      r.file = d.file;
      r.range = d.range;
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
                             (count - kMaxAlike == 1 ? " waits" : " wait") + " at " + file + ":" + std::to_string(line)));
  }
  if (left) r.notes.push_back(note("and " + std::to_string(left) + " waiters more"));
  for (const std::string& h : hostNotes) r.notes.push_back(note(h));
  m.reports.push_back(std::move(r));
  m.failed = true;
}

}  // namespace tandem::interpreter
