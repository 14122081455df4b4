// atom and red through the simulator's own atomics. Each element of a vector or pair is an update of its own, as in
// PTX.
#include "compiler/lower/sim/ptx/assembler.h"
#include "compiler/lower/sim/ptx/families.h"

namespace tandem::lower {
using namespace interpreter;
namespace {

RmwOp takeUpdate(Assembler& a, PtxType t) {
  bool isSigned = t.kind == 's', isFloat = t.isFloat();
  if (a.take("add")) {
    if (t.kind == 'b') a.fail("`.add` needs a type of numbers");
    a.take("noftz");
    return isFloat ? RmwOp::FAdd : RmwOp::Add;
  }
  if (a.take("min")) return isSigned || isFloat ? RmwOp::Min : RmwOp::UMin;
  if (a.take("max")) return isSigned || isFloat ? RmwOp::Max : RmwOp::UMax;
  if (isFloat) a.fail("the simulator has no such update of floats");
  if (a.take("and")) return RmwOp::And;
  if (a.take("or")) return RmwOp::Or;
  if (a.take("xor")) return RmwOp::Xor;
  if (a.take("exch")) return RmwOp::Xchg;
  a.fail("the simulator has no such update");
}

template <class Immediates> Immediates immediatesOf(Assembler& a, const PtxAccess& access) {
  return {.semantic = static_cast<int64_t>(access.semantic),
          .scope = static_cast<int64_t>(access.scope),
          .perThread = !a.onTile()};
}

void compareAndSwap(Assembler& a, const PtxAccess& access, PtxType t) {
  a.expectOperands(4, 4);
  if (a.mask() != kNone) a.fail("the simulator has no guarded `.cas` of a tile");
  Register at = address(a, 1, access), expected = a.bits(2, t), desired = a.bits(3, t);
  a.write(0,
          a.emit({Op::AtomicCas, 0, a.elemOf(expected)}, {at, expected, desired}, a.elemOf(expected),
                 immediatesOf<imm::AtomicCas>(a, access)),
          t);
}

// Updates the words of operand `i` + 1 at operand `i`; returns the old values, word by word.
llvm::SmallVector<Register> update(Assembler& a, size_t i, const PtxAccess& access, RmwOp op, PtxType t,
                                   llvm::ArrayRef<ptx::Operand> words) {
  llvm::SmallVector<Register> before;
  unsigned bytes = t.bits / 8 / t.parts;
  for (size_t k = 0; k < words.size(); ++k) {
    unsigned at = static_cast<unsigned>(k) * t.parts;
    before.push_back(a.eachPart(t, {t.parts == 1 ? a.bitcast(a.bits(words[k], t), t.elem) : a.bits(words[k], t)},
                                [&](Assembler::Registers part) {
                                  Register to = address(a, i, access, int64_t(at++) * bytes);
                                  return a.emit({Op::AtomicRmw, static_cast<uint8_t>(op), t.elem},
                                                {to, part[0], a.mask()}, t.elem,
                                                immediatesOf<imm::AtomicRmw>(a, access));
                                }));
  }
  return before;
}

llvm::ArrayRef<ptx::Operand> wordsOf(Assembler& a, size_t i, size_t length) {
  const ptx::Operand& operand = a.operand(i);
  if (length == 1) return operand;
  if (operand.kind != ptx::Operand::Kind::Vector || operand.parts.size() != length)
    a.fail("a vector needs as many registers");
  return operand.parts;
}

template <bool givesOld>
void atomic(Assembler& a) {
  a.take("async");
  a.takePrefixed("L2::");
  PtxAccess access = takeAccess(a, PtxAccessKind::Atomic);
  llvm::StringRef vector = a.takeOneOf({"v2", "v4", "v8"});
  size_t length = vector.empty() ? 1 : static_cast<size_t>(vector[1] - '0');
  PtxType t = a.takeType();
  if (givesOld && a.take("cas")) return compareAndSwap(a, access, t);
  RmwOp op = takeUpdate(a, t);
  a.expectOperands(2 + givesOld, 2 + givesOld);
  auto before = update(a, givesOld, access, op, t, wordsOf(a, 1 + givesOld, length));
  if constexpr (givesOld)
    for (auto [to, value] : llvm::zip(wordsOf(a, 0, length), before)) a.write(to, value, t);
}

}  // namespace

void addAtomics(PtxTable& table) {
  table["atom"] = {atomic<true>, PtxRow::Effect::Memory};
  table["red"] = {atomic<false>, PtxRow::Effect::Memory};
}

}  // namespace tandem::lower
