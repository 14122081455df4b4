// The library's C functions, structures and numbers, as its versions 12 and 13 have them.
#include "runtime/backend/cuda/blas.h"
#include "runtime/backend/cuda/context.h"
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <dlfcn.h>
#include <memory>

namespace tandem::runtime::cuda {
namespace {

constexpr const char* kFiles[] = {"libcublasLt.so.13", "libcublasLt.so.12"};
constexpr int32_t kTransposed = 1;                           // cublasOperation_t
constexpr int kFp32 = 0, kFp16 = 2, kBf16 = 14, kE4M3 = 28;  // cudaDataType
constexpr int kSumsInFp32 = 68;                              // cublasComputeType_t
constexpr int kTransposesA = 3, kSumsFast = 25;              // cublasLtMatmulDescAttributes_t
constexpr int kMostWorkspace = 1, kReductionSchemes = 3;     // cublasLtMatmulPreferenceAttributes_t
constexpr int kAlignments[] = {5, 6, 7, 8};                  // of A, B, C and D, the same
constexpr int kTileId = 1;                                   // cublasLtMatmulAlgoConfigAttributes_t
constexpr uint32_t kPartsInFp32 = 2;      // cublasLtReductionScheme_t: sums of split products are not rounded between
constexpr uint64_t kBestAlignment = 256;  // more makes no difference to the library
constexpr int kAlgorithms = 8;            // that are asked for, the library's best guess first

// Tiles of 512 rows and 72 columns or more, as cublasLtMatmulTile_t numbers them: their ring in shared memory holds two
// steps of K, and the library takes them for some sizes where its next guess takes up to a third less time.
constexpr uint32_t kFirstShallowTile = 580, kLastShallowTile = 587;

using Handle = void*;
using Descriptor = void*;

struct Algorithm {  // cublasLtMatmulAlgo_t
  uint64_t data[8];
};

struct Heuristic {  // cublasLtMatmulHeuristicResult_t
  Algorithm algorithm;
  size_t workspaceBytes;
  int status;
  float waves;
  int reserved[4];
};

// A fake driver's memory is not for the real library: tests name both.
void* openLibrary(std::string& file) {
  auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value ? value : "");
  };
  file = variable("TANDEM_CUBLAS");
  if (!file.empty()) return dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!variable("TANDEM_CUDA_DRIVER").empty()) return nullptr;
  for (int mode : {RTLD_NOLOAD, 0})
    for (const char* name : kFiles)
      if (void* library = dlopen((file = name).c_str(), RTLD_NOW | RTLD_LOCAL | mode)) return library;
  return nullptr;
}

void succeed(int status, const char* call) {
  if (status)
    throw std::runtime_error(std::string("cuBLAS: `") + call + "` failed with status " + std::to_string(status));
}

uint64_t alignmentOf(Address address) {
  return std::min(kBestAlignment, uint64_t(1) << std::min(std::countr_zero(address), 63));
}

}  // namespace

#define TANDEM_CUBLAS_FUNCTIONS(F)                                                                                  \
  F(create, cublasLtCreate, (Handle*))                                                                              \
  F(destroy, cublasLtDestroy, (Handle))                                                                             \
  F(productCreate, cublasLtMatmulDescCreate, (Descriptor*, int, int))                                               \
  F(productDestroy, cublasLtMatmulDescDestroy, (Descriptor))                                                        \
  F(productSet, cublasLtMatmulDescSetAttribute, (Descriptor, int, const void*, size_t))                             \
  F(layoutCreate, cublasLtMatrixLayoutCreate, (Descriptor*, int, uint64_t, uint64_t, int64_t))                      \
  F(layoutDestroy, cublasLtMatrixLayoutDestroy, (Descriptor))                                                       \
  F(preferenceCreate, cublasLtMatmulPreferenceCreate, (Descriptor*))                                                \
  F(preferenceDestroy, cublasLtMatmulPreferenceDestroy, (Descriptor))                                               \
  F(preferenceSet, cublasLtMatmulPreferenceSetAttribute, (Descriptor, int, const void*, size_t))                    \
  F(heuristics, cublasLtMatmulAlgoGetHeuristic,                                                                     \
    (Handle, Descriptor, Descriptor, Descriptor, Descriptor, Descriptor, Descriptor, int, Heuristic*, int*))        \
  F(algorithmGet, cublasLtMatmulAlgoConfigGetAttribute, (const Algorithm*, int, void*, size_t, size_t*))            \
  F(multiply, cublasLtMatmul,                                                                                       \
    (Handle, Descriptor, const float*, Address, Descriptor, Address, Descriptor, const float*, Address, Descriptor, \
     Address, Descriptor, const Algorithm*, Address, size_t, Stream))

struct Blas::Functions {
#define TANDEM_MEMBER(member, symbol, parameters) int(*member) parameters = nullptr;
  TANDEM_CUBLAS_FUNCTIONS(TANDEM_MEMBER)
#undef TANDEM_MEMBER
};

const Blas::Functions& Blas::functions() {
  static const Functions found = [] {
    Functions out;
    std::string file;
    void* library = openLibrary(file);
    if (!library) throw Unavailable("cuBLAS cannot be opened");
#define TANDEM_RESOLVE(member, symbol, parameters)                           \
  out.member = reinterpret_cast<int(*) parameters>(dlsym(library, #symbol)); \
  if (!out.member) throw Unavailable("cuBLAS `" + file + "` has no `" #symbol "`");
    TANDEM_CUBLAS_FUNCTIONS(TANDEM_RESOLVE)
#undef TANDEM_RESOLVE
    return out;
  }();
  return found;
}

// A product as the library knows it, and the algorithm for it. The library knows matrices by columns: out as it lies there
// is the transposed product, of b and a transposed.
class Blas::Plan {
 public:
  Plan(Handle handle, const Product& p) {
    const Functions& f = functions();
    bool isFp8 = p.type == ProductType::Float8E4NV;
    int result = p.type == ProductType::Float16 ? kFp16 : p.type == ProductType::Float32 ? kFp32 : kBf16;
    int operand = isFp8 ? kE4M3 : result;
    auto layout = [&](int type, int64_t rows, int64_t columns) {
      Descriptor made = nullptr;
      succeed(f.layoutCreate(&made, type, uint64_t(rows), uint64_t(columns), rows), "cublasLtMatrixLayoutCreate");
      return Held(made, f.layoutDestroy);
    };
    Descriptor made = nullptr;
    succeed(f.productCreate(&made, kSumsInFp32, kFp32), "cublasLtMatmulDescCreate");
    product_ = Held(made, f.productDestroy);
    if (p.bTransposed)
      succeed(f.productSet(product_.get(), kTransposesA, &kTransposed, sizeof kTransposed),
              "cublasLtMatmulDescSetAttribute");
    if (int8_t isFast = 1; isFp8)  // as wgmma sums, and PyTorch unless told otherwise
      succeed(f.productSet(product_.get(), kSumsFast, &isFast, sizeof isFast), "cublasLtMatmulDescSetAttribute");
    b_ = p.bTransposed ? layout(operand, p.k, p.n) : layout(operand, p.n, p.k);
    a_ = layout(operand, p.k, p.m);
    out_ = layout(result, p.n, p.m);
    choose(handle, p);
  }

  void multiply(Handle handle, Stream stream, const Product& p) const {
    const float one = 1, zero = 0;
    succeed(functions().multiply(handle, product_.get(), &one, p.b, b_.get(), p.a, a_.get(), p.added ? &one : &zero,
                                 p.added ? p.added : p.out, out_.get(), p.out, out_.get(), &algorithm_, p.workspace,
                                 p.workspaceBytes, stream),
            "cublasLtMatmul");
  }

 private:
  using Held = std::unique_ptr<void, int (*)(Descriptor)>;

  void choose(Handle handle, const Product& p) {
    const Functions& f = functions();
    Descriptor made = nullptr;
    succeed(f.preferenceCreate(&made), "cublasLtMatmulPreferenceCreate");
    Held preference(made, f.preferenceDestroy);
    auto set = [&](int attribute, const auto& value) {
      succeed(f.preferenceSet(made, attribute, &value, sizeof value), "cublasLtMatmulPreferenceSetAttribute");
    };
    set(kMostWorkspace, p.workspaceBytes);
    set(kReductionSchemes, kPartsInFp32);
    Address addresses[] = {p.b, p.a, p.added ? p.added : p.out, p.out};
    for (size_t i = 0; i < std::size(addresses); ++i) set(kAlignments[i], uint32_t(alignmentOf(addresses[i])));
    Heuristic found[kAlgorithms] = {};
    int count = 0;
    succeed(f.heuristics(handle, product_.get(), b_.get(), a_.get(), out_.get(), out_.get(), made, kAlgorithms, found,
                         &count),
            "cublasLtMatmulAlgoGetHeuristic");
    auto isDeep = [&](const Heuristic& h) {
      uint32_t tile = 0;
      size_t written = 0;
      if (h.status || f.algorithmGet(&h.algorithm, kTileId, &tile, sizeof tile, &written)) return false;
      return tile < kFirstShallowTile || tile > kLastShallowTile;
    };
    const Heuristic* best = std::find_if(found, found + count, isDeep);
    algorithm_ = (best == found + count ? found : best)->algorithm;
  }

  Held product_{nullptr, nullptr}, a_{nullptr, nullptr}, b_{nullptr, nullptr}, out_{nullptr, nullptr};
  Algorithm algorithm_;
};

Blas::Blas(int device) : device_(device) {
  OnDevice scope(device_);
  if (int status = functions().create(&handle_))
    throw Unavailable("cuBLAS does not start: `cublasLtCreate` failed with status " + std::to_string(status));
}

Blas::~Blas() {
  OnDevice scope(device_);
  plans_.clear();
  functions().destroy(handle_);
}

Blas::Key Blas::keyOf(const Product& p) {
  return {uint64_t(p.m),    uint64_t(p.n),    uint64_t(p.k),    uint64_t(p.type),   p.bTransposed,
          p.workspaceBytes, alignmentOf(p.a), alignmentOf(p.b), alignmentOf(p.out), p.added ? alignmentOf(p.added) : 0};
}

void Blas::multiply(Stream stream, const Product& p) {
  OnDevice scope(device_);
  Key key = keyOf(p);
  auto found = plans_.find(key);
  if (found == plans_.end()) found = plans_.try_emplace(key, handle_, p).first;
  found->second.multiply(handle_, stream, p);
}

}  // namespace tandem::runtime::cuda
