// The interpreter's instruction set. Each row: operands -> results; `#` immediates (indices into the immediate pool, in order).
// "opt" operands are always present by position: a missing one is the register number kNone.
#pragma once
#include "tandem/compare.h"
#include <cstdint>

namespace tandem::interpreter {

constexpr uint32_t kNone = 0x7fffffff;

enum class Op : uint8_t {
  // --- moves ---
  Constant,     // () -> r    #0: the value's bits (splat over a Tile or Lanes). With #1 = 1: offset into constantBytes of a whole tile
  Copy,         // a -> r     r = a (same type). A value from a block argument, a yield, a loop carry
  MaskedCopy,   // a -> r     active lanes only; r is Lanes, a is Lanes
  Splat,        // scalar -> r (Tile or Lanes)
  // --- elementwise: all operands and results have one shape, Lanes or Tile ---
  Unary,        // a -> r              sub: UnaryOp
  Binary,       // a, b -> r           sub: BinaryOp
  MulExtended,  // a, b -> low, high   sub: 0 unsigned, 1 signed
  Compare,      // a, b -> r (I1)      sub: CompareOp
  Select,       // condition (I1, same shape, or Uniform), a, b -> r
  Fma,          // a, b, c -> r
  Clamp,        // x, min, max -> r    sub: 1 propagates NaN
  Convert,      // a -> r              sub: ConvertOp; elem is the source's, the result's is its register's
  Extern,       // a, ... -> r         #0: string index of the device-library symbol ("__nv_erff")
  // --- tiles ---
  ProgramId,    // () -> r    #0 axis
  NumPrograms,  // () -> r    #0 axis
  MakeRange,    // () -> r    #0 start
  Reshape,      // a -> r     same elements in row-major order (expand_dims, reshape)
  Broadcast,    // a -> r     ranks equal, source dimensions 1 or equal
  Permute,      // a -> r     #i: source dimension of result dimension i
  Join,         // a, b -> r  new last dimension 2 (operands Tile, or Uniform -> Tile [2])
  Split,        // a -> r, s  last dimension 2 away (results Tile, or Uniform)
  Cat,          // a, b -> r  along dimension 0
  Gather,       // source, indices -> r   #0 axis; elem is the source's, indices I32 or I64
  Histogram,    // source, mask opt -> r
  AddPtr,       // pointer, offset -> r   #0 bytes an element; elem is the offset's (I32 or I64, signed)
  // --- memory ---
  Load,         // pointer, mask opt, other opt -> r     #0 volatile
  Store,        // pointer, value, mask opt ->           elem is the value's
  BlockLoad,    // base, shape..., strides..., offsets... -> r
                //   #0 rank #1 padding (0 zero, 1 NaN) #2 bit mask of checked dimensions #3 descriptor
  BlockStore,   // base, value, shape..., strides..., offsets... ->  #0 rank #1 bit mask #2 RmwOp or -1 #3 descriptor
  AtomicRmw,    // pointer, value, mask opt -> r   sub: RmwOp  #0 Semantic #1 Scope #2 1 = per thread (simt), 0 = once a program
  AtomicCas,    // pointer, expected, value -> r   #0 Semantic #1 Scope #2 as AtomicRmw
  // --- product, reduction ---
  Dot,          // a, b, acc -> r   #0 Precision; elem is a's; b's and acc's are their registers'
  DotScaled,    // a, aScale opt, b, bScale opt, acc -> r
                //   #0 a format #1 b format (MicroScale) #2 a packed along K #3 b packed along K
  Reduce,       // sources... -> results...   #0 axis #1 region
  Scan,         // sources... -> results...   #0 axis #1 region #2 reverse
  MapElementwise,  // sources... -> results... #0 pack #1 region
  // --- control: uniform ---
  Jump,         // ->               #0 target pc
  Branch,       // condition ->     #0 target pc when false
  ForTest,      // i, end ->        #0 target pc when the loop is over (i >= end, signed) ; elem is i's
  LoopBack,     // carried... ->    #0 target pc. Back edge of a while loop; `carried` are the loop's carried registers,
                //                  by which the scheduler sees a spin: nothing carried and nothing in memory changed
  Return,
  // --- control: per-thread; a stack of lane masks ---
  IfBegin,      // condition (Lanes) ->   #0 pc of IfElse. Pushes the mask, narrows it; jumps there when no lane is left
  IfElse,       // ->                     #0 pc of IfEnd. The pushed mask without the lanes that took the first branch
  IfEnd,        // ->                     pops
  LoopBegin,    // ->                     pushes the mask
  LoopTest,     // condition (Lanes) ->   #0 pc of LoopEnd. Narrows the mask; jumps there when no lane is left
  LoopEnd,      // ->                     pops
  // --- dist; #last of thread, warp, block calls: Group (0 thread, 1 warp, 2 block) ---
  Rank,         // team opt -> r
  NumRanks,     // team opt -> r
  TranslateRank,  // rank, sourceTeam, destTeam -> r
  SymmAt,       // pointer, peer -> r
  MulticastAt,  // team, pointer -> r
  Wait,         // pointer, count, value -> token   #0 Scope #1 Semantic #2 Compare ; elem is the signal's (I32, I64)
  ConsumeToken,  // value, token -> r
  Notify,       // pointer, peer, value ->          #0 SignalKind #1 Scope
  Put,          // dest, source, bytes, peer ->     #0 nbi #1 Group
  PutSignal,    // dest, source, bytes, signal, value, peer ->  #0 nbi #1 SignalKind #2 Group
  Get,          // dest, source, bytes, peer ->     #0 nbi #1 Group
  PutValue,     // dest, value, peer ->             elem is the value's
  Signal,       // pointer, value, peer ->          #0 SignalKind
  SignalWait,   // pointer, value -> seen           #0 Compare
  Fence,        // peer opt ->
  Quiet,        // peer opt ->
  Barrier,      // team ->                          #0 syncOnly #1 Group
  Broadcastmem,  // team, dest, source, bytes, root ->  #0 Group #1 is a barrier, too #2 string index of the type that all name, or -1
  Fcollect,     // team, dest, source, bytes ->     #0 Group #1, #2 as above
  // --- simt ---
  Tid,          // () -> r (Lanes)  #0 axis
  Ntid,         // () -> r  #0 axis
  Special,      // () -> r  #0 SpecialRegister
  ThreadBarrier,  // ->  `__syncthreads`
  NamedBarrier,   // ->  #0 id #1 threads #2 arriveOnly
  WarpBarrier,    // ->
  ThreadFence,  // ->               #0 Semantic #1 Scope
  Ld,           // pointer, mask opt -> r     #0 Semantic #1 Scope #2 weak; r may be a vector. Only a tile has a mask: zero where false
  St,           // pointer, value, mask opt ->  #0 Semantic #1 Scope #2 weak; elem is the value's. As in `Ld`
  MultimemSt,   // pointer, value ->
  MultimemLdReduce,  // pointer -> r
  Shuffle,      // mask, value, lane -> r   #0 0 idx, 1 up, 2 down, 3 xor
  Ballot,       // mask opt, predicate -> r   without a mask: of the active threads
  Elect,        // () -> r (Lanes I1)
  Vector,       // element... -> r
  VectorExtract,  // vector -> r    #0 index
  VectorBitcast,  // a -> r
  Deal,         // tile -> r (Lanes)  thread t gets element t, modulo the count
  Collect,      // a (Lanes) -> tile  element e is thread e's
  SmemAlloc,    // init opt -> r (Smem)   optional: #0 elements of a vector #1 rows per phase #2 phases of its swizzle
  SmemRead,     // buffer -> r (Tile)
  SmemLoad,     // buffer, indices... -> r
  SmemStore,    // buffer, value, indices... ->
  SmemIndex,    // buffer, index -> r (Smem view)
  SmemPtr,      // buffer, indices... -> r
  SmemAt,       // address (I32) -> r
  DynamicSmem,  // () -> r
  GridBarrier,  // ->
  // --- simt: mbarriers and bulk copies ---
  MbarrierInit,        // barrier, count ->
  MbarrierArrive,      // barrier, bytes opt ->   #0 1 = arrives, 0 = expects bytes only
  MbarrierTryWait,     // barrier, parity -> r (I1)
  MbarrierWait,        // barrier, parity ->
  MbarrierInvalidate,  // barrier ->
  TmaLoad,             // map, dest, barrier, coordinates... ->
  TmaStore,            // map, source, coordinates... ->
  BulkLoad,            // dest, source, bytes, barrier ->
  BulkStore,           // dest, source, bytes ->
  BulkCommit,          // ->
  BulkWait,            // ->                #0 groups that may be pending #1 1 = read only
  TensormapReplace,    // map, value ->     #0 MapField #1 ordinal
  TensormapPublish,    // dest, source ->
  TensormapPrefetch,   // map, coordinates... ->
  ProxyFence,          // map opt ->        #0 kind
  // --- debugging ---
  Print,        // values... ->     #0 string #1 hex #2.. one for each value: 0 unsigned or float 1 signed 2 pointer
  Assert,       // condition, mask opt ->  #0 string
  Assume,       // condition ->
};

enum class UnaryOp : uint8_t {
  NegF, AbsF, AbsI, Ceil, Floor, Trunc, Round, RoundEven, Sqrt, Rsqrt, Exp, Exp2, ExpM1, Log, Log2, Log10, Log1p, Sin, Cos, Tan, Asin,
  Acos, Atan, Sinh, Cosh, Tanh, Asinh, Acosh, Atanh, Erf, Erfc, Cbrt, Ctlz, Cttz, Ctpop, IsNan, IsInf, IsFinite  // Is*: -> I1
};
enum class BinaryOp : uint8_t {
  AddI, SubI, MulI, DivS, DivU, RemS, RemU, And, Or, Xor, Shl, ShrS, ShrU, MinS, MinU, MaxS, MaxU, MulHiU,
  AddF, SubF, MulF, DivF, RemF,
  MinNumF, MaxNumF,    // a NaN operand gives the other (arith.minnumf, maxnumf)
  MinimumF, MaximumF,  // a NaN operand gives NaN (arith.minimumf, maximumf)
  PowF, Atan2, CopySign, FloorDivS, CeilDivS, CeilDivU
};
enum class CompareOp : uint8_t {
  Eq, Ne, SLt, SLe, SGt, SGe, ULt, ULe, UGt, UGe,                      // integers
  OEq, ONe, OLt, OLe, OGt, OGe, UEq, UNe, ULtF, ULeF, UGtF, UGeF, Ord, Uno  // floats, ordered then unordered
};
enum class ConvertOp : uint8_t { Bitcast, TruncI, ExtS, ExtU, SToF, UToF, FToS, FToU, FToF, FToFRtz };
enum class RmwOp : uint8_t { Add, FAdd, And, Or, Xor, Xchg, Max, Min, UMax, UMin };
enum class Semantic : uint8_t { Relaxed, Acquire, Release, AcqRel, SeqCst };
enum class Scope : uint8_t { Cta, Gpu, Sys };
// The slot of a program, the time, how many slots a rank has, the launch's number, and the address of a cooperative launch's workspace
// (0 in another launch).
enum class SpecialRegister : uint8_t { Sm, GlobalTimer, Clock, SmCount, Grid, GridWorkspace };
enum class Group : uint8_t { Thread, Warp, Block };
enum class SignalKind : uint8_t { Set, Add };
enum class MicroScale : uint8_t { E2M1, E4M3, E5M2, Bf16, Fp16 };
enum class MapField : uint8_t {
  GlobalAddress, Rank, BoxDim, GlobalDim, GlobalStride, ElementStride, ElemType, Interleave, Swizzle, Fill
};

}  // namespace tandem::interpreter
