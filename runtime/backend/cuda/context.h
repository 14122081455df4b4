// A scope selects the device that the driver's calls are for. It shares the primary contexts with every other user in
// the process.
#pragma once
#include "runtime/backend/cuda/driver.h"

namespace tandem::runtime::cuda {

// The device of the calling thread's context; 0 when the thread has none.
int currentDevice();

// Makes a device's context current. A thread's current context is used as it is when it belongs to the device;
// otherwise the device's primary context is current until the scope ends (and stays so on a thread that had none).
// `device` -1: the current device.
class OnDevice {
 public:
  explicit OnDevice(int device);
  ~OnDevice();
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

  Context context() const { return context_; }
  int device() const { return device_; }

 private:
  Context context_ = nullptr;
  int device_ = 0;
  bool pushed_ = false;
};

}  // namespace tandem::runtime::cuda
