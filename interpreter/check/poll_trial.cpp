// A trial finds out how a poll would go on, had it found another value: it carries the poll's instructions out for one
// thread, beside the run.
#include "interpreter/check/polls.h"
#include "interpreter/memory/access.h"
#include "interpreter/vm/run.h"
#include <algorithm>
#include <cstring>

namespace tandem::interpreter::check {
namespace {

using Values = std::vector<uint64_t>;  // one, or a tile's

class Trial {
 public:
  Trial(Machine& m, const Run& run, PollLoop loop, uint32_t lane) : m_(m), run_(run), loop_(loop), lane_(lane) {}

  std::optional<bool> endsWith(Address address, uint64_t value) {
    std::optional<bool> stays = finds(address, value);
    if (!stays.value_or(false)) return stays;
    uint32_t pc = run_.pc + 1;
    for (int steps = 0; steps < kSteps && isKnown_; ++steps) {
      if (pc < loop_.first || pc > loop_.last) return true;
      const Prepared& i = run_.prepared->code[pc];
      bool strong = (i.op == Op::Ld && !i.as<imm::Ld>().weak) || (i.op == Op::Load && i.as<imm::Load>().isVolatile) ||
                    i.op == Op::AtomicRmw || i.op == Op::AtomicCas;
      if (strong && stayed_) return false;  // the next look
      pc = step(i, pc);
    }
    return std::nullopt;
  }

  std::optional<Values> decides(const Decision& decision, Address address, uint64_t value) {
    if (!finds(address, value).value_or(false)) return std::nullopt;
    for (uint32_t pc : decision.steps) step(run_.prepared->code[pc], pc);
    Values result;
    for (Register r : decision.conditions) {
      Values values = of(r);
      result.insert(result.end(), values.begin(), values.end());
    }
    return isKnown_ ? std::optional(std::move(result)) : std::nullopt;
  }

 private:
  static constexpr int kSteps = 2000;
  Machine& m_;
  const Run& run_;
  PollLoop loop_;
  uint32_t lane_;
  std::unordered_map<Register, Values> known_;  // the values that the trial has computed
  bool isKnown_ = true;                         // all that it needed
  bool stayed_ = false;                         // the loop's test has said that it goes on

  // Gives the current look its value. Returns false if it would change the word, nothing if that is not known.
  std::optional<bool> finds(Address address, uint64_t value) {
    const Prepared& look = run_.prepared->code[run_.pc];
    bool isAtomic = look.op == Op::AtomicRmw || look.op == Op::AtomicCas;
    Values pointers = of(look.a), operands = isAtomic ? of(look.b) : Values{0};
    size_t word = size_t(std::find(pointers.begin(), pointers.end(), address) - pointers.begin());
    if (!isKnown_ || word == pointers.size()) return std::nullopt;
    if (changes(look, operands[word % operands.size()], word, value)) return false;
    Values found = pointers.size() == 1 ? Values{0} : read(look);
    found[word] = value;
    known_[look.r] = std::move(found);
    return true;
  }
  Values unknown() {
    isKnown_ = false;
    return {0};
  }
  size_t countOf(Register r) const { return run_.info(r).extent == Extent::Tile ? run_.count(r) : 1; }

  Values of(Register r) {
    if (auto known = known_.find(r); known != known_.end()) return known->second;
    const RegisterInfo& info = run_.info(r);
    const Slot& slot = run_.slots[r];
    bool isLane = info.extent == Extent::Lanes;
    if (info.vectorLength != 1 || info.extent == Extent::Smem || (isLane && lane_ >= run_.lanes)) return unknown();
    Values values(countOf(r));
    const uint8_t* from = info.isInline ? reinterpret_cast<const uint8_t*>(&slot.bits)
                          : slot.buffer ? slot.buffer->data() + (isLane ? size_t(lane_) * info.elemBytes : 0)
                                        : nullptr;
    for (size_t k = 0; from && k < values.size(); ++k) memcpy(&values[k], from + k * info.elemBytes, info.elemBytes);
    return values;
  }
  int64_t asInteger(uint64_t value, Register r) const {
    unsigned unused = 64 - 8 * run_.info(r).elemBytes;
    return int64_t(value << unused) >> unused;
  }

  // Returns true if an atomic changes the value there.
  bool changes(const Prepared& i, uint64_t operand, size_t word, uint64_t value) {
    if (i.op == Op::AtomicCas) {
      Values values = of(i.c);
      return operand == value && values[word % values.size()] != value;
    }
    if (i.op != Op::AtomicRmw) return false;
    uint64_t after = value, before = 0;
    return !applyRmw(RmwOp(i.sub), run_.info(i.b).elem, &after, &operand, &before) || after != value;
  }

  // Returns the values that an access finds now.
  Values read(const Prepared& i) {
    Register maskRegister = i.op == Op::Load ? i.b : i.op == Op::AtomicRmw ? i.c : kNone;
    Values pointers = of(i.a), mask = maskRegister == kNone ? Values{1} : of(maskRegister),
           others = i.op == Op::Load && i.c != kNone ? of(i.c) : Values{0}, found(countOf(i.r));
    unsigned bytes = run_.info(i.r).elemBytes;
    if (run_.info(i.r).vectorLength != 1) return unknown();
    for (size_t k = 0; k < found.size(); ++k) {
      found[k] = others[k % others.size()];
      if (!mask[k % mask.size()]) continue;
      Address address = pointers[k % pointers.size()];
      const Allocation* a = m_.arena.find(address);
      if (!a || a->freed || address + bytes > a->end) return unknown();
      found[k] = wordAt(m_, address, bytes);
    }
    return found;
  }

  // Reduces a tile to one value, by a sum, a maximum or another operator.
  Values reduced(const Prepared& i) {
    const Region& region = run_.prepared->program->regions[size_t(i.as<imm::Reduce>().region)];
    BinaryKernel kernel = region.binary == kNoBinary ? nullptr : binaryKernel(BinaryOp(region.binary), i.elem);
    if (!kernel || i.operandCount != 1 || countOf(i.r) != 1) return unknown();
    Values source = of(i.a);
    for (size_t k = 1; k < source.size(); ++k) kernel(&source[0], &source[k], &source[0], 1);
    return {source[0]};
  }

  uint64_t element(const Prepared& i, uint64_t a, uint64_t b, uint64_t c) {
    uint64_t out = 0;
    switch (i.op) {
      case Op::Unary:
      case Op::Convert: i.kernel.unary(&a, &out, 1); break;
      case Op::Binary:
      case Op::Compare: i.kernel.binary(&a, &b, &out, 1); break;
      case Op::Select:
      case Op::Fma:
      case Op::Clamp: i.kernel.ternary(&a, &b, &c, &out, 1); break;
      case Op::AddPtr: return a + uint64_t(asInteger(b, i.b)) * uint64_t(i.as<imm::AddPtr>().bytes);
      case Op::SymmAt: return m_.arena.rankOf(a) >= 0 ? m_.arena.at(a, int(asInteger(b, i.b))) : a;
      default: return a;  // copies
    }
    return out;
  }

  Values computed(const Prepared& i) {
    Values result(countOf(i.r));
    if (i.op == Op::Reduce) return reduced(i);
    if (i.op == Op::Special) return unknown();
    if (i.op == Op::Constant) {
      if (i.immediateCount > 1 && i.as<imm::Constant>().isOffset) return unknown();
      return Values(result.size(), uint64_t(i.as<imm::Constant>().bits));
    }
    if (i.op == Op::MakeRange) {
      for (size_t k = 0; k < result.size(); ++k) result[k] = uint32_t(i.as<imm::MakeRange>().start + int64_t(k));
      return result;
    }
    Values operands[3] = {{0}, {0}, {0}};
    for (uint32_t k = 0; k < std::min(i.operandCount, 3u); ++k) operands[k] = of(i.operands[k]);
    auto at = [&](size_t operand, size_t k) { return operands[operand][k % operands[operand].size()]; };
    for (size_t k = 0; k < result.size(); ++k) result[k] = element(i, at(0, k), at(1, k), at(2, k));
    return result;
  }

  // Executes one instruction; returns the next one's place.
  uint32_t step(const Prepared& i, uint32_t pc) {
    auto target = [&] { return uint32_t(i.as<imm::Jump>().target); };
    switch (i.op) {
      case Op::Load:
      case Op::Ld:
      case Op::AtomicRmw:
      case Op::AtomicCas: known_[i.r] = read(i); return pc + 1;
      case Op::LoopBegin:
      case Op::LoopEnd:
      case Op::IfEnd:
      case Op::ThreadFence: return pc + 1;
      case Op::Jump:
      case Op::LoopBack:
      case Op::IfElse: return target();
      case Op::IfBegin: return of(i.a)[0] ? pc + 1 : target() + 1;
      case Op::ForTest: return asInteger(of(i.a)[0], i.a) >= asInteger(of(i.b)[0], i.b) ? target() : pc + 1;
      case Op::Branch:
      case Op::LoopTest:
        if (!of(i.a)[0]) return target();
        stayed_ = stayed_ || target() > loop_.last;
        return pc + 1;
      default: known_[i.r] = computed(i); return pc + 1;
    }
  }
};

}  // namespace

std::optional<bool> endsPoll(Machine& m, const Run& run, const PollLoop& loop, uint32_t lane, uint64_t address,
                             uint64_t value) {
  return Trial(m, run, loop, lane).endsWith(address, value);
}

std::optional<std::vector<uint64_t>> decided(Machine& m, const Run& run, const Decision& decision, uint32_t lane,
                                             uint64_t address, uint64_t value) {
  return Trial(m, run, {}, lane).decides(decision, address, value);
}

}  // namespace tandem::interpreter::check
