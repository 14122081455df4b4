// This file finds the loops that programs are in, and the instructions by which the loops read memory.
#include "interpreter/schedule/spinning.h"
#include <algorithm>

namespace tandem::interpreter {
namespace {

uint32_t beginOf(const Run& run, const SpinLoop& loop) {
  return uint32_t(run.prepared->code[loop.pc].as<imm::LoopBack>().target);
}

const SpinLoop* loopAt(const Run& run, uint32_t begin) {
  const auto& loops = run.prepared->loops;
  auto loop = std::find_if(loops.begin(), loops.end(), [&](const SpinLoop& l) { return beginOf(run, l) == begin; });
  return loop == loops.end() ? nullptr : &*loop;
}

std::vector<const Prepared*> loadsOfLoopAt(const Run& run, uint32_t begin) {
  const SpinLoop* loop = loopAt(run, begin);
  return loop ? loadsOf(run, *loop) : std::vector<const Prepared*>();
}

bool mayTakeALock(const Prepared* i) {
  return i->op == Op::AtomicCas ? i->b != i->c : i->op == Op::AtomicRmw && RmwOp(i->sub) == RmwOp::Xchg;
}

bool onlyLooksFrom(const Run& run, uint32_t begin) {
  std::vector<const Prepared*> loads = loadsOfLoopAt(run, begin);
  return std::none_of(loads.begin(), loads.end(), mayTakeALock);
}

}  // namespace

std::vector<const Prepared*> loadsOf(const Run& run, const SpinLoop& loop) {
  std::vector<const Prepared*> loads;
  for (uint32_t pc = beginOf(run, loop); pc < loop.pc; ++pc) {
    const Prepared& i = run.prepared->code[pc];
    if (i.op == Op::Ld || i.op == Op::Load || i.op == Op::AtomicRmw || i.op == Op::AtomicCas) loads.push_back(&i);
  }
  return loads;
}

const Prepared* loadOfSpin(const Run& run) {
  std::vector<const Prepared*> loads = loadsOfLoopAt(run, run.pc);
  return loads.empty() ? nullptr : loads.front();
}

uint32_t endOfSpin(const Run& run) {
  const SpinLoop* loop = loopAt(run, run.pc);
  return loop ? loop->pc : run.pc;
}

bool onlyLooks(const Run& run) {
  return run.blocked == Blocked::Spin && onlyLooksFrom(run, run.pc) &&
         std::all_of(run.parked.begin(), run.parked.end(), [&](const ThreadGroup& g) {
           bool isSpin = g.awaited.empty() && g.awaitedRound == Run::kNoRound && !g.collective;
           return g.state != ThreadGroup::State::Waits || (isSpin && onlyLooksFrom(run, g.pc));
         });
}

Looping loopingIn(const Run& run) {
  Looping most;
  for (size_t k = 0; k < run.spins.size(); ++k) {
    const SpinLoop& loop = run.prepared->loops[k];
    bool isInside = beginOf(run, loop) <= run.pc && run.pc <= loop.pc;
    if (isInside && run.spins[k].sinceEntry > most.rounds) most = {&loop, run.spins[k].sinceEntry};
  }
  return most;
}

}  // namespace tandem::interpreter
