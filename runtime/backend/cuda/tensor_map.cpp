// This file evaluates recipes, checks that TMA can address the tensor, and has the driver encode the map. The driver
// wants the innermost dimension first.
#include "runtime/backend/cuda/tensor_map.h"
#include "abi/kernel_image_io.h"
#include <cstdio>
#include <limits>

namespace tandem::runtime::cuda {
namespace {
using Element = abi::TensorMapRecipe::Element;
using Op = abi::HostExpr::Op;

int64_t argument(abi::ParamType type, uint64_t bits) {
  switch (type) {
    case abi::ParamType::I1: return int64_t(bits & 1);
    case abi::ParamType::I8: return int8_t(bits);
    case abi::ParamType::I16: return int16_t(bits);
    case abi::ParamType::I32: return int32_t(bits);
    default: return int64_t(bits);
  }
}

// The arithmetic is that of kernels: a division by zero gives -1, its remainder the dividend.
int64_t apply(Op op, int64_t a, int64_t b) {
  bool dividesBadly = b == 0 || (b == -1 && a == std::numeric_limits<int64_t>::min());
  switch (op) {
    case Op::Add: return int64_t(uint64_t(a) + uint64_t(b));
    case Op::Sub: return int64_t(uint64_t(a) - uint64_t(b));
    case Op::Mul: return int64_t(uint64_t(a) * uint64_t(b));
    case Op::Div: return dividesBadly ? (b ? a : -1) : a / b;
    case Op::Rem: return dividesBadly ? (b ? 0 : a) : a % b;
    case Op::Min: return a < b ? a : b;
    case Op::Max: return a < b ? b : a;
    default: return a & b;
  }
}

struct ElementRow {
  MapElement word;
  int bytes;
};
ElementRow rowOf(Element e) {
  static constexpr ElementRow rows[] = {{MapElement::U8, 1},  {MapElement::U16, 2}, {MapElement::U32, 4},
                                        {MapElement::U64, 8}, {MapElement::F16, 2}, {MapElement::BF16, 2},
                                        {MapElement::F32, 4}, {MapElement::F64, 8}};
  static_assert(std::size(rows) == size_t(Element::F64) + 1);
  return rows[size_t(e)];
}

MapSwizzle swizzleOf(int bytes) {
  return bytes == 128  ? MapSwizzle::Bytes128
         : bytes == 64 ? MapSwizzle::Bytes64
         : bytes == 32 ? MapSwizzle::Bytes32
                       : MapSwizzle::None;
}

std::string hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

void checkValues(const abi::TensorMapRecipe& r, const TensorMapValues& v, int elementBytes, const std::string& who) {
  constexpr int64_t maxSize = int64_t(1) << 32, maxStrideBytes = int64_t(1) << 40;
  size_t rank = r.box.size();
  if (v.base % 16)
    throw std::invalid_argument(who + ": the base address " + hex(v.base) + " is not a multiple of 16 bytes");
  if (v.strides[rank - 1] != 1)
    throw std::invalid_argument(who + ": the last stride is " + std::to_string(v.strides[rank - 1]) + ", not 1");
  for (size_t i = 0; i < rank; ++i) {
    std::string dimension = "dimension " + std::to_string(i);
    if (v.shape[i] < 1 || v.shape[i] > maxSize)
      throw std::invalid_argument(who + ": " + dimension + " has size " + std::to_string(v.shape[i]) +
                                  ", not 1 to 2**32");
    if (r.box[i] < 1 || r.box[i] > 256)
      throw std::invalid_argument(who + ": " + dimension + " of the box has size " + std::to_string(r.box[i]) +
                                  ", not 1 to 256");
    if (i + 1 == rank) continue;
    bool sensible = v.strides[i] >= 0 && v.strides[i] < maxStrideBytes / elementBytes;
    if (!sensible || (v.strides[i] * elementBytes) % 16)
      throw std::invalid_argument(who + ": the stride of " + dimension + " is " + std::to_string(v.strides[i]) +
                                  " elements of " + std::to_string(elementBytes) +
                                  " bytes, not a multiple of 16 bytes below 2**40");
  }
  int boxBytes = r.box[rank - 1] * elementBytes;
  if (boxBytes % 16)
    throw std::invalid_argument(who + ": a row of the box has " + std::to_string(boxBytes) +
                                " bytes, not a multiple of 16");
  if (r.swizzleBytes && boxBytes > r.swizzleBytes)
    throw std::invalid_argument(who + ": a row of the box has " + std::to_string(boxBytes) +
                                " bytes, more than the swizzle's " + std::to_string(r.swizzleBytes));
}

}  // namespace

int64_t evaluate(const abi::HostExpr& expression, ParamTypes types, Arguments arguments) {
  int64_t stack[abi::kHostExprDepth];
  size_t top = 0;
  for (const abi::HostExpr::Step& s : expression.steps) {
    if (s.op == Op::Argument) {
      stack[top++] = argument(types[size_t(s.value)], arguments[size_t(s.value)]);
    } else if (s.op == Op::Constant) {
      stack[top++] = s.value;
    } else {
      --top;
      stack[top - 1] = apply(s.op, stack[top - 1], stack[top]);
    }
  }
  return stack[0];
}

TensorMapValues evaluate(const abi::TensorMapRecipe& recipe, ParamTypes types, Arguments arguments) {
  TensorMapValues v;
  v.base = uint64_t(evaluate(recipe.base, types, arguments));
  for (size_t i = 0; i < recipe.box.size(); ++i) {
    v.shape[i] = evaluate(recipe.shape[i], types, arguments);
    v.strides[i] = evaluate(recipe.strides[i], types, arguments);
  }
  return v;
}

TensorMap encode(const abi::TensorMapRecipe& recipe, const TensorMapValues& values, const std::string& who) {
  ElementRow element = rowOf(recipe.element);
  checkValues(recipe, values, element.bytes, who);
  size_t rank = recipe.box.size();
  uint64_t sizes[5], strideBytes[4] = {};  // the innermost stride is implied
  uint32_t box[5], steps[5];
  for (size_t i = 0; i < rank; ++i) {
    size_t from = rank - 1 - i;
    sizes[i] = uint64_t(values.shape[from]);
    box[i] = uint32_t(recipe.box[from]);
    steps[i] = 1;
    if (i > 0) strideBytes[i - 1] = uint64_t(values.strides[from] * element.bytes);
  }
  TensorMap map{};
  Result r =
      driver().tensorMapEncodeTiled(&map, element.word, uint32_t(rank), reinterpret_cast<void*>(values.base), sizes,
                                    strideBytes, box, steps, MapInterleave::None, swizzleOf(recipe.swizzleBytes),
                                    MapL2Promotion::Bytes256, recipe.nanFill ? MapFill::Nan : MapFill::Zero);
  if (r == kInvalidValue)
    throw DriverError(who + ": `cuTensorMapEncodeTiled` refuses the values (base " + hex(values.base) +
                          ", innermost size " + std::to_string(sizes[0]) + ")",
                      r);
  check(r, "cuTensorMapEncodeTiled");
  return map;
}

bool TensorMapCache::find(const TensorMapValues& values, TensorMap& map) {
  std::lock_guard lock(mutex_);
  for (size_t i = 0; i < used_; ++i)
    if (entries_[i].values == values) {
      map = entries_[i].map;
      return true;
    }
  return false;
}

void TensorMapCache::keep(const TensorMapValues& values, const TensorMap& map) {
  std::lock_guard lock(mutex_);
  entries_[next_] = {values, map};
  next_ = (next_ + 1) % kEntries;
  if (used_ < kEntries) ++used_;
}

}  // namespace tandem::runtime::cuda
