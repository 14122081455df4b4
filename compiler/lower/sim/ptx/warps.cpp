// Threads of a warp that look at each other: shfl, vote, activemask, elect.
#include "compiler/lower/sim/ptx/assembler.h"

namespace tandem::lower {
using namespace interpreter;
namespace {

constexpr PtxType kWord{'b', Elem::I32, 32, 1}, kPredicate{'p', Elem::I1, 1, 1};

void expectSync(Assembler& a) {
  if (!a.take("sync")) a.fail("it needs `.sync`");
  if (a.onTile()) a.fail("a tile's elements are no threads of a warp");
}

// The lane to read, and whether it is in range, by the segments that the last operand but one describes: bits 0 to 4
// clamp, bits 8 to 12 say which bits of the lane number a segment's lanes share.
struct Source {
  Register lane, inRange;
};
Source sourceLane(Assembler& a, llvm::StringRef mode) {
  Register own = a.binaryWith(BinaryOp::And, a.emit({Op::Tid, 0, Elem::I32}, {}, Elem::I32, imm::Tid{.axis = 0}), 31);
  Register by = a.binaryWith(BinaryOp::And, a.value(2, kWord), 31), shape = a.value(3, kWord);
  Register shared = a.binaryWith(BinaryOp::And, a.binaryWith(BinaryOp::ShrU, shape, 8), 31);
  Register clamp = a.binaryWith(BinaryOp::And, shape, 31), open = a.binaryWith(BinaryOp::Xor, shared, 31);
  Register least = a.binary(BinaryOp::And, own, shared);
  Register most = a.binary(BinaryOp::Or, least, a.binary(BinaryOp::And, clamp, open));
  Register lane = mode == "up"     ? a.binary(BinaryOp::SubI, own, by)
                  : mode == "down" ? a.binary(BinaryOp::AddI, own, by)
                  : mode == "bfly" ? a.binary(BinaryOp::Xor, own, by)
                                   : a.binary(BinaryOp::Or, least, a.binary(BinaryOp::And, by, open));
  Register inRange = a.compare(mode == "up" ? CompareOp::SGe : CompareOp::SLe, lane, most);
  return {a.select(inRange, lane, own), inRange};
}

void shuffle(Assembler& a) {
  expectSync(a);
  llvm::StringRef mode = a.takeOneOf({"up", "down", "bfly", "idx"});
  if (mode.empty()) a.fail("it needs `.up`, `.down`, `.bfly` or `.idx`");
  PtxType t = a.takeType();
  if (t.bits != 32) a.fail("it moves 32 bits");
  a.expectOperands(5, 5);
  Source source = sourceLane(a, mode);
  Register got = a.emit({Op::Shuffle, 0, Elem::I32}, {a.value(4, kWord), a.bits(1, t), source.lane}, Elem::I32,
                        imm::Shuffle{.mode = 0});
  const ptx::Operand& to = a.operand(0);
  if (to.kind != ptx::Operand::Kind::Pair) return a.write(0, got, t);
  a.write(to.parts[0], got, t);
  a.write(to.parts[1], source.inRange, kPredicate);
}

void vote(Assembler& a) {
  expectSync(a);
  llvm::StringRef how = a.takeOneOf({"all", "any", "uni", "ballot"});
  if (how.empty()) a.fail("it needs `.all`, `.any`, `.uni` or `.ballot`");
  a.takeType();
  a.expectOperands(3, 3);
  Register mask = a.value(2, kWord);
  Register votes = a.emit({Op::Ballot, 0, Elem::I32}, {mask, a.bits(1, kPredicate)}, Elem::I32);
  if (how == "ballot") return a.write(0, votes, kWord);
  Register all = a.compare(CompareOp::Eq, votes, mask), none = a.compareWith(CompareOp::Eq, votes, 0);
  Register result = how == "all"   ? all
                    : how == "any" ? a.binaryWith(BinaryOp::Xor, none, 1)
                                   : a.binary(BinaryOp::Or, all, none);
  a.write(0, result, kPredicate);
}

// The lanes that run this together, which others of the warp need not.
void activeMask(Assembler& a) {
  if (a.onTile()) a.fail("a tile's elements are no threads of a warp");
  a.takeType();
  a.expectOperands(1, 1);
  a.write(0, a.emit({Op::Ballot, 0, Elem::I32}, {kNone, a.constant(Elem::I1, 1)}, Elem::I32), kWord);
}

void elect(Assembler& a) {
  expectSync(a);
  a.expectOperands(2, 2);
  if (static_cast<uint32_t>(a.immediate(1)) != 0xffffffffu)
    a.fail("the simulator elects among all 32 threads of a warp only");
  const ptx::Operand& to = a.operand(0);
  if (to.kind != ptx::Operand::Kind::Pair) a.fail("its result is a lane and a predicate");
  a.write(to.parts[0], a.constant(Elem::I32, 0), kWord);
  a.write(to.parts[1], a.emit({Op::Elect, 0, Elem::I1}, {}, Elem::I1), kPredicate);
}

}  // namespace

void addWarps(PtxTable& table) {
  table["shfl"] = {shuffle, PtxRow::Effect::Threads};
  table["vote"] = {vote, PtxRow::Effect::Threads};
  table["activemask"] = {activeMask, PtxRow::Effect::Threads};
  table["elect"] = {elect, PtxRow::Effect::Threads};
}

}  // namespace tandem::lower
