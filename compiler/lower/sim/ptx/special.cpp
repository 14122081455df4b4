// Special registers: who runs, where, and when.
#include "compiler/lower/sim/ptx/assembler.h"
#include <llvm/ADT/StringSet.h>

namespace tandem::lower {
using namespace interpreter;
namespace {

// -1 for another part.
int axisOf(llvm::StringRef part) { return part == "x" ? 0 : part == "y" ? 1 : part == "z" ? 2 : -1; }

bool isOfThread(llvm::StringRef name) {
  return name.starts_with("%tid") || name == "%laneid" || name == "%warpid" || name.starts_with("%lanemask_");
}

Register threadIndex(Assembler& a) { return a.emit({Op::Tid, 0, Elem::I32}, {}, Elem::I32, imm::Tid{.axis = 0}); }
Register laneIndex(Assembler& a) { return a.binaryWith(BinaryOp::And, threadIndex(a), 31); }

Register ofAxis(Assembler& a, llvm::StringRef base, int axis) {
  if (base == "%tid") return a.emit({Op::Tid, 0, Elem::I32}, {}, Elem::I32, imm::Tid{.axis = axis});
  if (base == "%ntid") return a.emit({Op::Ntid, 0, Elem::I32}, {}, Elem::I32, imm::Ntid{.axis = axis});
  if (base == "%ctaid") return a.emit({Op::ProgramId, 0, Elem::I32}, {}, Elem::I32, imm::ProgramId{.axis = axis});
  if (base == "%nctaid") return a.emit({Op::NumPrograms, 0, Elem::I32}, {}, Elem::I32, imm::NumPrograms{.axis = axis});
  return kNone;
}

// The lanes before this one, in a mask; with it, after it.
Register laneMask(Assembler& a, llvm::StringRef which) {
  Register own = a.binary(BinaryOp::Shl, a.constant(Elem::I32, 1), laneIndex(a));
  Register below = a.binaryWith(BinaryOp::SubI, own, 1);
  auto flipped = [&](Register mask) { return a.binaryWith(BinaryOp::Xor, mask, 0xffffffffu); };
  if (which == "eq") return own;
  if (which == "lt") return below;
  if (which == "le") return a.binary(BinaryOp::Or, own, below);
  if (which == "ge") return flipped(below);
  if (which == "gt") return flipped(a.binary(BinaryOp::Or, own, below));
  return kNone;
}

// A 64-bit register of the machine, or one half of it.
Register half(Assembler& a, Register whole, bool high) { return a.part(whole, high, 32); }

Register number(Assembler& a, SpecialRegister which) {
  return a.emit({Op::Special, 0, Elem::I64}, {}, Elem::I64, imm::Special{.which = static_cast<int64_t>(which)});
}

Register named32(Assembler& a, llvm::StringRef name) {
  if (name == "%laneid") return laneIndex(a);
  if (name == "%warpid") return a.binaryWith(BinaryOp::ShrU, threadIndex(a), 5);
  if (name == "%nwarpid") return a.binaryWith(BinaryOp::ShrU, ofAxis(a, "%ntid", 0), 5);
  if (name == "WARP_SZ") return a.constant(Elem::I32, 32);
  if (name == "%smid") return half(a, number(a, SpecialRegister::Sm), false);
  if (name == "%nsmid") return half(a, number(a, SpecialRegister::SmCount), false);
  if (name == "%clock") return half(a, number(a, SpecialRegister::Clock), false);
  if (name == "%clock_hi") return half(a, number(a, SpecialRegister::Clock), true);
  if (name == "%globaltimer_lo") return half(a, number(a, SpecialRegister::GlobalTimer), false);
  if (name == "%globaltimer_hi") return half(a, number(a, SpecialRegister::GlobalTimer), true);
  // CUDA puts the address of a cooperative launch's workspace here.
  if (name == "%envreg1") return half(a, number(a, SpecialRegister::GridWorkspace), true);
  if (name == "%envreg2") return half(a, number(a, SpecialRegister::GridWorkspace), false);
  // A program is a cluster of its own.
  if (name == "%cluster_ctarank") return a.constant(Elem::I32, 0);
  if (name == "%cluster_nctarank") return a.constant(Elem::I32, 1);
  if (name.consume_front("%lanemask_")) return laneMask(a, name);
  auto [base, part] = name.split('.');
  int axis = axisOf(part);
  if (axis < 0) return kNone;
  if (base == "%cluster_ctaid") return a.constant(Elem::I32, 0);
  if (base == "%cluster_nctaid") return a.constant(Elem::I32, 1);
  return ofAxis(a, base, axis);
}

Register named64(Assembler& a, llvm::StringRef name) {
  if (name == "%clock64") return number(a, SpecialRegister::Clock);
  if (name == "%globaltimer") return number(a, SpecialRegister::GlobalTimer);
  if (name == "%gridid") return number(a, SpecialRegister::Grid);
  return kNone;
}

bool differs(const ptx::Operand& operand) {
  if (operand.kind == ptx::Operand::Kind::Special && isOfThread(operand.name)) return true;
  for (const ptx::Operand& part : operand.parts)
    if (differs(part)) return true;
  return false;
}

}  // namespace

Register Assembler::special(llvm::StringRef name, unsigned* bits) {
  if (onTile() && isOfThread(name)) fail("a tile's elements have no `" + name.str() + "`");
  *bits = 64;
  if (Register wide = named64(*this, name); wide != kNone) return wide;
  *bits = 32;
  if (Register value = named32(*this, name); value != kNone) return value;
  fail("it has no register `" + name.str() + "`");
}

bool differsByThread(const ptx::Body& body) {
  static const llvm::StringSet<> perThread = {"bra", "atom", "shfl", "vote", "match", "elect", "activemask", "redux"};
  for (const ptx::Instruction& in : body.code) {
    if (perThread.contains(in.opcode)) return true;
    for (const ptx::Operand& operand : in.operands)
      if (differs(operand)) return true;
  }
  return false;
}

}  // namespace tandem::lower
