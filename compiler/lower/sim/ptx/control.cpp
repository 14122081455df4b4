// Guards and branches. A branch back to a label is a loop, one ahead an `if`; each thread goes its own way.
#include "compiler/lower/sim/ptx/assembler.h"

namespace tandem::lower {
using namespace interpreter;
namespace {

constexpr int kMaxDepth = 64;  // of branches in each other

}  // namespace

bool branches(const ptx::Body& body) {
  return llvm::any_of(body.code, [](const ptx::Instruction& in) { return in.opcode == "bra"; });
}

void Assembler::guarded(Register condition, llvm::function_ref<void()> then, llvm::function_ref<void()> otherwise) {
  if (!build_.isLanes(condition)) {
    uint32_t branch = build_.emitJump(Op::Branch, {condition});
    then();
    return build_.bindHere(branch);
  }
  uint32_t begin = build_.emitJump(Op::IfBegin, {condition});
  ++maskDepth_;
  then();
  build_.bindHere(begin);
  uint32_t second = build_.emitJump(Op::IfElse);
  if (otherwise) otherwise();
  build_.bindHere(second);
  --maskDepth_;
  build_.emit({Op::IfEnd}, {}, {});
}

// The last branch in [begin, end) back to `begin`.
std::optional<uint32_t> Assembler::loopEndOf(uint32_t begin, uint32_t end) {
  for (uint32_t at = end; at-- > begin;)
    if (isBranch(at) && target(at) == begin) return at;
  return std::nullopt;
}

void Assembler::lowerRange(uint32_t begin, uint32_t end, Loop* loop, int depth) {
  llvm::SmallVector<bool> starts(end - begin, false);  // where a label stands
  for (const ptx::Label& label : body_.labels)
    if (label.position >= begin && label.position < end) starts[label.position - begin] = true;
  bool isLoopBody = loop != nullptr;
  for (uint32_t at = begin; at < end;) {
    std::optional<uint32_t> last;
    if (starts[at - begin] && !(isLoopBody && at == begin)) last = loopEndOf(at, end);
    in_ = &body_.code[at];
    if (last && depth >= kMaxDepth) fail("branches nest too deep");
    if (last) {
      lowerLoop(at, *last, depth);
      at = *last + 1;
    } else if (isBranch(at)) {
      at = lowerBranch(at, end, loop, depth);
    } else {
      lowerInstruction(at++);
    }
  }
}

llvm::SmallVector<Register> Assembler::writtenIn(uint32_t begin, uint32_t end) {
  std::vector<bool> named(values_.size(), false);
  auto visit = [&](auto& self, const ptx::Operand& operand) -> void {
    if (operand.kind == ptx::Operand::Kind::Variable) named[operand.variable] = true;
    for (const ptx::Operand& part : operand.parts)
      if (operand.kind != ptx::Operand::Kind::Address) self(self, part);
  };
  for (uint32_t at = begin; at < end; ++at)
    if (!isBranch(at) && !body_.code[at].operands.empty()) visit(visit, body_.code[at].operands[0]);
  llvm::SmallVector<Register> written;
  for (uint32_t v = 0; v < values_.size(); ++v)
    if (named[v]) written.push_back(values_[v]);
  return written;
}

// The branch back is at `last`; the threads for which it is not taken have done.
void Assembler::lowerLoop(uint32_t begin, uint32_t last, int depth) {
  build_.emit({Op::LoopBegin}, {}, {});
  ++maskDepth_;
  Loop loop{last + 1, {}};
  uint32_t top = build_.pc();
  lowerRange(begin, last, &loop, depth + 1);
  in_ = &body_.code[last];
  Register goesOn = guardOf(*in_);
  if (goesOn != kNone) testLoop(loop, goesOn);
  build_.setTarget(build_.emitJump(Op::LoopBack, writtenIn(begin, last)), top);
  for (uint32_t test : loop.tests) build_.bindHere(test);
  --maskDepth_;
  build_.emit({Op::LoopEnd}, {}, {});
}

void Assembler::testLoop(Loop& loop, Register goesOn) { loop.tests.push_back(build_.emitJump(Op::LoopTest, {goesOn})); }

// Returns the instruction to go on with.
uint32_t Assembler::lowerBranch(uint32_t at, uint32_t end, Loop* loop, int depth) {
  uint32_t to = target(at);
  Register taken = in_->isGuarded ? guardOf(*in_) : constant(Elem::I1, 1);
  Register goesOn = binaryWith(BinaryOp::Xor, taken, 1);
  if (loop && to == loop->exit) return testLoop(*loop, goesOn), at + 1;
  if (to <= at || to > end) fail("the simulator follows branches that form loops and conditions only");
  if (depth >= kMaxDepth) fail("branches nest too deep");
  // `@p bra ELSE; ...; bra END; ELSE: ...; END:`
  uint32_t join = to;
  bool hasElse = in_->isGuarded && to - at > 1 && isBranch(to - 1) && !body_.code[to - 1].isGuarded &&
                 target(to - 1) > to && target(to - 1) <= end;
  if (hasElse) join = target(to - 1);
  auto then = [&] { lowerRange(at + 1, hasElse ? to - 1 : to, nullptr, depth + 1); };
  auto otherwise = [&] {
    if (hasElse) lowerRange(to, join, nullptr, depth + 1);
  };
  guarded(goesOn, then, otherwise);
  return join;
}

}  // namespace tandem::lower
