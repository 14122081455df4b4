// These loops over plain arrays are the arithmetic of the interpreter: elementwise, shape, product and conversion. They
// know element types and op codes, and nothing of programs, registers, tiles' layouts in a machine, or scheduling.
//
// Pointers are aligned to their element. Except in the shape section `out` may be any of the inputs (the same address).
// An I1 element is one byte, 0 or 1. Nothing here fails on any bit pattern: integers wrap, and cases that the hardware
// leaves undefined are defined below. fp16, bf16 and fp8 arithmetic computes in float and rounds once, to nearest even.
#pragma once
#include "interpreter/op.h"
#include "interpreter/program.h"
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::interpreter {

// --- elementwise ---

// Loops over `n` elements. The lookups below give nullptr where the op makes no sense on the element type.
using UnaryKernel = void (*)(const void* a, void* out, size_t n);
using BinaryKernel = void (*)(const void* a, const void* b, void* out, size_t n);
using TernaryKernel = void (*)(const void* a, const void* b, const void* c, void* out, size_t n);

// IsNan, IsInf and IsFinite write I1. Ctlz and Cttz of zero give the width. AbsI of the least integer is itself.
UnaryKernel unaryKernel(UnaryOp op, Elem elem);

// Division by zero gives all ones (FloorDivS, CeilDivS and CeilDivU too), its remainder the dividend; the least integer
// divided by -1 is itself, its remainder 0. A shift by the width or more gives 0, or for ShrS the sign in every bit.
// Signed I1 true is -1. The minimum of -0 and +0 is -0, their maximum +0.
BinaryKernel binaryKernel(BinaryOp op, Elem elem);

// Writes I1. Integer predicates need an integer element, the others a float.
BinaryKernel compareKernel(CompareOp op, Elem elem);

// Bitcast needs equal widths, TruncI a narrower result, ExtS and ExtU a wider one. FToS and FToU truncate toward zero
// and saturate at the result's range; NaN gives 0 (PTX cvt.rzi). FToF rounds to nearest even. To an 8-bit float it
// saturates (PTX cvt.rn.satfinite, which Triton uses on sm_90 for e4m3 and e5m2 alike): a value beyond the largest
// finite one, infinity included, becomes that one, and NaN stays NaN. To f16, bf16 and f32 overflow gives infinity.
// FToFRtz rounds toward zero: a finite value stays finite, and infinity stays infinite where the format has one. SToF
// and UToF round once, to nearest even.
UnaryKernel convertKernel(ConvertOp op, Elem from, Elem to);

// condition (I1), a, b -> out
TernaryKernel selectKernel(Elem elem);
// a * b + c with one rounding for f32 and f64; narrower floats round the float result of the fused operation. Floats
// only.
TernaryKernel fmaKernel(Elem elem);
// x, min, max -> out. With propagateNan a NaN x stays NaN; without, it gives `min`. Floats only.
TernaryKernel clampKernel(Elem elem, bool propagateNan);
// The low and the high half of the product. Integers only; does nothing on another element.
void mulExtended(Elem elem, bool isSigned, const void* a, const void* b, void* low, void* high, size_t n);

// --- the device library (libdevice, `__nv_*`) ---

using ExternKernel = void (*)(const void* const* operands, void* out, size_t n);
struct ExternSignature {
  std::vector<Elem> operands;
  Elem result{};
};
// Operand and result types of a symbol; nothing when the symbol is unknown. Symbols that take a pointer
// (`__nv_sincosf`) are unknown. Predicates (`__nv_isnanf`) give I32, as in libdevice.
std::optional<ExternSignature> externSignature(std::string_view symbol);
// `elem` is that of operand 0. nullptr when the symbol is unknown or its signature is another.
// The `fast_` forms and the f32 functions are at least as accurate as the device's; they are not bit for bit the same.
ExternKernel externKernel(const std::string& symbol, Elem elem, int operandCount);
// All known symbols, sorted.
std::vector<std::string> externSymbols();

// --- shapes: row-major arrays; `out` does not overlap an input ---

// n copies of the scalar.
void splat(const void* scalar, void* out, size_t n, unsigned elemBytes);
// Writes start, start + 1, ..., wrapping around.
void makeRange(int32_t start, int32_t* out, size_t n);
// Equal ranks; every input dimension is 1 or the output's.
void broadcast(const void* in, std::span<const int64_t> inShape, void* out, std::span<const int64_t> outShape,
               unsigned elemBytes);
// Result dimension i is source dimension order[i].
void permute(const void* in, std::span<const int64_t> inShape, std::span<const int64_t> order, void* out,
             unsigned elemBytes);
// Interleaves two arrays of n elements along a new last dimension of 2; `split` is its inverse.
void join(const void* a, const void* b, void* out, size_t n, unsigned elemBytes);
void split(const void* in, void* a, void* b, size_t n, unsigned elemBytes);
// Writes the `na` elements of a, then the `nb` of b.
void cat(const void* a, size_t na, const void* b, size_t nb, void* out, unsigned elemBytes);
// out[..., i, ...] = source[..., indices[..., i, ...], ...] along `axis`; out has the indices' shape. Indices are I32
// or I64, signed. Gives -1, or the flat position of the first index out of range (then `out` is not complete).
int64_t gather(const void* source, std::span<const int64_t> sourceShape, const void* indices, Elem indexElem,
               std::span<const int64_t> indexShape, int64_t axis, void* out, unsigned elemBytes);
// Counts the values in [0, binCount) where the mask (null: everywhere) is set; other values are ignored. Overwrites
// `bins`.
void histogram(const void* values, Elem elem, const uint8_t* mask, size_t n, int32_t* bins, size_t binCount);

// --- products ---

// lhs [batch, m, k] times rhs [batch, k, n] gives [batch, m, n], row-major.
struct DotDims {
  int64_t batch = 1, m = 0, n = 0, k = 0;
};
// out = lhs * rhs + accIn (null: zero); `out` may be `accIn`. Says false when there is no product of these types.
// fp8, fp16 and bf16 inputs convert exactly to float and are multiplied and summed in float; an fp16 or bf16
// accumulator is rounded once at the end. f32 inputs under precision 0 (tf32) are first rounded to a 10-bit mantissa,
// to nearest even; under the others (1 tf32x3, 2 ieee, 3 bf16x3, 4 bf16x6) they are used as they are. f64 is summed in
// double. Integers are signed, sums wrap.
bool dot(const DotDims& dims, Elem a, const void* lhs, Elem b, const void* rhs, Elem acc, const void* accIn, void* out,
         int precision);

// One operand of a microscaled product. E2M1 packs two values a byte, the lower nibble first, along K or along the
// other dimension. `scales` holds one e8m0 exponent (2^(x - 127), 255 is NaN) for each 32 elements along K, or, when
// `scaleElem` is F8E4M3FN, one such number for each 16: [batch, m or n, ceil(k / 32 or 16)]; null means 1.
struct ScaledOperand {
  MicroScale format{};
  const void* data = nullptr;
  const uint8_t* scales = nullptr;
  bool packedAlongK = true;
  Elem scaleElem = Elem::I8;
};
// out = lhs * rhs + accIn (null: zero) in float. `dims` counts elements, not bytes: the packed dimension is even.
void dotScaled(const DotDims& dims, const ScaledOperand& lhs, const ScaledOperand& rhs, const float* accIn, float* out);

// --- read-modify-write ---

// *old = *memory; *memory = *old op *value, one element, not atomic. Add, FAdd, Max and Min follow the element's kind
// (floats: maxnum, minnum). Any alignment. Says false when the op makes no sense on the element.
bool applyRmw(RmwOp op, Elem elem, void* memory, const void* value, void* old);

}  // namespace tandem::interpreter
