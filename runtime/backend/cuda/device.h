// A device is one GPU: its name, its sizes and the compiler's name for its architecture.
#pragma once
#include "runtime/backend/cuda/driver.h"

namespace tandem::runtime::cuda {

struct DeviceProperties {
  std::string name;
  std::string target;  // "sm_90a"
  int major = 0, minor = 0;
  uint64_t memoryBytes = 0;
  int multiprocessors = 0, warpSize = 0, maxThreads = 0;
  int maxSharedBytes = 0;  // of one block, opted in
  int maxRegisters = 0;    // of one block
  int l2Bytes = 0;
  int clockKhz = 0, memoryClockKhz = 0, memoryBusBits = 0;
};

int deviceCount();
// Throws with both numbers when there is no such device.
void checkDevice(int device);
// Read once and kept. Thread-safe.
const DeviceProperties& propertiesOf(int device);

}  // namespace tandem::runtime::cuda
