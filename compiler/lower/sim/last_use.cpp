// Backward liveness of registers over the instruction list, by basic blocks; each region by itself.
#include "compiler/lower/sim/last_use.h"
#include <algorithm>
#include <llvm/ADT/BitVector.h>
#include <optional>

namespace tandem::lower {
using namespace interpreter;
namespace {

using Set = llvm::BitVector;

bool fallsThrough(Op op) { return op != Op::Jump && op != Op::LoopBack && op != Op::Return; }

std::optional<uint32_t> regionOf(const Program& p, const Instruction& i) {
  static_assert(offsetof(imm::Reduce, region) == offsetof(imm::Scan, region) &&
                offsetof(imm::Reduce, region) == offsetof(imm::MapElementwise, region));
  if (i.op == Op::Reduce || i.op == Op::Scan || i.op == Op::MapElementwise) return p.as<imm::Reduce>(i).region;
  return std::nullopt;
}

// One piece of code that runs by itself: the main code, or a region.
class Liveness {
 public:
  // `atEnd`: the registers read after the last instruction. `captured`: by region, the main code's registers that it
  // reads.
  Liveness(Program& program, uint32_t begin, uint32_t end, Set atEnd, const std::vector<Set>& captured)
      : program_(program), begin_(begin), end_(end), atEnd_(std::move(atEnd)), captured_(captured) {}

  void mark() {
    findBlocks();
    solve();
    for (size_t b = 0; b + 1 < starts_.size(); ++b) {
      Set live = liveOut(b);
      for (uint32_t pc = starts_[b + 1]; pc-- > starts_[b];) step(pc, live, true);
    }
  }

 private:
  void findBlocks() {
    std::vector<uint32_t> starts{begin_, end_};
    for (uint32_t pc = begin_; pc < end_; ++pc) {
      const Instruction& i = program_.code[pc];
      if (!hasTarget(i.op) && fallsThrough(i.op)) continue;
      starts.push_back(pc + 1);
      if (hasTarget(i.op)) starts.push_back(program_.as<imm::Jump>(i).target);
    }
    std::sort(starts.begin(), starts.end());
    starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
    starts_ = std::move(starts);
    liveIn_.assign(starts_.size(), Set(program_.registers.size()));
  }

  void solve() {
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t b = starts_.size() - 1; b-- > 0;) {
        Set live = liveOut(b);
        for (uint32_t pc = starts_[b + 1]; pc-- > starts_[b];) step(pc, live, false);
        if (live == liveIn_[b]) continue;
        liveIn_[b] = std::move(live);
        changed = true;
      }
    }
  }

  Set liveAt(uint32_t pc) const {
    if (pc >= end_) return atEnd_;
    return liveIn_[std::lower_bound(starts_.begin(), starts_.end(), pc) - starts_.begin()];
  }

  Set liveOut(size_t block) const {
    uint32_t last = starts_[block + 1] - 1;
    const Instruction& i = program_.code[last];
    Set live(program_.registers.size());
    if (fallsThrough(i.op)) live |= liveAt(last + 1);
    if (hasTarget(i.op)) live |= liveAt(program_.as<imm::Jump>(i).target);
    return live;
  }

  // Takes `live` from behind instruction `pc` to before it.
  void step(uint32_t pc, Set& live, bool mark) {
    const Instruction& i = program_.code[pc];
    bool keepsInactiveLanes = i.op == Op::MaskedCopy;
    for (Register r : program_.results(i)) keepsInactiveLanes ? live.set(r) : live.reset(r);
    if (std::optional<uint32_t> region = regionOf(program_, i)) live |= captured_[*region];
    for (uint32_t n = i.operandCount; n-- > 0;) {  // backwards, so that the last of equal operands has the mark
      uint32_t& operand = program_.operandPool[i.firstOperand + n];
      if (operand == kNone) continue;
      if (mark && !live.test(operand)) {
        live.set(operand);
        operand |= kLastUse;
      } else {
        live.set(operand & ~kLastUse);
      }
    }
  }

  Program& program_;
  uint32_t begin_, end_;
  Set atEnd_;
  const std::vector<Set>& captured_;
  std::vector<uint32_t> starts_;
  std::vector<Set> liveIn_;
};

// A region runs many times over, so a register of the main code that it reads is never dead inside.
Set capturedBy(const Program& p, const Region& region) {
  Set read(p.registers.size()), written(p.registers.size());
  for (uint32_t pc = region.begin; pc < region.end; ++pc) {
    for (Register r : p.operands(p.code[pc]))
      if (r != kNone) read.set(r);
    for (Register r : p.results(p.code[pc])) written.set(r);
  }
  for (Register r : region.arguments) written.set(r);
  for (Register r : region.results) read.set(r);
  return read.reset(written);
}

}  // namespace

void markLastUses(Program& program) {
  std::vector<Set> captured;
  for (const Region& region : program.regions) captured.push_back(capturedBy(program, region));
  for (size_t i = 0; i < program.regions.size(); ++i) {
    const Region& region = program.regions[i];
    Set atEnd = captured[i];
    for (Register r : region.results) atEnd.set(r);
    Liveness(program, region.begin, region.end, std::move(atEnd), captured).mark();
  }
  uint32_t size = program.regions.empty() ? program.code.size() : program.regions.front().begin;
  Liveness(program, 0, size, Set(program.registers.size()), captured).mark();
}

}  // namespace tandem::lower
