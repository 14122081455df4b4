// The elementwise lookups: which family of kernels an op belongs to; and the ops of three operands or two results.
#include "interpreter/kernels/families.h"
#include "interpreter/kernels/loops.h"
#include <cmath>

namespace tandem::interpreter {
namespace {

struct Fma {
  template <class T> static T apply(T a, T b, T c) { return std::fma(a, b, c); }
};
template <bool propagateNan> struct Clamp {
  template <class T> static T apply(T x, T low, T high) {
    T raised = x > low ? x : low;
    if constexpr (propagateNan) raised = x != x ? x : raised;
    return raised > high ? high : raised;
  }
};

template <class Op> TernaryKernel ternaryOf(Elem elem) {
  if (elem == Elem::F64) return ternaryLoop<double, Op>;
  if (elem == Elem::F32) return ternaryLoop<float, Op>;
  return forNarrow(elem,
                   []<class Format>(Format) -> TernaryKernel { return narrowTernary<Format, ternaryLoop<float, Op>>; });
}

template <class T> void selectLoop(const void* condition, const void* a, const void* b, void* out, size_t n) {
  StableInput stable(condition, n, out, n * sizeof(T));
  auto* c = static_cast<const uint8_t*>(stable.data());
  auto* x = static_cast<const T*>(a);
  auto* y = static_cast<const T*>(b);
  auto* o = static_cast<T*>(out);
#pragma clang loop vectorize(assume_safety)
  for (size_t i = 0; i < n; ++i) {
    T chosen = x[i], other = y[i];
    o[i] = c[i] ? chosen : other;
  }
}

}  // namespace

UnaryKernel unaryKernel(UnaryOp op, Elem elem) { return isFloat(elem) ? floatUnary(op, elem) : integerUnary(op, elem); }
BinaryKernel binaryKernel(BinaryOp op, Elem elem) {
  return isFloat(elem) ? floatBinary(op, elem) : integerBinary(op, elem);
}

TernaryKernel selectKernel(Elem elem) {
  switch (byteSize(elem)) {
    case 1: return selectLoop<uint8_t>;
    case 2: return selectLoop<uint16_t>;
    case 4: return selectLoop<uint32_t>;
    default: return selectLoop<uint64_t>;
  }
}

TernaryKernel fmaKernel(Elem elem) { return ternaryOf<Fma>(elem); }
TernaryKernel clampKernel(Elem elem, bool propagateNan) {
  return propagateNan ? ternaryOf<Clamp<true>>(elem) : ternaryOf<Clamp<false>>(elem);
}

void mulExtended(Elem elem, bool isSigned, const void* a, const void* b, void* low, void* high, size_t n) {
  BinaryKernel highKernel = integerMulHigh(isSigned, elem), lowKernel = integerBinary(BinaryOp::MulI, elem);
  if (!highKernel || !lowKernel) return;
  // It goes by blocks through a buffer, as either result may be either input.
  alignas(64) std::byte halves[kBlock * sizeof(uint64_t)];
  size_t bytes = byteSize(elem);
  for (size_t at = 0; at < n; at += kBlock) {
    size_t count = std::min(kBlock, n - at), offset = at * bytes;
    auto* x = static_cast<const std::byte*>(a) + offset;
    auto* y = static_cast<const std::byte*>(b) + offset;
    highKernel(x, y, halves, count);
    lowKernel(x, y, static_cast<std::byte*>(low) + offset, count);
    std::memcpy(static_cast<std::byte*>(high) + offset, halves, count * bytes);
  }
}

}  // namespace tandem::interpreter
