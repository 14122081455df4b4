// Walks a pointer's register back to the arguments, through whatever moves pointers or adds to them.
#include "interpreter/vm/pointer_origin.h"
#include "interpreter/schedule/stream.h"
#include "interpreter/vm/registers.h"
#include <algorithm>
#include <optional>

namespace tandem::interpreter {
namespace {

// The operands of `i` whose pointer its result is made from.
std::span<const uint32_t> pointersOf(const Program& program, const Instruction& i) {
  auto operands = program.operands(i);
  switch (i.op) {
    case Op::AddPtr:
    case Op::SymmAt:
    case Op::MulticastAt:
    case Op::ConsumeToken:
    case Op::Splat:
    case Op::Broadcast:
    case Op::Reshape:
    case Op::Permute:
    case Op::Split:
    case Op::Gather:
    case Op::Deal: return operands.first(1);
    case Op::Copy:
    case Op::MaskedCopy:
    case Op::Join:
    case Op::Cat:
    case Op::Convert: return operands;
    case Op::Select: return operands.subspan(1);
    case Op::Binary:
      return BinaryOp(i.sub) == BinaryOp::AddI || BinaryOp(i.sub) == BinaryOp::SubI ? operands : operands.first(0);
    default: return operands.first(0);
  }
}

// The index of the only pointer argument that `from` may be made from.
std::optional<size_t> argumentOf(const Program& program, Register from) {
  std::vector<bool> seen(program.registers.size());
  std::vector<Register> left{from};
  std::optional<size_t> found;
  while (!left.empty()) {
    Register r = left.back() & ~kLastUse;
    left.pop_back();
    if (r >= seen.size() || seen[r]) continue;
    seen[r] = true;
    for (size_t k = 0; k < program.arguments.size(); ++k) {
      if (program.arguments[k].reg != r || !program.arguments[k].isPointer) continue;
      if (found) return std::nullopt;
      found = k;
    }
    for (const Instruction& i : program.code) {
      auto results = program.results(i);
      if (std::find(results.begin(), results.end(), r) == results.end()) continue;
      auto pointers = pointersOf(program, i);
      left.insert(left.end(), pointers.begin(), pointers.end());
    }
  }
  return found;
}

// The shape and the strides that a block access was told its tensor has.
std::string tensorOfBlock(const Accessor& who, const Prepared& i) {
  if (i.op != Op::BlockLoad && i.op != Op::BlockStore) return "";
  size_t shape = i.op == Op::BlockLoad ? 1 : 2, rank = size_t(i.as<imm::BlockLoad>().rank);
  auto listed = [&](size_t first) {
    std::string text;
    for (size_t d = 0; d < rank; ++d)
      text += (d ? ", " : "") + std::to_string(integer(who.m, *who.run, i.operands[first + d]));
    return "[" + text + "]";
  };
  return "; its block is of a tensor of shape " + listed(shape) + " and strides " + listed(shape + rank);
}

}  // namespace

std::string pointerOrigin(const Accessor& who, bool write) {
  if (!who.run) return "";
  const Prepared& i = who.run->prepared->code[who.run->pc];
  std::string tensor = tensorOfBlock(who, i);
  bool isTransfer = i.op == Op::Put || i.op == Op::PutSignal || i.op == Op::Get;
  const Program& program = *who.run->prepared->program;
  std::optional<size_t> argument = argumentOf(program, isTransfer && !write ? i.b : i.a);
  if (!argument) return tensor;
  std::string text = "; the pointer comes from argument `" + program.arguments[*argument].name + "`";
  const Allocation* a = who.m.arena.find(who.run->grid->launch.arguments[*argument].bits);
  if (a) text += ", which is `" + a->name + "` of rank " + std::to_string(a->rank);
  return text + tensor;
}

}  // namespace tandem::interpreter
