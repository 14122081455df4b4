// Calls that are harmless beside a graph capture of another library, but that the driver forbids by default.
#pragma once
#include "runtime/backend/cuda/driver.h"

namespace tandem::runtime::cuda {

// The calling thread's mode, which says what it may do while streams are being captured. Returns the mode before.
constexpr int kRelaxedCapture = 2;
inline int exchangeCaptureMode(int mode) {
  if (auto exchange = driver().threadExchangeStreamCaptureMode) exchange(&mode);
  return mode;
}

// Until the scope ends the calling thread may allocate, query and synchronise streams that are not being captured.
class BesideCapture {
 public:
  BesideCapture() : mode_(exchangeCaptureMode(kRelaxedCapture)) {}
  ~BesideCapture() { exchangeCaptureMode(mode_); }
  BesideCapture(const BesideCapture&) = delete;
  BesideCapture& operator=(const BesideCapture&) = delete;

 private:
  int mode_;
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
