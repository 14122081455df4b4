// A cuBLAS without a GPU, for tests: it multiplies in the host's memory by the library's own rules, matrices lying by
// columns, and refuses what Tandem must not ask for.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#define FAKE extern "C" __attribute__((visibility("default")))

namespace {

struct Handle {
  int mathMode = 0;
  void* stream = nullptr;
  bool hasWorkspace = false;
};

constexpr int kInvalid = 7, kTransposed = 1, kFp16 = 2, kBf16 = 14, kSumsInFp32 = 68, kPartsInFp32 = 16;

float valueOf(uint16_t bits, int type) {
  if (type == kBf16) return std::bit_cast<float>(uint32_t(bits) << 16);
  return float(std::bit_cast<_Float16>(bits));
}

uint16_t bitsOf(float value, int type) {
  if (type == kBf16) return uint16_t(std::bit_cast<uint32_t>(value) >> 16);  // exact values only
  return std::bit_cast<uint16_t>(_Float16(value));
}

}  // namespace

FAKE int cublasCreate_v2(void** handle) { return *handle = new Handle, 0; }
FAKE int cublasDestroy_v2(void* handle) { return delete static_cast<Handle*>(handle), 0; }
FAKE int cublasSetMathMode(void* handle, int mode) { return static_cast<Handle*>(handle)->mathMode = mode, 0; }

FAKE int cublasSetStream_v2(void* handle, void* stream) {
  auto* h = static_cast<Handle*>(handle);
  h->stream = stream;
  h->hasWorkspace = false;  // the library's own again
  return 0;
}

FAKE int cublasSetWorkspace_v2(void* handle, uint64_t workspace, size_t bytes) {
  static_cast<Handle*>(handle)->hasWorkspace = workspace != 0 && bytes != 0;
  return 0;
}

FAKE int cublasGemmEx(void* handle, int opA, int opB, int m, int n, int k, const float* alpha, uint64_t a, int typeA,
                      int lda, uint64_t b, int typeB, int ldb, const float* beta, uint64_t c, int typeC, int ldc,
                      int compute, int algorithm) {
  auto* h = static_cast<Handle*>(handle);
  bool known = (typeA == kFp16 || typeA == kBf16) && typeA == typeB && typeA == typeC;
  if (!known || !h->hasWorkspace || h->mathMode != kPartsInFp32 || compute != kSumsInFp32 || algorithm != -1 ||
      (*beta != 0 && *beta != 1) || ldc < m || lda < (opA == kTransposed ? k : m) || ldb < (opB == kTransposed ? n : k))
    return kInvalid;
  auto at = [](uint64_t matrix, int type, int op, int ld, int64_t row, int64_t column) {
    if (op == kTransposed) std::swap(row, column);
    return valueOf(reinterpret_cast<const uint16_t*>(matrix)[column * ld + row], type);
  };
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t l = 0; l < k; ++l) sum += at(a, typeA, opA, lda, i, l) * at(b, typeB, opB, ldb, l, j);
      uint16_t& out = reinterpret_cast<uint16_t*>(c)[j * ldc + i];
      out = bitsOf(*alpha * sum + (*beta ? valueOf(out, typeC) : 0), typeC);
    }
  return 0;
}
