// A cuBLASLt without a GPU, for tests: it multiplies in the host's memory by the library's own rules, matrices lying by
// columns, and refuses what Tandem must not ask for. Its first guess is a tile that Tandem must pass over.
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <utility>

#define FAKE extern "C" __attribute__((visibility("default")))

namespace {

constexpr int kInvalid = 7, kFp32 = 0, kFp16 = 2, kBf16 = 14, kE4M3 = 28, kSumsInFp32 = 68, kTransposesA = 3,
              kTileId = 1;
constexpr uint32_t kShallowTile = 581, kTile = 493;

struct Layout {
  int type;
  uint64_t rows, columns;
  int64_t pitch;
};

struct Numbers {  // by attribute
  std::map<int, uint64_t> values;
};

struct Algorithm {
  uint64_t tile, rest[7];
};

struct Heuristic {
  Algorithm algorithm;
  size_t workspaceBytes;
  int status;
  float waves;
  int reserved[4];
};

int set(void* numbers, int attribute, const void* value, size_t bytes) {
  if (bytes > sizeof(uint64_t)) return kInvalid;
  uint64_t number = 0;
  std::memcpy(&number, value, bytes);
  static_cast<Numbers*>(numbers)->values[attribute] = number;
  return 0;
}

float valueOfE4M3(uint8_t bits) {  // of no NaN
  int exponent = bits >> 3 & 15;
  float value = std::ldexp(float((bits & 7) + (exponent ? 8 : 0)), (exponent ? exponent : 1) - 10);
  return bits & 0x80 ? -value : value;
}

float valueOf(uint64_t matrix, int64_t at, int type) {
  if (type == kFp32) return reinterpret_cast<const float*>(matrix)[at];
  if (type == kE4M3) return valueOfE4M3(reinterpret_cast<const uint8_t*>(matrix)[at]);
  uint16_t bits = reinterpret_cast<const uint16_t*>(matrix)[at];
  if (type == kBf16) return std::bit_cast<float>(uint32_t(bits) << 16);
  return float(std::bit_cast<_Float16>(bits));
}

uint16_t bitsOf(float value, int type) {
  if (type == kBf16) return uint16_t(std::bit_cast<uint32_t>(value) >> 16);  // exact values only
  return std::bit_cast<uint16_t>(_Float16(value));
}

}  // namespace

FAKE int cublasLtCreate(void** handle) { return *handle = new Numbers, 0; }
FAKE int cublasLtDestroy(void* handle) { return delete static_cast<Numbers*>(handle), 0; }
FAKE int cublasLtMatmulDescCreate(void** product, int compute, int scale) {
  return *product = new Numbers, compute == kSumsInFp32&& scale == 0 ? 0 : kInvalid;
}
FAKE int cublasLtMatmulDescDestroy(void* product) { return delete static_cast<Numbers*>(product), 0; }
FAKE int cublasLtMatmulDescSetAttribute(void* product, int attribute, const void* value, size_t bytes) {
  return set(product, attribute, value, bytes);
}
FAKE int cublasLtMatrixLayoutCreate(void** layout, int type, uint64_t rows, uint64_t columns, int64_t pitch) {
  return *layout = new Layout{type, rows, columns, pitch},
         type == kFp32 || type == kFp16 || type == kBf16 || type == kE4M3 ? 0 : kInvalid;
}
FAKE int cublasLtMatrixLayoutDestroy(void* layout) { return delete static_cast<Layout*>(layout), 0; }
FAKE int cublasLtMatmulPreferenceCreate(void** preference) { return *preference = new Numbers, 0; }
FAKE int cublasLtMatmulPreferenceDestroy(void* preference) { return delete static_cast<Numbers*>(preference), 0; }
FAKE int cublasLtMatmulPreferenceSetAttribute(void* preference, int attribute, const void* value, size_t bytes) {
  return set(preference, attribute, value, bytes);
}

FAKE int cublasLtMatmulAlgoGetHeuristic(void*, void*, void*, void*, void*, void*, void* preference, int most,
                                        Heuristic* found, int* count) {
  std::map<int, uint64_t>& wanted = static_cast<Numbers*>(preference)->values;
  // A workspace, sums of parts in fp32, and the alignments of four matrices.
  if (!wanted[1] || wanted[3] != 2 || most < 2) return kInvalid;
  for (int attribute : {5, 6, 7, 8})
    if (!std::has_single_bit(wanted[attribute]) || wanted[attribute] > 256) return kInvalid;
  found[0].algorithm = {kShallowTile, {}};
  found[1].algorithm = {kTile, {}};
  return *count = 2, 0;
}

FAKE int cublasLtMatmulAlgoConfigGetAttribute(const Algorithm* algorithm, int attribute, void* value, size_t bytes,
                                              size_t* written) {
  if (attribute != kTileId || bytes != sizeof(uint32_t)) return kInvalid;
  std::memcpy(value, &algorithm->tile, bytes);
  return *written = bytes, 0;
}

FAKE int cublasLtMatmul(void*, void* product, const float* alpha, uint64_t a, Layout* layoutA, uint64_t b,
                        Layout* layoutB, const float* beta, uint64_t c, Layout* layoutC, uint64_t d, Layout* layoutD,
                        const Algorithm* algorithm, uint64_t workspace, size_t workspaceBytes, void*) {
  bool isTransposed = static_cast<Numbers*>(product)->values[kTransposesA] != 0;
  uint64_t m = layoutD->rows, n = layoutD->columns, k = layoutB->rows;
  auto isA = [](const Layout& l, int type, uint64_t rows, uint64_t columns) {
    return l.type == type && l.rows == rows && l.columns == columns && l.pitch >= int64_t(rows);
  };
  int type = layoutA->type;
  // Of fp8 the library takes one order of matrices alone, of whole numbers of 16 bytes, and gives another type.
  if (type == kE4M3 ? !isTransposed || k % 16 || m % 8 || layoutD->type != kBf16 : layoutD->type != type)
    return kInvalid;
  if (!isA(*layoutA, type, isTransposed ? k : m, isTransposed ? m : k) || !isA(*layoutB, type, k, n) ||
      !isA(*layoutC, layoutD->type, m, n) || !workspace || !workspaceBytes || algorithm->tile != kTile ||
      (*beta != 0 && *beta != 1))
    return kInvalid;
  auto at = [](uint64_t matrix, const Layout& layout, uint64_t row, uint64_t column) {
    return valueOf(matrix, int64_t(column) * layout.pitch + int64_t(row), layout.type);
  };
  for (uint64_t i = 0; i < m; ++i)
    for (uint64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (uint64_t l = 0; l < k; ++l)
        sum += (isTransposed ? at(a, *layoutA, l, i) : at(a, *layoutA, i, l)) * at(b, *layoutB, l, j);
      float held = *beta != 0 ? at(c, *layoutC, i, j) : 0;
      int64_t place = int64_t(j) * layoutD->pitch + int64_t(i);
      if (layoutD->type == kFp32)
        reinterpret_cast<float*>(d)[place] = *alpha * sum + held;
      else
        reinterpret_cast<uint16_t*>(d)[place] = bitsOf(*alpha * sum + held, layoutD->type);
    }
  return 0;
}
