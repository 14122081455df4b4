// Calls that are harmless beside a graph capture of another library, but that the driver forbids by default.
#pragma once
#include "runtime/backend/cuda/driver.h"

namespace tandem::runtime::cuda {

// Until the scope ends the calling thread may allocate, query and synchronise streams that are not being captured.
class BesideCapture {
 public:
  BesideCapture() {
    if (exchange_) exchange_(&mode_);
  }
  ~BesideCapture() {
    if (exchange_) exchange_(&mode_);
  }
  BesideCapture(const BesideCapture&) = delete;
  BesideCapture& operator=(const BesideCapture&) = delete;

 private:
  static constexpr int kRelaxed = 2;
  Result (*exchange_)(int*) = driver().threadExchangeStreamCaptureMode;
  int mode_ = kRelaxed;
};

inline bool isCapturing(Stream stream) {
  constexpr int none = 0;
  int status = none;
  if (auto call = driver().streamIsCapturing) check(call(stream, &status), "cuStreamIsCapturing");
  return status != none;
}

}  // namespace tandem::runtime::cuda
