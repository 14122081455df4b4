// NVIDIA's library of matrix products, cuBLAS, opened at run time.
#pragma once
#include "runtime/backend/cuda/driver.h"
#include "runtime/session.h"

namespace tandem::runtime::cuda {

// One device's handle. Calls queue products on a stream; used by one thread at a time.
class Blas {
 public:
  // Opens libcublas as the process has it already (PyTorch brings one), else as the system finds it, or the file that
  // $TANDEM_CUBLAS names. Throws Unavailable.
  explicit Blas(int device);
  ~Blas();
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;

  void multiply(Stream stream, const Product& product);

 private:
  struct Functions;
  static const Functions& functions();
  int device_;
  void* handle_ = nullptr;
};

}  // namespace tandem::runtime::cuda
