// Looks for the shape: one load, one comparison of it with what the loop does not change, the test, the back edge.
#include "interpreter/check/polls.h"
#include "interpreter/vm/run.h"
#include <algorithm>
#include <cstring>
#include <utility>

namespace tandem::interpreter::check {
namespace {

constexpr size_t kLongest = 12;

struct Shape {
  std::optional<uint32_t> load, compare, test;
};

// The one of each kind in [begin, end); nothing when something else has an effect there.
std::optional<Shape> shapeOf(const Program& p, uint32_t begin, uint32_t end) {
  Shape s;
  auto once = [](std::optional<uint32_t>& place, uint32_t pc) { return !std::exchange(place, pc).has_value(); };
  for (uint32_t pc = begin; pc < end; ++pc) switch (p.code[pc].op) {
      case Op::Ld:
        if (!once(s.load, pc)) return std::nullopt;
        break;
      case Op::Compare:
        if (!once(s.compare, pc)) return std::nullopt;
        break;
      case Op::Branch:
      case Op::LoopTest:
        if (!once(s.test, pc)) return std::nullopt;
        break;
      case Op::Constant:
      case Op::Splat:
      case Op::AddPtr:
      case Op::SymmAt:
      case Op::Binary:
      case Op::Convert: break;
      default: return std::nullopt;
    }
  if (!s.load || !s.compare || !s.test || !(*s.load < *s.compare && *s.compare < *s.test)) return std::nullopt;
  return s;
}

// When a loop that goes on while `seen <op> value` ends.
std::optional<SignalCompare> endOf(CompareOp goesOn) {
  switch (goesOn) {
    case CompareOp::Eq: return SignalCompare::Ne;
    case CompareOp::Ne: return SignalCompare::Eq;
    case CompareOp::SLt: return SignalCompare::Ge;
    case CompareOp::SLe: return SignalCompare::Gt;
    case CompareOp::SGt: return SignalCompare::Le;
    case CompareOp::SGe: return SignalCompare::Lt;
    default: return std::nullopt;
  }
}

CompareOp swapped(CompareOp op) {
  switch (op) {
    case CompareOp::SLt: return CompareOp::SGt;
    case CompareOp::SLe: return CompareOp::SGe;
    case CompareOp::SGt: return CompareOp::SLt;
    case CompareOp::SGe: return CompareOp::SLe;
    default: return op;
  }
}

// The instruction in [begin, end) that gives `r`.
const Instruction* definition(const Program& p, Register r, uint32_t begin, uint32_t end) {
  for (uint32_t pc = begin; pc < end; ++pc)
    for (Register result : p.results(p.code[pc]))
      if (result == r) return &p.code[pc];
  return nullptr;
}

std::optional<Poll> pollIn(const Program& p, uint32_t begin, uint32_t end, uint32_t& load) {
  std::optional<Shape> shape = shapeOf(p, begin, end);
  if (!shape) return std::nullopt;
  const Instruction &look = p.code[*shape->load], &compare = p.code[*shape->compare];
  Register seen = p.results(look)[0];
  auto operand = [&](const Instruction& i, size_t k) { return p.operands(i)[k] & ~kLastUse; };
  if (operand(p.code[*shape->test], 0) != p.results(compare)[0]) return std::nullopt;
  bool isFirst = operand(compare, 0) == seen;
  if (!isFirst && operand(compare, 1) != seen) return std::nullopt;
  CompareOp goesOn = CompareOp(compare.sub);
  std::optional<SignalCompare> ends = endOf(isFirst ? goesOn : swapped(goesOn));
  Register value = operand(compare, isFirst ? 1 : 0);
  if (const Instruction* made = definition(p, value, begin, end); made && made->op == Op::Splat)
    value = operand(*made, 0);
  const RegisterType& type = p.registers[seen];
  if (!ends || type.vectorLength != 1 || byteSize(type.elem) < 4 || definition(p, value, begin, end))
    return std::nullopt;
  // Who looks at the value goes by what it was, not only by the loop's end.
  auto uses =
      std::count_if(p.operandPool.begin(), p.operandPool.end(), [&](uint32_t r) { return (r & ~kLastUse) == seen; });
  if (uses != 1) return std::nullopt;
  load = *shape->load;
  return Poll{*ends, value};
}

}  // namespace

std::unordered_map<uint32_t, Poll> findPolls(const Program& p) {
  std::unordered_map<uint32_t, Poll> polls;
  for (uint32_t pc = 0; pc < p.code.size(); ++pc) {
    if (p.code[pc].op != Op::LoopBack) continue;
    uint32_t begin = uint32_t(p.immediates(p.code[pc])[0]), load = 0;
    if (begin >= pc || pc - begin > kLongest) continue;
    if (std::optional<Poll> poll = pollIn(p, begin, pc, load)) polls[load] = *poll;
  }
  return polls;
}

const Poll* Polls::find(const Run& run) {
  const Program* program = run.prepared->program.get();
  auto [known, isNew] = known_.try_emplace(program);
  if (isNew) known->second = findPolls(*program);
  auto poll = known->second.find(run.pc);
  return poll == known->second.end() ? nullptr : &poll->second;
}

std::optional<uint64_t> awaitedValue(const Run& run, const Poll& poll, uint32_t lane) {
  const RegisterInfo& info = run.info(poll.value);
  const Slot& slot = run.slots[poll.value];
  uint64_t value = 0;
  if (info.extent != Extent::Lanes) {
    memcpy(&value, &slot.bits, info.elemBytes);
    return value;
  }
  if (lane >= run.lanes) return std::nullopt;
  if (slot.buffer) memcpy(&value, slot.buffer->data() + size_t(lane) * info.elemBytes, info.elemBytes);
  return value;
}

}  // namespace tandem::interpreter::check
