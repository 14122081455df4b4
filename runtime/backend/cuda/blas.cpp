// The library's C functions and numbers, as its versions 12 and 13 have them.
#include "runtime/backend/cuda/blas.h"
#include "runtime/backend/cuda/context.h"
#include <cstdlib>
#include <dlfcn.h>
#include <limits>

namespace tandem::runtime::cuda {
namespace {

constexpr const char* kFiles[] = {"libcublas.so.13", "libcublas.so.12"};
constexpr int kNormal = 0, kTransposed = 1;  // cublasOperation_t
constexpr int kFp16 = 2, kBf16 = 14;         // cudaDataType
constexpr int kSumsInFp32 = 68;              // cublasComputeType_t
constexpr int kPartsInFp32 = 16;             // cublasMath_t: sums of split products are not rounded between
constexpr int kAnyAlgorithm = -1;            // cublasGemmAlgo_t

using Handle = void*;

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

int sizeOf(int64_t size) {
  if (size > std::numeric_limits<int>::max())
    throw std::invalid_argument("a product of size " + std::to_string(size) + " is too large for cuBLAS");
  return int(size);
}

}  // namespace

#define TANDEM_CUBLAS_FUNCTIONS(F)                                                                                    \
  F(create, cublasCreate_v2, (Handle*))                                                                               \
  F(destroy, cublasDestroy_v2, (Handle))                                                                              \
  F(setMathMode, cublasSetMathMode, (Handle, int))                                                                    \
  F(setStream, cublasSetStream_v2, (Handle, Stream))                                                                  \
  F(setWorkspace, cublasSetWorkspace_v2, (Handle, Address, size_t))                                                   \
  F(gemm, cublasGemmEx,                                                                                               \
    (Handle, int, int, int, int, int, const float*, Address, int, int, Address, int, int, const float*, Address, int, \
     int, int, int))

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

Blas::Blas(int device) : device_(device) {
  OnDevice scope(device_);
  if (int status = functions().create(&handle_))
    throw Unavailable("cuBLAS does not start: `cublasCreate` failed with status " + std::to_string(status));
  succeed(functions().setMathMode(handle_, kPartsInFp32), "cublasSetMathMode");
}

Blas::~Blas() {
  OnDevice scope(device_);
  functions().destroy(handle_);
}

// The library knows matrices by columns: out as it lies there is the transposed product, of b and a transposed. A new
// stream gives the library its own workspace back, so ours is named after it.
void Blas::multiply(Stream stream, const Product& p) {
  const Functions& f = functions();
  const float one = 1, zero = 0;
  int type = p.isBfloat16 ? kBf16 : kFp16, m = sizeOf(p.m), n = sizeOf(p.n), k = sizeOf(p.k);
  OnDevice scope(device_);
  succeed(f.setStream(handle_, stream), "cublasSetStream");
  succeed(f.setWorkspace(handle_, p.workspace, p.workspaceBytes), "cublasSetWorkspace");
  succeed(
      f.gemm(handle_, p.bTransposed ? kTransposed : kNormal, kNormal, n, m, k, &one, p.b, type, p.bTransposed ? k : n,
             p.a, type, k, p.isAdded ? &one : &zero, p.out, type, n, kSumsInFp32, kAnyAlgorithm),
      "cublasGemmEx");
}

}  // namespace tandem::runtime::cuda
