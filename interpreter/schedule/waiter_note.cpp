// A note says what a waiter expects, what is there and who wrote that, or what a program's loop reads.
#include "interpreter/schedule/waiter_note.h"
#include "base/meaning.h"
#include "interpreter/schedule/spinning.h"
#include "interpreter/schedule/stream.h"
#include "interpreter/simt/mbarrier.h"
#include "interpreter/vm/fail.h"
#include "interpreter/vm/registers.h"
#include <algorithm>

namespace tandem::interpreter {
namespace {

std::string signedText(uint64_t value, unsigned bytes) {
  return std::to_string(bytes == 4 ? int64_t(int32_t(value)) : int64_t(value));
}

// Names the writer of a word that is no signal, as the checker remembers it.
std::string plainWriterText(Machine& m, Address address, bool isZero) {
  std::vector<Diagnostic> writers = m.observer ? m.observer->writersOf(address) : std::vector<Diagnostic>();
  if (writers.empty()) return isZero ? "never written" : "written by no signal operation";
  const Diagnostic& last = writers.back();
  return "last written by the " + last.message +
         (last.file ? " at " + last.file->name + ":" + std::to_string(last.range.line) : "");
}

// Returns "never written", or the last writer with its place and value.
std::string writerText(Machine& m, Address address, unsigned bytes) {
  SignalRecord* r = signalRecord(m, address);
  uint64_t seen = 0;
  memcpy(&seen, m.arena.bytesAt(address), bytes);
  if (!r || !r->written) return plainWriterText(m, address, seen == 0);
  std::string text = "last written by " + whoText(r->rank, r->id);
  if (r->program) {
    Diagnostic place = placeOf(*r->program, r->location);
    text += r->program->name.empty() ? " (a stream)" : " of `" + r->program->name + "`";
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
  return "expects " + signalName(m, w.address) + " " + signOf(w.compare) + " " + signedText(w.value, w.bytes) +
         ", sees " + signedText(seen, w.bytes) + "; " + writerText(m, w.address, w.bytes);
}

uint32_t wordBytes(const Run& run, const Prepared* load) {
  return load ? std::clamp<uint32_t>(run.info(load->r).elemBytes, 1, 8) : 8;
}

std::string seenText(Machine& m, Address address, unsigned bytes) {
  uint64_t seen = 0;
  memcpy(&seen, m.arena.bytesAt(address), bytes);
  return signalName(m, address) + ", sees " + signedText(seen, bytes) + ", " + writerText(m, address, bytes);
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
    unsigned bytes = std::min(length, wordBytes(run, loadOfSpin(run)));
    for (uint32_t at = 0; at + bytes <= length && shown < kShown; at += bytes, ++shown)
      if (m.arena.find(address + at)) text += (shown ? "; reads " : " reads ") + seenText(m, address + at, bytes);
  }
  return text;
}

std::string absentText(const Collective& c) {
  std::string absent;
  for (size_t k = 0; k < c.ranks.size(); ++k)
    if (!c.members[k].arrived) absent += (absent.empty() ? "" : ", ") + std::to_string(c.ranks[k]);
  return "has arrived; not arrived: rank " + absent;
}

std::string namedBarrierText(const Run& run) {
  const Prepared& i = run.prepared->code[run.pc];
  uint32_t arrived = run.named[size_t(i.as<imm::NamedBarrier>().id) % run.named.size()].arrived;
  return "waits at barrier " + std::to_string(i.as<imm::NamedBarrier>().id) + " for " +
         std::to_string(i.as<imm::NamedBarrier>().threads) + " threads; " + std::to_string(arrived) + " have come";
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

// Says what a group of threads that waits for memory, beside those at hand, expects or looks at; empty if it waits for others.
std::string groupText(Machine& m, const ThreadGroup& g) {
  constexpr size_t kShown = 2;
  std::string text;
  if (g.state != ThreadGroup::State::Waits) return text;
  auto add = [&](const std::string& more) { text += (text.empty() ? ": " : "; ") + more; };
  for (size_t k = 0; k < g.awaited.size() && k < kShown; ++k) add(awaitedText(m, g.awaited[k]));
  for (size_t k = 0; g.awaited.empty() && k < g.watched.places.size() && k < kShown; ++k) {
    auto [address, bytes] = g.watched.places[k];
    if (m.arena.find(address)) add("reads " + seenText(m, address, unsigned(std::min<uint64_t>(bytes, 8))));
  }
  return text;
}

// Adds where the other groups of the program's threads wait, with the calls they are in.
void addGroups(Machine& m, const Run& run, std::vector<Diagnostic>& notes) {
  constexpr size_t kMaxGroups = 4;
  for (size_t k = 0; k < run.parked.size() && k < kMaxGroups; ++k) {
    const ThreadGroup& g = run.parked[k];
    if (run.prepared->code[g.pc].op == Op::Return) continue;
    Diagnostic d = placeOf(*run.prepared->program, run.prepared->code[g.pc].location);
    std::vector<Diagnostic> callers = std::move(d.notes);
    d.notes.clear();
    d.message = std::to_string(g.mask.active) + " of its threads wait here" + groupText(m, g);
    notes.push_back(std::move(d));
    for (Diagnostic& caller : callers) notes.push_back(std::move(caller));
  }
}

// Adds the reads of the loop of a program that can run: each access with the address that it had last.
void addLoop(Machine& m, Run& run, Diagnostic& d) {
  constexpr size_t kShown = 4;
  Looping in = loopingIn(run);
  if (!in.loop) return;
  d.message += " (in round " + std::to_string(in.rounds) + " of a loop)";
  for (const Prepared* load : loadsOf(run, *in.loop)) {
    Address address = rawInteger(m, run, load->a, run.firstActiveLane());
    if (!m.arena.find(address) || d.notes.size() >= kShown) continue;
    Diagnostic read = placeOf(*run.prepared->program, load->location);
    read.message = "the loop reads " + seenText(m, address, wordBytes(run, load));
    d.notes.push_back(std::move(read));
  }
}

}  // namespace

std::string signalName(Machine& m, Address address) {
  Allocation* a = m.arena.find(address);
  if (!a) return "address " + hex(address);
  std::string words = meaningOf(address).words;
  return "`" + a->name + "` + " + std::to_string(address - a->begin) + " of rank " + std::to_string(a->rank) +
         (words.empty() ? "" : " (" + words + ")");
}

std::string itemText(const Stream& s) {
  static const char* const words[] = {
      "launch",  "copy",         "fill",       "signal write", "signal wait",
      "barrier", "event record", "event wait", "callback",     "start of a dependent launch"};
  return words[size_t(s.items.front().kind)];
}

Diagnostic waiterNote(Machine& m, Task& t) {
  Diagnostic d;
  std::string what;
  if (t.isStream) {
    auto& s = static_cast<Stream&>(t);
    d = placeOf(m.hostPlaces.program(), s.items.front().hostLocation);
    what = "rank " + std::to_string(t.rank) + ", stream " + std::to_string(s.id);
    if (t.blocked != Blocked::Barrier) what += ", " + itemText(s);
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
    case Blocked::Launch: what += " waits for the end of the stream's previous kernel"; break;
    case Blocked::No: break;
  }
  if (!t.isStream && t.blocked != Blocked::No) {
    what += threadsText(static_cast<Run&>(t));
    addGroups(m, static_cast<Run&>(t), d.notes);
  }
  d.message = what;
  if (!t.isStream && t.blocked == Blocked::No) addLoop(m, static_cast<Run&>(t), d);
  return d;
}

Diagnostic headOf(const Run& run, const Diagnostic& note) {
  auto isForMemory = [](const ThreadGroup& g) {
    return g.state == ThreadGroup::State::Waits && !(g.awaited.empty() && g.watched.places.empty());
  };
  auto group = std::find_if(run.parked.begin(), run.parked.end(), isForMemory);
  if (run.blocked != Blocked::NamedBarrier || group == run.parked.end()) return note;
  return placeOf(*run.prepared->program, run.prepared->code[group->pc].location);
}

bool before(const Task* a, const Task* b) {
  if (a->rank != b->rank) return a->rank < b->rank;
  if (a->isStream != b->isStream) return b->isStream;
  if (a->isStream) return static_cast<const Stream*>(a)->id < static_cast<const Stream*>(b)->id;
  return static_cast<const Run*>(a)->runId < static_cast<const Run*>(b)->runId;
}

}  // namespace tandem::interpreter
