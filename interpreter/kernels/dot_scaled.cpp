// Products of microscaled operands: unpacks and scales both sides to float, then multiplies.
#include "interpreter/kernels/kernels.h"
#include "interpreter/kernels/matrix_product.h"
#include <algorithm>
#include <bit>
#include <vector>

namespace tandem::interpreter {
namespace {

constexpr float kE2M1[16] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6};

size_t scaleBlock(const ScaledOperand& operand) { return operand.scaleElem == Elem::F8E4M3FN ? 16 : 32; }

float powerOfTwo(uint8_t exponent) {
  if (exponent == 255) return std::bit_cast<float>(0x7fc00000u);
  return std::bit_cast<float>(exponent == 0 ? 0x00400000u : uint32_t{exponent} << 23);
}

Elem elemOf(MicroScale format) {
  switch (format) {
    case MicroScale::E2M1: return Elem::I8;
    case MicroScale::E4M3: return Elem::F8E4M3FN;
    case MicroScale::E5M2: return Elem::F8E5M2;
    case MicroScale::Bf16: return Elem::BF16;
    case MicroScale::Fp16: return Elem::F16;
  }
  return Elem::F16;
}

// The two dimensions of one operand: lhs [m, k], rhs [k, n].
struct Extent2 {
  size_t rows, columns;
  bool kIsRows;
};

// Packed pairs lie next to each other along the rows' or the columns' index.
void unpackPairs(const uint8_t* bytes, const Extent2& extent, bool pairsAlongRows, float* out) {
  size_t byteColumns = pairsAlongRows ? extent.columns : extent.columns / 2;
  for (size_t r = 0; r < extent.rows; ++r)
    for (size_t c = 0; c < extent.columns; ++c) {
      size_t position = pairsAlongRows ? r / 2 * byteColumns + c : r * byteColumns + c / 2;
      unsigned shift = (pairsAlongRows ? r : c) % 2 * 4;
      out[r * extent.columns + c] = kE2M1[bytes[position] >> shift & 15];
    }
}

void applyScales(const float* scales, size_t block, const Extent2& extent, float* values) {
  size_t k = extent.kIsRows ? extent.rows : extent.columns, blocks = (k + block - 1) / block;
  for (size_t r = 0; r < extent.rows; ++r)
    for (size_t c = 0; c < extent.columns; ++c) {
      size_t outer = extent.kIsRows ? c : r, inner = extent.kIsRows ? r : c;
      values[r * extent.columns + c] *= scales[outer * blocks + inner / block];
    }
}

const float* expand(const ScaledOperand& operand, const Extent2& extent, size_t batch, Scratch slot) {
  size_t count = extent.rows * extent.columns, k = extent.kIsRows ? extent.rows : extent.columns;
  size_t outer = extent.kIsRows ? extent.columns : extent.rows, block = scaleBlock(operand),
         scaleCount = outer * ((k + block - 1) / block);
  float* values = scratch(slot, batch * count);
  if (operand.format == MicroScale::E2M1) {
    for (size_t i = 0; i < batch; ++i)
      unpackPairs(static_cast<const uint8_t*>(operand.data) + i * (count / 2), extent,
                  operand.packedAlongK == extent.kIsRows, values + i * count);
  } else {
    convertKernel(ConvertOp::FToF, elemOf(operand.format), Elem::F32)(operand.data, values, batch * count);
  }
  if (!operand.scales) return values;
  std::vector<float> scales(batch * scaleCount);
  if (operand.scaleElem == Elem::F8E4M3FN)
    convertKernel(ConvertOp::FToF, Elem::F8E4M3FN, Elem::F32)(operand.scales, scales.data(), scales.size());
  else
    std::transform(operand.scales, operand.scales + scales.size(), scales.begin(), powerOfTwo);
  for (size_t i = 0; i < batch; ++i) applyScales(scales.data() + i * scaleCount, block, extent, values + i * count);
  return values;
}

}  // namespace

void dotScaled(const DotDims& dims, const ScaledOperand& lhs, const ScaledOperand& rhs, const float* accIn,
               float* out) {
  auto batch = static_cast<size_t>(dims.batch), m = static_cast<size_t>(dims.m), n = static_cast<size_t>(dims.n);
  auto k = static_cast<size_t>(dims.k);
  const float* x = expand(lhs, {m, k, false}, batch, Scratch::Lhs);
  const float* y = expand(rhs, {k, n, true}, batch, Scratch::Rhs);
  if (!accIn)
    std::fill_n(out, batch * m * n, 0.0f);
  else if (accIn != out)
    std::copy_n(accIn, batch * m * n, out);
  for (size_t i = 0; i < batch; ++i) addProduct(m, n, k, x + i * m * k, y + i * k * n, out + i * m * n);
}

}  // namespace tandem::interpreter
