// A loop is a poll if nothing in it has an effect and the values that it loads decide only how long it goes on. Elsewhere
// a look may decide conditions and nothing else.
#include "interpreter/check/polls.h"
#include "interpreter/op_kinds.h"
#include "interpreter/vm/run.h"
#include <algorithm>
#include <vector>

namespace tandem::interpreter::check {
namespace {

constexpr uint32_t kLongest = 96;

bool isLook(const Program& p, const Instruction& i) {
  constexpr int64_t kMostWords = 1024;  // of a tile: each is judged with all
  auto isWord = [&] {
    const RegisterType& type = p.registers[p.results(i)[0]];
    return type.vectorLength == 1 && type.extent != Extent::Smem && type.count() <= kMostWords;
  };
  switch (i.op) {
    case Op::Ld: return !p.as<imm::Ld>(i).weak && isWord();
    case Op::Load: return p.as<imm::Load>(i).isVolatile && isWord();
    case Op::AtomicRmw:
    case Op::AtomicCas: return isWord();
    default: return false;
  }
}

// Returns true for instructions whose only effect is their result. An atomic that changes something when it runs is no
// poll.
bool isHarmless(Op op) {
  switch (op) {
    case Op::SymmAt:
    case Op::Reduce:
    case Op::ThreadFence:
    case Op::Special:
    case Op::Load:
    case Op::Ld:
    case Op::AtomicRmw:
    case Op::AtomicCas: return true;
    default: return computes(op);
  }
}

// Returns, for each instruction of a loop, whether it stands in a loop inside of that one: such a loop goes over many words each
// time that the outer one looks.
std::vector<bool> innerLoops(const Program& p, uint32_t begin, uint32_t end) {
  std::vector<bool> isInner(end);
  for (uint32_t pc = begin; pc < end; ++pc) {
    if (p.code[pc].op != Op::Jump) continue;
    uint32_t top = uint32_t(p.as<imm::Jump>(p.code[pc]).target);
    if (top >= begin && top <= pc) std::fill(isInner.begin() + top, isInner.begin() + pc, true);
  }
  return isInner;
}

// Follows the values that the looks of a loop find to their uses.
class Consequences {
 public:
  Consequences(const Program& p, PollLoop loop) : p_(p), loop_(loop), isOne_(p.registers.size()) {}

  // Follows one look. Returns false if anything outside the loop depends on it, another access's address, or how often a loop
  // inside of it goes round.
  bool stayInside(uint32_t look) {
    std::fill(isOne_.begin(), isOne_.end(), false);
    isOne_[p_.results(p_.code[look])[0]] = true;
    for (bool grows = true; grows;) {
      grows = false;
      for (uint32_t pc = loop_.first; pc <= loop_.last; ++pc) grows |= spread(pc);
    }
    for (uint32_t pc = 0; pc < p_.code.size(); ++pc) {
      bool isInside = pc >= loop_.first && pc <= loop_.last;
      if (usesOne(pc) && (!isInside || isAccess(p_.code[pc].op) || isCount(pc))) return false;
    }
    return true;
  }
  bool has(Register r) const { return isOne_[r]; }
  static bool isAccess(Op op) { return op == Op::Load || op == Op::Ld || op == Op::AtomicRmw || op == Op::AtomicCas; }

 private:
  const Program& p_;
  PollLoop loop_;
  std::vector<bool> isOne_;  // by register

  // The test of a loop inside.
  bool isCount(uint32_t pc) const {
    Op op = p_.code[pc].op;
    return (op == Op::ForTest || op == Op::LoopTest) && uint32_t(p_.as<imm::Jump>(p_.code[pc]).target) <= loop_.last;
  }
  bool usesOne(uint32_t pc) const {
    auto operands = p_.operands(p_.code[pc]);
    return std::any_of(operands.begin(), operands.end(),
                       [&](uint32_t r) { return r != kNone && isOne_[r & ~kLastUse]; });
  }
  // The instructions that run only on one side of a condition end there.
  uint32_t endOf(uint32_t pc) const {
    uint32_t target = uint32_t(p_.as<imm::Jump>(p_.code[pc]).target);
    if (target > loop_.last) return pc + 1;  // the loop's own test
    const Instruction& last = p_.code[p_.code[pc].op == Op::IfBegin ? target : target - 1];
    bool hasElse = last.op == Op::IfElse || last.op == Op::Jump;
    return hasElse ? std::min(uint32_t(p_.as<imm::Jump>(last).target), loop_.last) : target;
  }
  bool mark(uint32_t pc) {
    bool isNew = false;
    for (Register r : p_.results(p_.code[pc])) {
      isNew |= !isOne_[r];
      isOne_[r] = true;
    }
    return isNew;
  }
  bool spread(uint32_t pc) {
    if (!usesOne(pc)) return false;
    Op op = p_.code[pc].op;
    if (op != Op::Branch && op != Op::IfBegin) return mark(pc);
    bool isNew = false;
    for (uint32_t under = pc + 1; under < endOf(pc); ++under) isNew |= mark(under);
    return isNew;
  }
};

// Returns the beginning of the code that runs straight into the loop and has no effect.
uint32_t leadIn(const Program& p, uint32_t begin) {
  uint32_t first = begin;
  while (first > 0 && begin - first < kLongest &&
         (isHarmless(p.code[first - 1].op) || p.code[first - 1].op == Op::LoopBegin))
    --first;
  return first;
}

// Follows what changes in each round of a loop whatever its look finds: a count, the time.
class Rounds {
 public:
  // What a loop inside of it (`isInner`) counts begins anew in each round.
  Rounds(const Program& p, uint32_t begin, uint32_t end, const Consequences& found, const std::vector<bool>& isInner)
      : p_(p), begin_(begin), end_(end), varies_(p.registers.size()) {
    for (uint32_t pc = begin; pc < end; ++pc)
      if (Register counted = isInner[pc] ? kNone : counts(pc); counted != kNone && !found.has(counted))
        varies_[counted] = true;
    for (bool grows = true; grows;) {
      grows = false;
      for (uint32_t pc = begin; pc < end; ++pc) grows |= spread(pc);
    }
  }

  // Returns true if the loop may end by that alone, and what it computes is used nowhere behind it.
  bool endUnseen() const {
    bool ends = false;
    for (uint32_t pc = begin_; pc < end_; ++pc) {
      Op op = p_.code[pc].op;
      bool leaves = op == Op::Branch && uint32_t(p_.as<imm::Jump>(p_.code[pc]).target) > end_;
      ends |= (leaves || op == Op::LoopTest) && uses(pc, varies_);
    }
    if (!ends) return false;
    std::vector<bool> made(p_.registers.size());
    for (uint32_t pc = begin_; pc < end_; ++pc)
      for (Register r : p_.results(p_.code[pc])) made[r] = true;
    for (uint32_t pc = end_ + 1; pc < p_.code.size(); ++pc)
      if (uses(pc, made)) return false;
    return true;
  }

 private:
  const Program& p_;
  uint32_t begin_, end_;
  std::vector<bool> varies_;

  bool uses(uint32_t pc, const std::vector<bool>& of) const {
    auto operands = p_.operands(p_.code[pc]);
    return std::any_of(operands.begin(), operands.end(), [&](uint32_t r) { return r != kNone && of[r & ~kLastUse]; });
  }
  // The register that an instruction steps on from its value of the round before, or reads from a clock; kNone: none.
  Register counts(uint32_t pc) const {
    const Instruction& i = p_.code[pc];
    if (i.op == Op::Special) return p_.results(i)[0];
    if (i.op != Op::Binary) return kNone;
    for (uint32_t operand : p_.operands(i))
      for (uint32_t back = pc + 1; back < end_; ++back)
        if (const Instruction& copy = p_.code[back]; copy.op == Op::Copy &&
                                                     p_.results(copy)[0] == (operand & ~kLastUse) &&
                                                     (p_.operands(copy)[0] & ~kLastUse) == p_.results(i)[0])
          return operand & ~kLastUse;
    return kNone;
  }
  // A value that memory holds does not vary because its address does.
  bool spread(uint32_t pc) {
    if (Consequences::isAccess(p_.code[pc].op) || !uses(pc, varies_)) return false;
    bool isNew = false;
    for (Register r : p_.results(p_.code[pc])) {
      isNew |= !varies_[r];
      varies_[r] = true;
    }
    return isNew;
  }
};

bool isComputed(Op op) {
  switch (op) {
    case Op::Constant:
    case Op::MakeRange:
    case Op::Splat:
    case Op::Reshape:
    case Op::Unary:
    case Op::Binary:
    case Op::Compare:
    case Op::Select:
    case Op::Convert:
    case Op::Reduce: return true;
    default: return false;
  }
}

// Follows a look's value in the instructions behind it, up to conditions, as far as no loop begins or goes round.
std::optional<Decision> decisionAt(const Program& p, uint32_t look) {
  std::vector<bool> derived(p.registers.size()), unknown(p.registers.size());
  derived[p.results(p.code[look])[0]] = true;
  Decision decision;
  auto isOne = [&](uint32_t r) { return r != kNone && derived[r & ~kLastUse]; };
  auto isCondition = [&](uint32_t r) { return p.registers[r & ~kLastUse].elem == Elem::I1; };
  auto computes = [&](const Instruction& i) {
    if (!isComputed(i.op) || p.results(i).size() != 1) return false;
    auto operands = p.operands(i);
    return std::none_of(operands.begin(), operands.end(), [&](uint32_t r) {
      return r != kNone && (isOne(r) ? isCondition(r) && !isCondition(p.results(i)[0]) : unknown[r & ~kLastUse]);
    });
  };
  for (uint32_t pc = look + 1; pc < p.code.size() && pc - look < kLongest; ++pc) {
    const Instruction& i = p.code[pc];
    bool goesBack = i.op == Op::Jump && uint32_t(p.as<imm::Jump>(i).target) <= pc;
    if (goesBack || i.op == Op::LoopBack || i.op == Op::LoopBegin || i.op == Op::LoopTest || i.op == Op::ForTest) break;
    auto operands = p.operands(i);
    bool isStep = computes(i), follows = std::any_of(operands.begin(), operands.end(), isOne);
    for (Register r : p.results(i)) {
      if (derived[r]) return std::nullopt;
      derived[r] = isStep && follows;
      unknown[r] = !isStep;
    }
    if (isStep) decision.steps.push_back(pc);
  }
  for (uint32_t pc = 0; pc < p.code.size(); ++pc) {
    if (std::find(decision.steps.begin(), decision.steps.end(), pc) != decision.steps.end()) continue;
    for (uint32_t operand : p.operands(p.code[pc])) {
      if (!isOne(operand)) continue;
      if (!isCondition(operand)) return std::nullopt;
      decision.conditions.push_back(operand & ~kLastUse);
    }
  }
  return decision.conditions.empty() ? std::nullopt : std::optional(std::move(decision));
}

}  // namespace

std::unordered_map<uint32_t, PollLoop> findPolls(const Program& p) {
  std::unordered_map<uint32_t, PollLoop> polls;
  for (uint32_t pc = 0; pc < p.code.size(); ++pc) {
    if (p.code[pc].op != Op::LoopBack) continue;
    uint32_t begin = uint32_t(p.as<imm::LoopBack>(p.code[pc]).target);
    if (begin >= pc || pc - begin > kLongest ||
        !std::all_of(p.code.begin() + begin, p.code.begin() + pc,
                     [](const Instruction& i) { return isHarmless(i.op) || isControl(i.op); }))
      continue;
    PollLoop loop{leadIn(p, begin), pc};
    std::vector<bool> isInner = innerLoops(p, begin, pc);
    loop.hasSeveral = std::count_if(p.code.begin() + begin, p.code.begin() + pc,
                                    [&](const Instruction& i) { return isLook(p, i); }) > 1;
    for (uint32_t look = begin; look < pc; ++look) loop.hasSeveral |= isInner[look] && isLook(p, p.code[look]);
    Consequences consequences(p, loop);
    // A look ahead of the loop is the loop's first one if the loop depends on it.
    auto isOfLoop = [&](uint32_t look) {
      if (look >= begin) return true;
      Register found = p.results(p.code[look])[0];
      return std::any_of(p.code.begin() + look + 1, p.code.begin() + pc, [&](const Instruction& i) {
        auto operands = p.operands(i);
        return std::any_of(operands.begin(), operands.end(), [&](uint32_t r) { return (r & ~kLastUse) == found; });
      });
    };
    for (uint32_t look = loop.first; look < pc; ++look)
      if (isLook(p, p.code[look]) && isOfLoop(look) && consequences.stayInside(look)) {
        loop.givesUp = Rounds(p, begin, pc, consequences, isInner).endUnseen();
        polls[look] = loop;
      }
  }
  return polls;
}

std::unordered_map<uint32_t, Decision> findDecisions(const Program& p) {
  std::unordered_map<uint32_t, Decision> decisions;
  for (uint32_t pc = 0; pc < p.code.size(); ++pc) {
    if (!isLook(p, p.code[pc])) continue;
    if (std::optional<Decision> decision = decisionAt(p, pc)) decisions[pc] = std::move(*decision);
  }
  return decisions;
}

const Polls::Looks& Polls::of(const Run& run) {
  const Program* program = run.prepared->program.get();
  auto [known, isNew] = known_.try_emplace(program);
  if (isNew) known->second = {findPolls(*program), findDecisions(*program)};
  return known->second;
}

const PollLoop* Polls::find(const Run& run) {
  const auto& polls = of(run).polls;
  auto poll = polls.find(run.pc);
  return poll == polls.end() ? nullptr : &poll->second;
}

const Decision* Polls::decisionOf(const Run& run) {
  const auto& decisions = of(run).decisions;
  auto decision = decisions.find(run.pc);
  return decision == decisions.end() ? nullptr : &decision->second;
}

}  // namespace tandem::interpreter::check
