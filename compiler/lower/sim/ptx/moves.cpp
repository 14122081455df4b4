// mov with its packing and unpacking, and cvta: an address is the same in its state space, where shared memory has the
// low 32 bits.
#include "compiler/lower/sim/ptx/assembler.h"

namespace tandem::lower {
using namespace interpreter;
using Kind = ptx::Operand::Kind;
namespace {

PtxType partOf(Assembler& a, PtxType whole, size_t count) {
  if (whole.bits % count || whole.bits / count < 8)
    a.fail("`.b" + std::to_string(whole.bits) + "` has no " + std::to_string(count) + " parts");
  unsigned bits = static_cast<unsigned>(whole.bits / count);
  return {'b', bits == 8 ? Elem::I8 : bits == 16 ? Elem::I16 : Elem::I32, bits, 1};
}

void pack(Assembler& a, PtxType t) {
  const auto& parts = a.operand(1).parts;
  PtxType each = partOf(a, t, parts.size());
  llvm::SmallVector<Register> values;
  for (const ptx::Operand& part : parts) values.push_back(a.bits(part, each));
  a.write(0, a.packed(values), t);
}

// All parts are read before the first is written: a register may stand on both sides.
void unpack(Assembler& a, PtxType t) {
  const auto& parts = a.operand(0).parts;
  PtxType each = partOf(a, t, parts.size());
  Register whole = a.bits(1, t);
  llvm::SmallVector<Register> values;
  for (size_t i = 0; i < parts.size(); ++i) values.push_back(a.part(whole, static_cast<unsigned>(i), each.bits));
  for (auto [part, value] : llvm::zip(parts, values)) a.write(part, value, each);
}

void move(Assembler& a) {
  PtxType t = a.takeType();
  a.expectOperands(2, 2);
  if (a.operand(1).kind == Kind::Vector) return pack(a, t);
  if (a.operand(0).kind == Kind::Vector) return unpack(a, t);
  a.write(0, a.bits(1, t), t);
}

void convertAddress(Assembler& a) {
  PtxType t = a.takeType();
  a.expectOperands(2, 2);
  Register from = a.bits(1, t);
  bool isShared = !a.takeOneOf({"shared", "shared::cta"}).empty();
  if (!isShared && a.takeOneOf({"global", "const", "local", "param"}).empty()) a.fail("it needs a state space");
  bool toSpace = a.take("to") && !a.take("generic");
  if (isShared && !toSpace) from = a.emit({Op::SmemAt, 0, Elem::I32}, {a.resize(from, Elem::I32, false)}, Elem::I64);
  a.write(0, from, t);
}

}  // namespace

void addMoves(PtxTable& table) {
  table["mov"] = {move};
  table["cvta"] = {convertAddress};
}

}  // namespace tandem::lower
