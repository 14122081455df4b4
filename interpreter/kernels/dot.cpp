// Matrix products by element type: narrow inputs become float, then Eigen multiplies. Knows nothing of microscaling.
#include "interpreter/kernels/elem_traits.h"
#include "interpreter/kernels/kernels.h"
#include "interpreter/kernels/matrix_product.h"
#include <Eigen/Core>
#include <array>
#include <bit>
#include <cstring>

namespace tandem::interpreter {
namespace {

template <class T> using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
constexpr int kTf32 = 0;

template <class T> void eigenProduct(size_t m, size_t n, size_t k, const T* lhs, const T* rhs, T* out) {
  using Eigen::Index;
  if (m == 0 || n == 0 || k == 0) return;
  Eigen::Map<const Matrix<T>> a(lhs, Index(m), Index(k)), b(rhs, Index(k), Index(n));
  Eigen::Map<Matrix<T>> c(out, Index(m), Index(n));
  c.noalias() += a * b;
}

// The low 13 bits of the mantissa go, to nearest even; infinity and NaN stay.
float roundToTf32(float x) {
  uint32_t bits = std::bit_cast<uint32_t>(x);
  uint32_t rounded = (bits + 0xfff + ((bits >> 13) & 1)) & 0xffffe000u;
  return std::bit_cast<float>((bits & 0x7f800000u) == 0x7f800000u ? bits : rounded);
}

// The operand as floats: itself, or a converted copy in the scratch slot.
const float* asFloats(Elem elem, const void* data, size_t count, int precision, Scratch slot) {
  if (elem == Elem::F32 && precision != kTf32) return static_cast<const float*>(data);
  float* copy = scratch(slot, count);
  if (elem == Elem::F32) {
    auto* x = static_cast<const float*>(data);
    for (size_t i = 0; i < count; ++i) copy[i] = roundToTf32(x[i]);
  } else {
    convertKernel(ConvertOp::FToF, elem, Elem::F32)(data, copy, count);
  }
  return copy;
}

void startSum(const void* accIn, void* sum, size_t count, size_t bytes) {
  if (count == 0 || accIn == sum) return;
  if (accIn)
    std::memcpy(sum, accIn, count * bytes);
  else
    std::memset(sum, 0, count * bytes);
}

struct Counts {
  size_t batch, m, n, k, lhs, rhs, out;  // the last three for one of the batch
};

void floatDot(const Counts& d, Elem a, const void* lhs, Elem b, const void* rhs, Elem acc, const void* accIn, void* out,
              int precision) {
  const float* x = asFloats(a, lhs, d.batch * d.lhs, precision, Scratch::Lhs);
  const float* y = asFloats(b, rhs, d.batch * d.rhs, precision, Scratch::Rhs);
  size_t total = d.batch * d.out;
  float* sum = acc == Elem::F32 ? static_cast<float*>(out) : scratch(Scratch::Sum, total);
  if (acc == Elem::F32 || !accIn)
    startSum(accIn, sum, total, sizeof(float));
  else
    convertKernel(ConvertOp::FToF, acc, Elem::F32)(accIn, sum, total);
  for (size_t i = 0; i < d.batch; ++i) addProduct(d.m, d.n, d.k, x + i * d.lhs, y + i * d.rhs, sum + i * d.out);
  if (acc != Elem::F32) convertKernel(ConvertOp::FToF, Elem::F32, acc)(sum, out, total);
}

void doubleDot(const Counts& d, const void* lhs, const void* rhs, const void* accIn, void* out) {
  startSum(accIn, out, d.batch * d.out, sizeof(double));
  for (size_t i = 0; i < d.batch; ++i)
    addProduct(d.m, d.n, d.k, static_cast<const double*>(lhs) + i * d.lhs, static_cast<const double*>(rhs) + i * d.rhs,
               static_cast<double*>(out) + i * d.out);
}

std::vector<uint32_t> asWords(Elem elem, const void* data, size_t count) {
  std::vector<uint32_t> words(count);
  if (elem == Elem::I32)
    std::memcpy(words.data(), data, count * sizeof(uint32_t));
  else
    convertKernel(ConvertOp::ExtS, elem, Elem::I32)(data, words.data(), count);
  return words;
}

void integerDot(const Counts& d, Elem a, const void* lhs, Elem b, const void* rhs, const void* accIn, void* out) {
  std::vector<uint32_t> x = asWords(a, lhs, d.batch * d.lhs), y = asWords(b, rhs, d.batch * d.rhs);
  startSum(accIn, out, d.batch * d.out, sizeof(uint32_t));
  auto* sum = static_cast<uint32_t*>(out);
  for (size_t row = 0; row < d.batch * d.m; ++row) {
    const uint32_t* right = y.data() + (row / d.m) * d.rhs;
    for (size_t k = 0; k < d.k; ++k)
      for (size_t j = 0; j < d.n; ++j) sum[row * d.n + j] += x[row * d.k + k] * right[k * d.n + j];
  }
}

}  // namespace

void addProduct(size_t m, size_t n, size_t k, const float* lhs, const float* rhs, float* out) {
  eigenProduct(m, n, k, lhs, rhs, out);
}
void addProduct(size_t m, size_t n, size_t k, const double* lhs, const double* rhs, double* out) {
  eigenProduct(m, n, k, lhs, rhs, out);
}

float* scratch(Scratch slot, size_t count) {
  thread_local std::array<std::vector<float>, 3> slots;
  std::vector<float>& memory = slots[static_cast<size_t>(slot)];
  if (memory.size() < count) memory.resize(count);
  return memory.data();
}

bool dot(const DotDims& dims, Elem a, const void* lhs, Elem b, const void* rhs, Elem acc, const void* accIn, void* out,
         int precision) {
  auto count = [](int64_t x) { return x > 0 ? static_cast<size_t>(x) : 0; };
  Counts d{count(dims.batch), count(dims.m), count(dims.n), count(dims.k), 0, 0, 0};
  d.lhs = d.m * d.k, d.rhs = d.k * d.n, d.out = d.m * d.n;
  bool wordSized = bitWidth(a) <= 32 && bitWidth(b) <= 32;
  if (!isFloat(a) && !isFloat(b) && acc == Elem::I32 && wordSized)
    integerDot(d, a, lhs, b, rhs, accIn, out);
  else if (a == Elem::F64 && b == Elem::F64 && acc == Elem::F64)
    doubleDot(d, lhs, rhs, accIn, out);
  else if (isFloat(a) && isFloat(b) && isFloat(acc) && a != Elem::F64 && b != Elem::F64 && acc != Elem::F64)
    floatDot(d, a, lhs, b, rhs, acc, accIn, out, precision);
  else
    return false;
  return true;
}

}  // namespace tandem::interpreter
