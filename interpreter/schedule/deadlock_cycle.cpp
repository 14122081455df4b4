// A deadlock cannot end if the operation that each rank would do after its wait is the one that another waits for. This
// file finds such circles.
#include "interpreter/schedule/deadlock_cycle.h"
#include "interpreter/schedule/spinning.h"
#include "interpreter/schedule/stream.h"
#include "interpreter/vm/fail.h"
#include <algorithm>
#include <map>
#include <set>

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
  return place.file ? place.file->name + ":" + std::to_string(place.range.line)
                    : "`" + run.prepared->program->name + "`";
}

using Buffers = std::set<uint64_t>;  // by their begin in a rank's heap

uint64_t inHeap(const Machine& m, const Allocation& a) {
  return a.begin - m.arena.base() - uint64_t(a.rank) * m.arena.stride();
}

// Returns the buffers in which some stuck task waits for a word.
Buffers awaitedBuffers(Machine& m, const std::vector<Task*>& stuck) {
  Buffers buffers;
  auto add = [&](Address address) {
    if (Allocation* a = m.arena.find(address)) buffers.insert(inHeap(m, *a));
  };
  for (const Task* t : stuck) {
    for (const AwaitedSignal& w : t->awaited) add(w.address);
    for (size_t k = 0; k < t->waiterCount; ++k) add(t->waiters[k].address);
  }
  return buffers;
}

// The argument that an address of the program is made from; kNone when that is not plain to see.
Register baseOf(const Program& program, Register address) {
  for (size_t pc = program.code.size(); pc-- > 0;) {
    const Instruction& i = program.code[pc];
    if (program.results(i).empty() || program.results(i)[0] != address) continue;
    if (i.op != Op::AddPtr && i.op != Op::SymmAt && i.op != Op::Splat && i.op != Op::ConsumeToken) return kNone;
    address = program.operands(i)[0] & ~kLastUse;
  }
  return address;
}

// Returns true if a write by this instruction can be the one that a task waits for, as far as its address tells.
bool concerns(Machine& m, const Run& run, const Prepared& i, const Buffers& awaited) {
  if (i.op != Op::St && i.op != Op::AtomicRmw && i.op != Op::AtomicCas && i.op != Op::PutValue) return true;
  const Program& program = *run.prepared->program;
  Register base = baseOf(program, i.a);
  for (size_t k = 0; k < program.arguments.size() && k < run.grid->launch.arguments.size(); ++k) {
    if (program.arguments[k].reg != base) continue;
    const Allocation* a = m.arena.find(run.grid->launch.arguments[k].bits);
    return !a || awaited.contains(inHeap(m, *a));
  }
  return true;
}

// The first instruction after the wait that another could wait for; not one that another turn of a loop would come to.
const Prepared* behind(Machine& m, const Run& run, const Buffers& awaited) {
  const auto& code = run.prepared->code;
  size_t pc = (run.blocked == Blocked::Spin ? endOfSpin(run) : run.pc) + 1;
  while (pc < code.size()) {
    const Prepared& i = code[pc++];
    if (mayEndAWait(i.op) && concerns(m, run, i, awaited)) return &i;
    if (i.op == Op::Jump) pc = std::max(pc, size_t(i.as<imm::Jump>().target));  // over the other branch
  }
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

std::vector<Diagnostic> cycleNotes(Machine& m, const std::vector<Task*>& stuck) {
  Buffers awaited = awaitedBuffers(m, stuck);
  std::map<int, std::string> lines;  // by rank
  for (Task* t : stuck) {
    if (t->isStream || lines.contains(t->rank)) continue;
    auto& run = static_cast<const Run&>(*t);
    const Prepared* next = behind(m, run, awaited);
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
