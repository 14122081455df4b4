// The emulated devices, and what calls return.
#include "emulator/driver/driver.h"
#include <atomic>
#include <cstdio>
#include <mutex>

using namespace tandem::runtime::cuda;
namespace emulator = tandem::emulator;

namespace {

std::atomic<Result> failure = kSuccess;  // of a launch: CUDA has it stay

struct ResultName {
  Result result;
  const char *name, *text;
};
constexpr ResultName kResults[] = {
    {kInvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {kNoBinaryForGpu, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {kNotReady, "CUDA_ERROR_NOT_READY", "device not ready"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {710, "CUDA_ERROR_ASSERT", "device-side assert triggered"},
    {714, "CUDA_ERROR_HARDWARE_STACK_ERROR", "hardware stack error"},
    {715, "CUDA_ERROR_ILLEGAL_INSTRUCTION", "an illegal instruction was encountered"},
    {716, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {717, "CUDA_ERROR_INVALID_ADDRESS_SPACE", "operation not supported on global/shared address space"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
};
constexpr ResultName kOther = {-1, "CUDA_ERROR_UNKNOWN", "unknown error"};

const ResultName& nameOf(Result result) {
  for (const ResultName& each : kResults)
    if (each.result == result) return each;
  return kOther;
}

}  // namespace

Result tandem::runtime::cuda::result(const char*) { return failure; }
Result tandem::runtime::cuda::note(const char* call, const std::string&) { return result(call); }

void emulator::fail(const Fault& fault) {
  std::fprintf(stderr, "tandem emulator: %s\n", fault.what());
  Result none = kSuccess;
  failure.compare_exchange_strong(none, fault.code);
}

HOST_DRIVER Result cuInit(unsigned) { return kSuccess; }
HOST_DRIVER Result cuDriverGetVersion(int* version) { return *version = 13000, kSuccess; }
HOST_DRIVER Result cuGetErrorName(Result r, const char** name) { return *name = nameOf(r).name, kSuccess; }
HOST_DRIVER Result cuGetErrorString(Result r, const char** text) { return *text = nameOf(r).text, kSuccess; }
HOST_DRIVER Result cuDeviceGetCount(int* count) { return *count = kHostDevices, kSuccess; }
HOST_DRIVER Result cuDeviceGetName(char* name, int size, DeviceIndex) {
  return std::snprintf(name, size_t(size), "NVIDIA H200 (emulated)"), kSuccess;
}
HOST_DRIVER Result cuDeviceTotalMem_v2(size_t* bytes, DeviceIndex) { return *bytes = size_t(141) << 30, kSuccess; }
HOST_DRIVER Result cuDeviceCanAccessPeer(int* can, DeviceIndex, DeviceIndex) { return *can = 1, kSuccess; }
HOST_DRIVER Result cuDeviceGetAttribute(int* value, DeviceAttribute a, DeviceIndex) {
  static const std::map<DeviceAttribute, int> values = {
      {DeviceAttribute::MaxThreadsPerBlock, 1024},
      {DeviceAttribute::WarpSize, int(emulator::kLanes)},
      {DeviceAttribute::MaxRegistersPerBlock, 65536},
      {DeviceAttribute::ClockRateKhz, 1980000},
      {DeviceAttribute::MultiprocessorCount, int(emulator::Launch::kMultiprocessors)},
      {DeviceAttribute::MemoryClockRateKhz, 3201000},
      {DeviceAttribute::MemoryBusWidthBits, 6144},
      {DeviceAttribute::L2CacheBytes, 62914560},
      {DeviceAttribute::ComputeCapabilityMajor, 9},
      {DeviceAttribute::ComputeCapabilityMinor, 0},
      {DeviceAttribute::MaxSharedMemoryPerBlockOptin, 232448},
      {DeviceAttribute::VirtualMemoryManagement, 1},
      {DeviceAttribute::PosixDescriptorHandles, 1},
      {DeviceAttribute::StreamWaitValueNor, 1}};
  auto found = values.find(a);
  return found == values.end() ? kInvalidValue : (*value = found->second, kSuccess);
}
HOST_DRIVER Result cuEventElapsedTime(float* ms, Event start, Event end) {
  return *ms = std::chrono::duration<float, std::milli>(end->time - start->time).count(), result("cuEventElapsedTime");
}
