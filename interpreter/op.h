// The interpreter's instruction set (op.def) and the variants of its instructions.
#pragma once
#include "tandem/compare.h"
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tandem::interpreter {

constexpr uint32_t kNone = 0x7fffffff;

enum class Op : uint8_t {
#define TANDEM_OP(name, ...) name,
#include "interpreter/op.def"
};

// The numbers that an instruction has besides its operands, by name, as they lie in the immediate pool:
// imm::Wait{.scope = ..., ...} makes a row of integers of it, and `as<imm::Wait>()` reads them.
namespace imm {
#define TANDEM_OP(name, word, handler, ...)                                        \
  __VA_OPT__(struct name {                                                         \
    int64_t __VA_ARGS__;                                                           \
    const int64_t* data() const { return reinterpret_cast<const int64_t*>(this); } \
    static constexpr size_t size() { return sizeof(name) / sizeof(int64_t); }      \
  };)
#include "interpreter/op.def"
}  // namespace imm

struct OpRow {
  std::string_view word, immediates;  // "wait", "scope, semantic, compare"
};
inline constexpr OpRow kOps[] = {
#define TANDEM_OP(name, word, handler, ...) {word, #__VA_ARGS__},
#include "interpreter/op.def"
};
constexpr const OpRow& rowOf(Op op) { return kOps[size_t(op)]; }

// Jumps: imm::Jump has the immediate of each.
constexpr bool hasTarget(Op op) { return rowOf(op).immediates == "target"; }

enum class UnaryOp : uint8_t {
  NegF,
  AbsF,
  AbsI,
  Ceil,
  Floor,
  Trunc,
  Round,
  RoundEven,
  Sqrt,
  Rsqrt,
  Exp,
  Exp2,
  ExpM1,
  Log,
  Log2,
  Log10,
  Log1p,
  Sin,
  Cos,
  Tan,
  Asin,
  // Is*: -> I1
  Acos,
  Atan,
  Sinh,
  Cosh,
  Tanh,
  Asinh,
  Acosh,
  Atanh,
  Erf,
  Erfc,
  Cbrt,
  Ctlz,
  Cttz,
  Ctpop,
  IsNan,
  IsInf,
  IsFinite
};
enum class BinaryOp : uint8_t {
  AddI,
  SubI,
  MulI,
  DivS,
  DivU,
  RemS,
  RemU,
  And,
  Or,
  Xor,
  Shl,
  ShrS,
  ShrU,
  MinS,
  MinU,
  MaxS,
  MaxU,
  MulHiU,
  AddF,
  SubF,
  MulF,
  DivF,
  RemF,
  MinNumF,
  MaxNumF,  // a NaN operand gives the other (arith.minnumf, maxnumf)
  MinimumF,
  MaximumF,  // a NaN operand gives NaN (arith.minimumf, maximumf)
  PowF,
  Atan2,
  CopySign,
  FloorDivS,
  CeilDivS,
  CeilDivU
};
enum class CompareOp : uint8_t {
  Eq,
  Ne,
  SLt,
  SLe,
  SGt,
  SGe,
  ULt,
  ULe,
  UGt,
  UGe,  // integers
  OEq,
  ONe,
  OLt,
  OLe,
  OGt,
  OGe,
  UEq,
  UNe,
  ULtF,
  ULeF,
  UGtF,
  UGeF,
  Ord,
  Uno  // floats, ordered then unordered
};
enum class ConvertOp : uint8_t { Bitcast, TruncI, ExtS, ExtU, SToF, UToF, FToS, FToU, FToF, FToFRtz };
enum class RmwOp : uint8_t { Add, FAdd, And, Or, Xor, Xchg, Max, Min, UMax, UMin };
enum class Semantic : uint8_t { Relaxed, Acquire, Release, AcqRel, SeqCst };
enum class Scope : uint8_t { Cta, Gpu, Sys };
// The slot of a program, the time, how many slots a rank has, the launch's number, and the address of a cooperative
// launch's workspace (0 in another launch).
enum class SpecialRegister : uint8_t { Sm, GlobalTimer, Clock, SmCount, Grid, GridWorkspace };
enum class Group : uint8_t { Thread, Warp, Block };
enum class SignalKind : uint8_t { Set, Add };
enum class MicroScale : uint8_t { E2M1, E4M3, E5M2, Bf16, Fp16 };
enum class MapField : uint8_t {
  GlobalAddress,
  Rank,
  BoxDim,
  GlobalDim,
  GlobalStride,
  ElementStride,
  ElemType,
  Interleave,
  Swizzle,
  Fill
};

}  // namespace tandem::interpreter
