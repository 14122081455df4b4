// Several families of instructions share these functions.
#pragma once
#include "compiler/lower/sim/ptx/assembler.h"

namespace tandem::lower {

// floats.cpp: instructions that integers have too.
void floatAdd(Assembler& a, PtxType t);
void floatSub(Assembler& a, PtxType t);
void floatMul(Assembler& a, PtxType t);
void floatFma(Assembler& a, PtxType t);
void floatDiv(Assembler& a, PtxType t);
void floatMin(Assembler& a, PtxType t);
void floatMax(Assembler& a, PtxType t);
void floatAbs(Assembler& a, PtxType t);
void floatNeg(Assembler& a, PtxType t);
[[noreturn]] void noFloat(Assembler& a, PtxType t);

// Replaces numbers below the least normal one by zero of the same sign.
interpreter::Register flushed(Assembler& a, interpreter::Register r);
// Held in [0, 1], NaN as 0; not below 0, NaN as it is.
interpreter::Register saturatedToOne(Assembler& a, interpreter::Register r);
interpreter::Register notNegative(Assembler& a, interpreter::Register r);

// memory.cpp: how a memory access synchronises, and where.
struct PtxAccess {
  interpreter::Semantic semantic = interpreter::Semantic::Relaxed;
  interpreter::Scope scope = interpreter::Scope::Gpu;
  bool isWeak = false, isShared = false;
};
enum class PtxAccessKind : uint8_t { Plain, Atomic };
PtxAccess takeAccess(Assembler& a, PtxAccessKind kind);
// The address of the operand [base + offset] with `bytes` added, one for each value.
interpreter::Register address(Assembler& a, size_t i, const PtxAccess& access, int64_t bytes = 0);
std::optional<interpreter::Scope> takeScope(Assembler& a);
// bulk.cpp: the instructions that begin with `cp.async`, and with `cp.async.bulk`.
void copyOfThread(Assembler& a);
void copyBulk(Assembler& a);

}  // namespace tandem::lower
