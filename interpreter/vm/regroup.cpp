// An open `if` or loop has one id in all groups that it holds threads of, and in all of them the same mask.
#include "interpreter/vm/regroup.h"
#include "interpreter/vm/register_files.h"
#include <algorithm>

namespace tandem::interpreter {
namespace {

using State = ThreadGroup::State;

// The threads inside the branch or the loop body that entry `depth` stands for.
const LaneMask& insideOf(const std::vector<MaskEntry>& stack, const LaneMask& mask, size_t depth) {
  return depth + 1 < stack.size() ? stack[depth + 1].mask : mask;
}

template <class Change> void eachEntry(Run& run, uint32_t id, Change change) {
  auto visit = [&](std::vector<MaskEntry>& stack) {
    for (MaskEntry& e : stack)
      if (e.id == id) change(e);
  };
  visit(run.maskStack);
  for (ThreadGroup& g : run.parked) visit(g.maskStack);
}

// The first branch is under way and the second is not.
bool isInFirst(const MaskEntry& e) { return e.elsePc != MaskEntry::kNoElse && !e.split; }

ThreadGroup partOf(const std::vector<MaskEntry>& stack, size_t depth, LaneMask mask, uint32_t file) {
  ThreadGroup g;
  g.mask = std::move(mask);
  g.maskStack.assign(stack.begin(), stack.begin() + long(depth));
  g.awaitedRound = Run::kNoRound;
  g.file = file;
  return g;
}

// Parts the threads of entry `depth` that are not inside: they start the second branch, or have done theirs and wait at
// the end.
void split(Run& run, const std::vector<MaskEntry>& stack, const LaneMask& mask, uint32_t file, size_t depth) {
  const MaskEntry& entry = stack[depth];
  LaneMask others = without(entry.mask, insideOf(stack, mask, depth), run.lanes);
  bool starts = isInFirst(entry);
  ThreadGroup g = partOf(stack, depth + 1, std::move(others), file);
  eachEntry(run, entry.id, [](MaskEntry& e) { e.split = true; });
  if (!g.mask.active) return;
  g.maskStack.back().split = true;
  g.state = starts ? State::Ready : State::AtEnd;
  g.pc = starts ? entry.elsePc + 1 : entry.endPc;
  run.parked.push_back(std::move(g));
}

// The threads of `g`, which stands behind the end of an `if` or loop, leave the `if`s and loops that the other groups
// have open; those that `g` has open itself become its own.
void setApart(Run& run, ThreadGroup& g) {
  for (MaskEntry& mine : g.maskStack) {
    eachEntry(run, mine.id, [&](MaskEntry& e) { e.mask = without(e.mask, g.mask, run.lanes); });
    mine.mask = g.mask;
    mine.id = ++run.lastIfId;
    mine.elsePc = MaskEntry::kNoElse;
    mine.split = false;
  }
}

// All that wait at the end of the `if` with this id go on, as one group.
void releaseAtEnd(Machine& m, Run& run, uint32_t id) {
  auto isHere = [&](const ThreadGroup& g) { return g.state == State::AtEnd && g.maskStack.back().id == id; };
  auto first = std::find_if(run.parked.begin(), run.parked.end(), isHere);
  ThreadGroup out = partOf(first->maskStack, first->maskStack.size() - 1, first->mask, cloneFile(run, first->file));
  out.pc = first->maskStack.back().endPc + 1;
  uint32_t current = run.file;
  selectFile(run, out.file);
  for (ThreadGroup& g : run.parked) {
    if (!isHere(g)) continue;
    takeLanes(m, run, g.file, g.mask);
    out.mask = either(out.mask, g.mask, run.lanes);
  }
  selectFile(run, current);
  std::vector<uint32_t> left;
  for (const ThreadGroup& g : run.parked)
    if (isHere(g)) left.push_back(g.file);
  std::erase_if(run.parked, isHere);
  eachEntry(run, id, [&](MaskEntry& e) { e.mask = without(e.mask, out.mask, run.lanes); });
  setApart(run, out);
  run.parked.push_back(std::move(out));
  for (uint32_t file : left) dropUnusedFile(m, run, file);
}

// Threads that have left a loop, or have done the first branch of an `if` whose second is under way.
bool releaseDone(Run& run, const ThreadGroup& g, size_t depth) {
  MaskEntry entry = g.maskStack[depth];
  if (entry.split || entry.elsePc != MaskEntry::kNoElse || entry.endPc == MaskEntry::kNoElse) return false;
  LaneMask done = without(entry.mask, insideOf(g.maskStack, g.mask, depth), run.lanes);
  if (!done.active) return false;
  ThreadGroup out = partOf(g.maskStack, depth, std::move(done), cloneFile(run, g.file));
  out.pc = entry.endPc + 1;
  eachEntry(run, entry.id, [&](MaskEntry& e) { e.mask = without(e.mask, out.mask, run.lanes); });
  setApart(run, out);
  run.parked.push_back(std::move(out));
  return true;
}

void unite(Run& run, size_t index, size_t depth) {
  MaskEntry mine = run.maskStack[depth], other = run.parked[index].maskStack[depth];
  if (mine.id == other.id) return;
  if (mine.split && !other.split) {
    ThreadGroup g = run.parked[index];
    split(run, g.maskStack, g.mask, g.file, depth);
  } else if (other.split && !mine.split) {
    std::vector<MaskEntry> stack = run.maskStack;
    split(run, stack, run.mask, run.file, depth);
  }
  LaneMask all = either(mine.mask, other.mask, run.lanes);
  uint32_t elsePc = std::min(mine.elsePc, other.elsePc), endPc = std::min(mine.endPc, other.endPc);
  eachEntry(run, other.id, [&](MaskEntry& e) { e.id = mine.id; });
  eachEntry(run, mine.id, [&](MaskEntry& e) { e.mask = all; });
  run.maskStack[depth].elsePc = elsePc;
  run.maskStack[depth].endPc = endPc;
}

}  // namespace

bool startOther(Run& run) {
  for (size_t k = run.parked.size(); k-- > 0;) {
    for (size_t depth = run.parked[k].maskStack.size(); depth-- > 0;) {
      ThreadGroup g = run.parked[k];
      if (!isInFirst(g.maskStack[depth])) continue;
      size_t before = run.parked.size();
      split(run, g.maskStack, g.mask, g.file, depth);
      if (run.parked.size() > before) return true;
    }
  }
  return false;
}

bool releaseEarly(Machine& m, Run& run) {
  for (const ThreadGroup& g : run.parked)
    if (g.state == State::AtEnd) return releaseAtEnd(m, run, g.maskStack.back().id), true;
  for (size_t k = 0; k < run.parked.size(); ++k) {
    ThreadGroup g = run.parked[k];
    for (size_t depth = g.maskStack.size(); depth-- > 0;)
      if (releaseDone(run, g, depth)) return true;
  }
  return false;
}

void uniteStacks(Run& run, size_t index) {
  for (size_t depth = 0; depth < run.maskStack.size(); ++depth) unite(run, index, depth);
}

bool canPart(const Run& run) {
  return std::none_of(run.maskStack.begin(), run.maskStack.end(),
                      [](const MaskEntry& e) { return e.isLoop && !e.split; });
}

ThreadGroup& partFrom(Run& run, const LaneMask& threads) {
  std::vector<MaskEntry> stack = run.maskStack;
  for (size_t depth = 0; depth < stack.size(); ++depth)
    if (!stack[depth].split) split(run, stack, run.mask, run.file, depth);
  ThreadGroup g = partOf(run.maskStack, run.maskStack.size(), threads, cloneFile(run, run.file));
  g.pc = run.pc;
  run.mask = without(run.mask, threads, run.lanes);
  run.parked.push_back(std::move(g));
  return run.parked.back();
}

void absorb(Machine& m, Run& run, size_t index) {
  ThreadGroup g = std::move(run.parked[index]);
  run.parked.erase(run.parked.begin() + long(index));
  takeLanes(m, run, g.file, g.mask);
  run.mask = either(run.mask, g.mask, run.lanes);
  dropUnusedFile(m, run, g.file);
}

}  // namespace tandem::interpreter
