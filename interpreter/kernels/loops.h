// All elementwise kernels are instances of these loops. `out` may be an input: an element is read before it is written,
// and no iteration depends on another, as the pragma asserts.
#pragma once
#include "interpreter/kernels/elem_traits.h"
#include "interpreter/kernels/kernels.h"
#include "interpreter/kernels/narrow.h"
#include <algorithm>
#include <cstring>

namespace tandem::interpreter {

// An input that an `out` of wider elements at the same place would overwrite before it is read: then a copy of it.
class StableInput {
 public:
  StableInput(const void* in, size_t inBytes, const void* out, size_t outBytes) : data_(in) {
    auto i = reinterpret_cast<uintptr_t>(in), o = reinterpret_cast<uintptr_t>(out);
    if (outBytes <= inBytes || i >= o + outBytes || o >= i + inBytes) return;
    copy_.resize((inBytes + 7) / 8);
    std::memcpy(copy_.data(), in, inBytes);
    data_ = copy_.data();
  }
  const void* data() const { return data_; }

 private:
  const void* data_;
  std::vector<uint64_t> copy_;
};

// Op::apply(T...) -> Out
template <class T, class Out, class Op> void unaryLoop(const void* a, void* out, size_t n) {
  auto* x = static_cast<const T*>(a);
  auto* o = static_cast<Out*>(out);
#pragma clang loop vectorize(assume_safety)
  for (size_t i = 0; i < n; ++i) o[i] = Op::apply(x[i]);
}

template <class T, class Out, class Op> void binaryLoop(const void* a, const void* b, void* out, size_t n) {
  auto* x = static_cast<const T*>(a);
  auto* y = static_cast<const T*>(b);
  auto* o = static_cast<Out*>(out);
#pragma clang loop vectorize(assume_safety)
  for (size_t i = 0; i < n; ++i) o[i] = Op::apply(x[i], y[i]);
}

template <class T, class Op> void ternaryLoop(const void* a, const void* b, const void* c, void* out, size_t n) {
  auto* x = static_cast<const T*>(a);
  auto* y = static_cast<const T*>(b);
  auto* z = static_cast<const T*>(c);
  auto* o = static_cast<T*>(out);
#pragma clang loop vectorize(assume_safety)
  for (size_t i = 0; i < n; ++i) o[i] = Op::apply(x[i], y[i], z[i]);
}

// Narrow floats go through the float kernel a block at a time.
constexpr size_t kBlock = 512;

template <class Format, UnaryKernel kernel> void narrowUnary(const void* a, void* out, size_t n) {
  using Code = typename Format::Code;
  alignas(64) float x[kBlock];
  for (size_t at = 0; at < n; at += kBlock) {
    size_t count = std::min(kBlock, n - at);
    decodeArray<Format>(static_cast<const Code*>(a) + at, x, count);
    kernel(x, x, count);
    encodeArray<Format, Rounding::NearestEven>(x, static_cast<Code*>(out) + at, count);
  }
}

// A float kernel that writes I1.
template <class Format, UnaryKernel kernel> void narrowPredicate(const void* a, void* out, size_t n) {
  alignas(64) float x[kBlock];
  for (size_t at = 0; at < n; at += kBlock) {
    size_t count = std::min(kBlock, n - at);
    decodeArray<Format>(static_cast<const typename Format::Code*>(a) + at, x, count);
    kernel(x, static_cast<uint8_t*>(out) + at, count);
  }
}

template <class Format, BinaryKernel kernel> void narrowBinary(const void* a, const void* b, void* out, size_t n) {
  using Code = typename Format::Code;
  alignas(64) float x[kBlock], y[kBlock];
  for (size_t at = 0; at < n; at += kBlock) {
    size_t count = std::min(kBlock, n - at);
    decodeArray<Format>(static_cast<const Code*>(a) + at, x, count);
    decodeArray<Format>(static_cast<const Code*>(b) + at, y, count);
    kernel(x, y, x, count);
    encodeArray<Format, Rounding::NearestEven>(x, static_cast<Code*>(out) + at, count);
  }
}

template <class Format, BinaryKernel kernel> void narrowCompare(const void* a, const void* b, void* out, size_t n) {
  using Code = typename Format::Code;
  alignas(64) float x[kBlock], y[kBlock];
  for (size_t at = 0; at < n; at += kBlock) {
    size_t count = std::min(kBlock, n - at);
    decodeArray<Format>(static_cast<const Code*>(a) + at, x, count);
    decodeArray<Format>(static_cast<const Code*>(b) + at, y, count);
    kernel(x, y, static_cast<uint8_t*>(out) + at, count);
  }
}

template <class Format, TernaryKernel kernel>
void narrowTernary(const void* a, const void* b, const void* c, void* out, size_t n) {
  using Code = typename Format::Code;
  alignas(64) float x[kBlock], y[kBlock], z[kBlock];
  for (size_t at = 0; at < n; at += kBlock) {
    size_t count = std::min(kBlock, n - at);
    decodeArray<Format>(static_cast<const Code*>(a) + at, x, count);
    decodeArray<Format>(static_cast<const Code*>(b) + at, y, count);
    decodeArray<Format>(static_cast<const Code*>(c) + at, z, count);
    kernel(x, y, z, x, count);
    encodeArray<Format, Rounding::NearestEven>(x, static_cast<Code*>(out) + at, count);
  }
}

}  // namespace tandem::interpreter
