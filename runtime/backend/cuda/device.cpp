// Devices' properties, read from the driver once.
#include "runtime/backend/cuda/device.h"
#include <map>
#include <mutex>

namespace tandem::runtime::cuda {
namespace {

int attribute(DeviceAttribute a, int device) {
  int value = 0;
  check(driver().deviceGetAttribute(&value, a, device), "cuDeviceGetAttribute");
  return value;
}

// From Hopper on the tensor core's and TMA's instructions belong to the architecture-specific target.
std::string targetWord(int major, int minor) {
  return "sm_" + std::to_string(major * 10 + minor) + (major >= 9 ? "a" : "");
}

DeviceProperties readProperties(int device) {
  DeviceProperties p;
  char name[256] = "";
  size_t bytes = 0;
  check(driver().deviceGetName(name, sizeof name, device), "cuDeviceGetName");
  check(driver().deviceTotalMem(&bytes, device), "cuDeviceTotalMem");
  p.name = name;
  p.memoryBytes = bytes;
  p.major = attribute(DeviceAttribute::ComputeCapabilityMajor, device);
  p.minor = attribute(DeviceAttribute::ComputeCapabilityMinor, device);
  p.target = targetWord(p.major, p.minor);
  p.multiprocessors = attribute(DeviceAttribute::MultiprocessorCount, device);
  p.warpSize = attribute(DeviceAttribute::WarpSize, device);
  p.maxThreads = attribute(DeviceAttribute::MaxThreadsPerBlock, device);
  p.maxSharedBytes = attribute(DeviceAttribute::MaxSharedMemoryPerBlockOptin, device);
  p.maxRegisters = attribute(DeviceAttribute::MaxRegistersPerBlock, device);
  p.l2Bytes = attribute(DeviceAttribute::L2CacheBytes, device);
  p.clockKhz = attribute(DeviceAttribute::ClockRateKhz, device);
  p.memoryClockKhz = attribute(DeviceAttribute::MemoryClockRateKhz, device);
  p.memoryBusBits = attribute(DeviceAttribute::MemoryBusWidthBits, device);
  return p;
}

}  // namespace

int deviceCount() {
  int count = 0;
  check(driver().deviceGetCount(&count), "cuDeviceGetCount");
  return count;
}

void checkDevice(int device) {
  int count = deviceCount();
  if (device < 0 || device >= count)
    throw std::out_of_range("device " + std::to_string(device) + " is not one of the " + std::to_string(count));
}

const DeviceProperties& propertiesOf(int device) {
  static std::mutex mutex;
  static std::map<int, DeviceProperties> known;
  std::lock_guard lock(mutex);
  auto found = known.find(device);
  if (found != known.end()) return found->second;
  checkDevice(device);
  return known.emplace(device, readProperties(device)).first->second;
}

}  // namespace tandem::runtime::cuda
