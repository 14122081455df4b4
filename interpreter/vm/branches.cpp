// Parks a branch that waits and picks another: one that has news, one not started yet, or none.
#include "interpreter/vm/branches.h"
#include <algorithm>

namespace tandem::interpreter {
namespace {

void park(Machine& m, Run& run) {
  Branch b;
  b.pc = run.pc;
  b.mask = run.mask;
  b.maskStack = run.maskStack;
  b.watched = run.watched;
  b.awaited = run.awaited;
  b.awaitedRound = run.awaitedRound;
  b.version = m.version;
  b.privateVersion = run.privateVersion;
  run.parked.push_back(std::move(b));
}

void resume(Run& run, size_t index) {
  Branch b = std::move(run.parked[index]);
  run.parked.erase(run.parked.begin() + long(index));
  run.pc = b.pc;
  run.mask = std::move(b.mask);
  run.maskStack = std::move(b.maskStack);
  run.awaitedRound = b.awaitedRound;
  run.watched = Watched{};
  run.awaited.clear();
  run.spin = Run::Spin{};
  run.readCount = 0;
}

// The threads of the `if` that did not take its first branch.
LaneMask otherThreads(const Run& run, size_t depth) {
  const LaneMask& taken = depth + 1 < run.maskStack.size() ? run.maskStack[depth + 1].mask : run.mask;
  LaneMask other = run.maskStack[depth].mask;
  if (other.all) other.bytes.assign(run.lanes, 1);
  other.all = false;
  other.active = 0;
  for (uint32_t lane = 0; lane < run.lanes; ++lane) {
    other.bytes[lane] &= uint8_t(!taken.all && !taken.bytes[lane]);
    other.active += other.bytes[lane];
  }
  return other;
}

void markSplit(std::vector<MaskEntry>& stack, uint32_t id) {
  for (MaskEntry& e : stack)
    if (e.id == id) e.split = true;
}

// Starts the second branch of the innermost `if` whose first the current branch is in.
bool startOther(Machine& m, Run& run) {
  for (size_t depth = run.maskStack.size(); depth-- > 0;) {
    MaskEntry& entry = run.maskStack[depth];
    if (entry.elsePc == MaskEntry::kNoElse || entry.split) continue;
    LaneMask other = otherThreads(run, depth);
    if (!other.active) continue;
    uint32_t id = entry.id, elsePc = entry.elsePc;
    markSplit(run.maskStack, id);
    for (Branch& b : run.parked) markSplit(b.maskStack, id);
    run.splits.push_back(id);
    park(m, run);
    run.maskStack.resize(depth + 1);
    run.mask = std::move(other);
    run.pc = elsePc + 1;
    run.awaitedRound = Run::kNoRound;
    run.watched = Watched{};
    run.awaited.clear();
    run.spin = Run::Spin{};
    run.readCount = 0;
    return true;
  }
  return false;
}

bool hasNews(const Machine& m, const Run& run, const Branch& b) {
  return b.version != m.version || b.privateVersion != run.privateVersion;
}

void watchAll(Machine& m, Run& run, const Watched& w) {
  for (auto [address, bytes] : w.places) m.watch(run, address, bytes);
  bool asleep = std::find(m.sleepers.begin(), m.sleepers.end(), &run) != m.sleepers.end();
  if (w.everything && !asleep) m.sleepers.push_back(&run);
}

}  // namespace

Step stall(Machine& m, Run& run, Blocked why, Step whenBlocked) {
  if (!run.maskStack.empty()) {
    for (size_t k = 0; k < run.parked.size(); ++k) {
      if (!hasNews(m, run, run.parked[k])) continue;
      park(m, run);
      resume(run, k);
      return Step::Jumped;
    }
    if (startOther(m, run)) return Step::Jumped;
  }
  watchAll(m, run, run.watched);
  for (const Branch& b : run.parked) {
    watchAll(m, run, b.watched);
    run.awaited.insert(run.awaited.end(), b.awaited.begin(), b.awaited.end());
  }
  m.block(run, why);
  return whenBlocked;
}

bool joinBranches(Run& run, const MaskEntry& entry) {
  auto waiting = std::find(run.splits.begin(), run.splits.end(), entry.id);
  if (waiting == run.splits.end()) return true;
  run.splits.erase(waiting);
  resume(run, 0);
  return false;
}

}  // namespace tandem::interpreter
