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

// Returns true also for the default stream while another stream that it waits for is being captured.
inline bool isCapturing(Stream stream) {
  constexpr int none = 0;
  constexpr Result implicit = 906;
  int status = none;
  auto call = driver().streamIsCapturing;
  Result r = call ? call(stream, &status) : kSuccess;
  if (r == implicit) return true;
  check(r, "cuStreamIsCapturing");
  return status != none;
}

}  // namespace tandem::runtime::cuda
