// Compares the rounds of a loop: the values that decide its course are hashed where memory stays as it is. Rounds 0, 1,
// 3, 7, ... are kept in turn to compare with, so a cycle is found within three times as many rounds as it takes to go
// through it once.
#include "interpreter/vm/spin.h"
#include "interpreter/op_kinds.h"
#include "interpreter/vm/branches.h"
#include "interpreter/vm/registers.h"
#include <algorithm>
#include <unordered_map>

namespace tandem::interpreter {
namespace {

uint64_t mix(uint64_t h, uint64_t v) { return (h ^ v) * 0x9e3779b97f4a7c15ull ^ (h >> 29); }

uint64_t hashBytes(uint64_t h, const uint8_t* p, uint64_t n) {
  uint64_t word = 0;
  for (; n >= 8; n -= 8, p += 8) {
    memcpy(&word, p, 8);
    h = mix(h, word);
  }
  word = 0;
  memcpy(&word, p, n);
  return mix(h, word + n);
}

uint64_t hashCarried(Machine& m, Run& run, const SpinLoop& loop) {
  uint64_t h = 1;
  for (Register r : loop.carried) h = hashBytes(h, data(m, run, r), registerBytes(run, r));
  if (!run.mask.all) h = hashBytes(h, run.mask.bytes.data(), run.mask.bytes.size());
  return h;
}

// Returns true if a loop around this one compares its rounds, and the list of reads is complete.
bool isReadListNeeded(const Machine& m, const Run& run) {
  return run.readCount < Run::kMaxReads && std::any_of(
                                               run.spins.begin(), run.spins.end(),
                                               [&](const Run::Spin& s) {
                                                 return s.rounds && s.turn == run.groupTurn && s.version == m.version &&
                                                        s.privateVersion == run.privateVersion &&
                                                        s.reads == run.readsKept;
                                               });
}

}  // namespace

SpinLoop spinLoop(const Program& program, uint32_t target, uint32_t pc, const std::vector<Register>& carried) {
  std::unordered_multimap<Register, uint32_t> writers;
  std::vector<Register> reached;
  std::vector<bool> decides(program.registers.size());
  auto decide = [&](const Instruction& i) {
    for (uint32_t raw : program.operands(i)) {
      Register r = raw & ~kLastUse;
      if (raw == kNone || r == kNone || decides[r]) continue;
      decides[r] = true;
      reached.push_back(r);
    }
  };
  for (uint32_t k = target; k < pc; ++k) {
    const Instruction& i = program.code[k];
    if (!computes(i.op) || (i.op == Op::Binary && isIntegerDivision(BinaryOp(i.sub)))) decide(i);
    for (Register r : program.results(i)) writers.emplace(r, k);
  }
  while (!reached.empty()) {
    Register r = reached.back();
    reached.pop_back();
    for (auto [at, end] = writers.equal_range(r); at != end; ++at) decide(program.code[at->second]);
  }
  SpinLoop loop{pc, {}};
  for (Register r : carried)
    if (decides[r]) loop.carried.push_back(r);
  return loop;
}

void beginInnerLoops(Run& run, const Prepared& i) {
  for (size_t k = i.firstInnerLoop; k < i.loop && k < run.spins.size(); ++k) run.spins[k] = {};
}

Step backEdge(Machine& m, Run& run, const Prepared& i) {
  beginInnerLoops(run, i);
  const SpinLoop& loop = run.prepared->loops[i.loop];
  run.pc = uint32_t(i.as<imm::LoopBack>().target);
  if (run.spins.size() <= i.loop) run.spins.resize(run.prepared->loops.size());
  Run::Spin& spin = run.spins[i.loop];
  if (run.readsVersion != m.version) run.forgetReads(m.version);
  ++spin.sinceEntry;
  bool still = spin.turn == run.groupTurn && spin.version == m.version && spin.privateVersion == run.privateVersion;
  if (!still) {
    spin = {.turn = run.groupTurn,
            .version = m.version,
            .privateVersion = run.privateVersion,
            .sinceEntry = spin.sinceEntry};
    return Step::Jumped;
  }
  uint64_t hash = hashCarried(m, run, loop);
  bool again = spin.rounds && hash == spin.hash;
  if (!again && spin.rounds == spin.keepAt) {
    if (!isReadListNeeded(m, run)) run.forgetReads(m.version);
    spin.keepAt += spin.keepAt + 1;
    spin.hash = hash;
    spin.reads = run.readsKept;
  }
  ++spin.rounds;
  if (!again) return Step::Jumped;
  bool knowsReads = spin.reads == run.readsKept && run.readCount < Run::kMaxReads;
  spin.version = 0;
  run.awaited.clear();
  run.watched = Watched{{}, !knowsReads};
  if (knowsReads) run.watched.places.assign(run.reads.begin(), run.reads.begin() + run.readCount);
  return stall(m, run, Blocked::Spin, Step::Yield);
}

}  // namespace tandem::interpreter
