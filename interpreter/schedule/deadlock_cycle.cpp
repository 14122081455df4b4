// Why a deadlock cannot end: what each rank would do after its wait is what another waits for.
#include "interpreter/schedule/deadlock_cycle.h"
#include "interpreter/vm/fail.h"
#include <map>

namespace tandem::interpreter {
namespace {

bool mayEndAWait(Op op) {
  switch (op) {
    case Op::Notify:
    case Op::Signal:
    case Op::PutSignal:
    case Op::PutValue:
    case Op::St:
    case Op::AtomicRmw:
    case Op::AtomicCas:
    case Op::Barrier:
    case Op::Broadcastmem:
    case Op::Fcollect: return true;
    default: return false;
  }
}

std::string placeText(const Run& run, const Prepared& i) {
  Diagnostic place = placeOf(*run.prepared->program, i.location);
  return place.file ? place.file->name + ":" + std::to_string(place.range.line) : "`" + run.prepared->program->name + "`";
}

// The first instruction after the wait that another could wait for.
const Prepared* behind(const Run& run) {
  const auto& code = run.prepared->code;
  for (size_t pc = run.pc + 1; pc < code.size(); ++pc)
    if (mayEndAWait(code[pc].op)) return &code[pc];
  return nullptr;
}

std::string wordOf(Op op) {
  switch (op) {
    case Op::Barrier: return "enters a barrier";
    case Op::Broadcastmem:
    case Op::Fcollect: return "enters a collective";
    case Op::St:
    case Op::AtomicRmw:
    case Op::AtomicCas:
    case Op::PutValue: return "writes";
    default: return "signals";
  }
}

}  // namespace

std::vector<Diagnostic> cycleNotes(const std::vector<Task*>& stuck) {
  std::map<int, std::string> lines;  // by rank
  for (Task* t : stuck) {
    if (t->isStream || lines.contains(t->rank)) continue;
    auto& run = static_cast<const Run&>(*t);
    const Prepared* next = behind(run);
    if (!next || placeText(run, *next) == placeText(run, run.prepared->code[run.pc])) continue;
    lines[t->rank] = "rank " + std::to_string(t->rank) + " waits at " + placeText(run, run.prepared->code[run.pc]) +
                     ", and only after that " + wordOf(next->op) + " at " + placeText(run, *next);
  }
  std::vector<Diagnostic> notes;
  if (lines.size() < 2) return notes;
  notes.push_back(note("the ranks wait for each other:"));
  for (auto& [rank, line] : lines) notes.push_back(note("  " + line));
  return notes;
}

}  // namespace tandem::interpreter
