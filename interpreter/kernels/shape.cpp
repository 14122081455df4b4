// Moves whole elements: broadcast, permutation, interleaving. Knows their size only.
#include "interpreter/kernels/kernels.h"
#include <cstring>

namespace tandem::interpreter {
namespace {

// f with an unsigned type of the element's size.
template <class F> void forSize(unsigned elemBytes, F f) {
  switch (elemBytes) {
    case 1: return f(uint8_t{});
    case 2: return f(uint16_t{});
    case 4: return f(uint32_t{});
    case 8: return f(uint64_t{});
  }
}

int64_t product(std::span<const int64_t> shape) {
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  return n;
}

std::vector<int64_t> rowMajorStrides(std::span<const int64_t> shape) {
  std::vector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

template <class T> void copyRow(const T* in, int64_t stride, T* out, int64_t n) {
  if (stride == 1) {
    std::memcpy(out, in, static_cast<size_t>(n) * sizeof(T));
  } else if (stride == 0) {
    T value = *in;
    for (int64_t i = 0; i < n; ++i) out[i] = value;
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = in[i * stride];
  }
}

// out[i0, i1, ...] = in[i0 * strides[0] + i1 * strides[1] + ...], out row-major.
template <class T>
void copyStrided(const T* in, std::span<const int64_t> strides, T* out, std::span<const int64_t> shape) {
  size_t outer = shape.empty() ? 0 : shape.size() - 1;
  int64_t row = shape.empty() ? 1 : shape[outer], rowStride = shape.empty() ? 0 : strides[outer];
  int64_t rows = product(shape.first(outer)), offset = 0;
  if (row == 0) return;
  std::vector<int64_t> index(outer, 0);
  for (int64_t r = 0; r < rows; ++r, out += row) {
    copyRow(in + offset, rowStride, out, row);
    for (size_t d = outer; d-- > 0;) {
      offset += strides[d];
      if (++index[d] < shape[d]) break;
      offset -= strides[d] * shape[d];
      index[d] = 0;
    }
  }
}

// Joins neighbouring dimensions that one stride walks through.
void mergeDimensions(std::vector<int64_t>& shape, std::vector<int64_t>& strides) {
  size_t kept = 0;
  for (size_t i = 1; i < shape.size(); ++i) {
    if (strides[kept] == strides[i] * shape[i]) {
      shape[kept] *= shape[i];
      strides[kept] = strides[i];
    } else {
      ++kept;
      shape[kept] = shape[i];
      strides[kept] = strides[i];
    }
  }
  if (!shape.empty()) {
    shape.resize(kept + 1);
    strides.resize(kept + 1);
  }
}

void copyStrided(const void* in, std::vector<int64_t> strides, void* out, std::vector<int64_t> shape,
                 unsigned elemBytes) {
  mergeDimensions(shape, strides);
  forSize(elemBytes, [&]<class T>(T) { copyStrided(static_cast<const T*>(in), strides, static_cast<T*>(out), shape); });
}

}  // namespace

void splat(const void* scalar, void* out, size_t n, unsigned elemBytes) {
  forSize(elemBytes, [&]<class T>(T) {
    copyRow(static_cast<const T*>(scalar), 0, static_cast<T*>(out), static_cast<int64_t>(n));
  });
}

void makeRange(int32_t start, int32_t* out, size_t n) {
  for (size_t i = 0; i < n; ++i) out[i] = static_cast<int32_t>(static_cast<uint32_t>(start) + static_cast<uint32_t>(i));
}

void broadcast(const void* in, std::span<const int64_t> inShape, void* out, std::span<const int64_t> outShape,
               unsigned elemBytes) {
  std::vector<int64_t> strides = rowMajorStrides(inShape);
  for (size_t i = 0; i < strides.size(); ++i)
    if (inShape[i] == 1) strides[i] = 0;
  copyStrided(in, std::move(strides), out, {outShape.begin(), outShape.end()}, elemBytes);
}

void permute(const void* in, std::span<const int64_t> inShape, std::span<const int64_t> order, void* out,
             unsigned elemBytes) {
  std::vector<int64_t> inStrides = rowMajorStrides(inShape), strides, shape;
  for (int64_t source : order) {
    strides.push_back(inStrides[static_cast<size_t>(source)]);
    shape.push_back(inShape[static_cast<size_t>(source)]);
  }
  copyStrided(in, std::move(strides), out, std::move(shape), elemBytes);
}

void join(const void* a, const void* b, void* out, size_t n, unsigned elemBytes) {
  forSize(elemBytes, [&]<class T>(T) {
    auto *x = static_cast<const T*>(a), *y = static_cast<const T*>(b);
    auto* o = static_cast<T*>(out);
    for (size_t i = 0; i < n; ++i) {
      o[2 * i] = x[i];
      o[2 * i + 1] = y[i];
    }
  });
}

void split(const void* in, void* a, void* b, size_t n, unsigned elemBytes) {
  forSize(elemBytes, [&]<class T>(T) {
    auto* x = static_cast<const T*>(in);
    auto *first = static_cast<T*>(a), *second = static_cast<T*>(b);
    for (size_t i = 0; i < n; ++i) {
      first[i] = x[2 * i];
      second[i] = x[2 * i + 1];
    }
  });
}

void cat(const void* a, size_t na, const void* b, size_t nb, void* out, unsigned elemBytes) {
  if (na != 0) std::memcpy(out, a, na * elemBytes);
  if (nb != 0) std::memcpy(static_cast<std::byte*>(out) + na * elemBytes, b, nb * elemBytes);
}

}  // namespace tandem::interpreter
