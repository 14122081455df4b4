// NVIDIA's library of matrix products, cuBLASLt, opened at run time.
#pragma once
#include "runtime/backend/cuda/driver.h"
#include "runtime/session.h"
#include <array>
#include <map>

namespace tandem::runtime::cuda {

// One device's handle. Calls queue products on a stream; used by one thread at a time.
class Blas {
 public:
  // Opens libcublasLt as the process has it already (PyTorch brings one), else as the system finds it, or the file that
  // $TANDEM_CUBLAS names. Throws Unavailable.
  explicit Blas(int device);
  ~Blas();
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;

  void multiply(Stream stream, const Product& product);

 private:
  struct Functions;
  class Plan;
  // What the library's choice depends on: sizes, element type, transposition, workspace, and how addresses are aligned.
  using Key = std::array<uint64_t, 10>;
  static Key keyOf(const Product& product);
  static const Functions& functions();
  int device_;
  void* handle_ = nullptr;
  std::map<Key, Plan> plans_;
};

}  // namespace tandem::runtime::cuda
