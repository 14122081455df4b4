// Data-dependent element moves: gather along an axis, histogram.
#include "interpreter/kernels/elem_traits.h"
#include "interpreter/kernels/kernels.h"
#include <cstring>

namespace tandem::interpreter {
namespace {

// Finds where along the source each position of the index array starts: the coordinates of the other axes.
struct Walk {
  std::vector<int64_t> strides;  // of the source, 0 for the axis
  int64_t axisStride = 1;
};

Walk walkOf(std::span<const int64_t> sourceShape, size_t axis) {
  Walk walk{std::vector<int64_t>(sourceShape.size()), 1};
  int64_t stride = 1;
  for (size_t i = sourceShape.size(); i-- > 0;) {
    walk.strides[i] = stride;
    if (i == axis) {
      walk.axisStride = stride;
      walk.strides[i] = 0;
    }
    stride *= sourceShape[i];
  }
  return walk;
}

// The flat position in the source for flat position `flat` of the index array, but for the axis.
int64_t baseOf(int64_t flat, std::span<const int64_t> indexShape, const Walk& walk) {
  int64_t base = 0;
  for (size_t d = indexShape.size(); d-- > 0;) {
    base += flat % indexShape[d] * walk.strides[d];
    flat /= indexShape[d];
  }
  return base;
}

}  // namespace

int64_t gather(const void* source, std::span<const int64_t> sourceShape, const void* indices, Elem indexElem,
               std::span<const int64_t> indexShape, int64_t axis, void* out, unsigned elemBytes) {
  Walk walk = walkOf(sourceShape, static_cast<size_t>(axis));
  int64_t length = sourceShape[static_cast<size_t>(axis)], n = 1;
  for (int64_t d : indexShape) n *= d;
  for (int64_t i = 0; i < n; ++i) {
    int64_t index =
        indexElem == Elem::I64 ? static_cast<const int64_t*>(indices)[i] : static_cast<const int32_t*>(indices)[i];
    if (index < 0 || index >= length) return i;
    int64_t from = baseOf(i, indexShape, walk) + index * walk.axisStride;
    std::memcpy(static_cast<std::byte*>(out) + i * elemBytes, static_cast<const std::byte*>(source) + from * elemBytes,
                elemBytes);
  }
  return -1;
}

void histogram(const void* values, Elem elem, const uint8_t* mask, size_t n, int32_t* bins, size_t binCount) {
  std::vector<uint32_t> counts(binCount, 0);
  forInteger(elem, [&]<class I>(I) {
    auto* x = static_cast<const typename I::U*>(values);
    for (size_t i = 0; i < n; ++i) {
      // A negative value is larger than any bin as an unsigned one.
      uint64_t bin = static_cast<uint64_t>(static_cast<int64_t>(I::bits == 1 ? x[i] : I::asSigned(I::load(x[i]))));
      if ((!mask || mask[i]) && bin < binCount) ++counts[bin];
    }
    return true;
  });
  for (size_t i = 0; i < binCount; ++i) bins[i] = static_cast<int32_t>(counts[i]);
}

}  // namespace tandem::interpreter
