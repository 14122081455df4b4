// A CUDA driver without a GPU, for tests: memory is the host's, "code" is a line of text that says a kernel's parameter
// sizes, and every launch is written down. Code: "FAKE name size,size,... registers localBytes".
#include "runtime/backend/cuda/host/streams.h"
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

using namespace tandem::runtime::cuda;

namespace tandem::runtime::cuda {
struct FunctionObject {
  std::string name;
  std::vector<int> sizes;
  int registers = 0, localBytes = 0;
};
struct ModuleObject {
  FunctionObject function;
};
// Nothing unloads a module, so they live as long as the driver.
static std::vector<std::unique_ptr<ModuleObject>> modules;

}  // namespace tandem::runtime::cuda

namespace {

constexpr int kDevices = 2;

std::mutex mutex;
std::string text;                        // what happened
std::map<std::string, Result> failures;  // the result of the next call, by the call's name
std::set<Address> allocations;
bool quiet = false;  // launches are not written down: for timing

std::string hex(const void* bytes, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", static_cast<const unsigned char*>(bytes)[i]);
    out += two;
  }
  return out;
}

template <class T>
std::string join(const T* values, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += (i ? "," : "") + std::to_string(values[i]);
  return out;
}

}  // namespace

Result tandem::runtime::cuda::result(const char* call) {
  std::lock_guard lock(mutex);
  auto found = failures.find(call);
  if (found == failures.end()) return kSuccess;
  Result r = found->second;
  failures.erase(found);
  return r;
}

Result tandem::runtime::cuda::note(const char* call, const std::string& line) {
  Result r = result(call);
  std::lock_guard lock(mutex);
  if (!r) text += line + "\n";
  return r;
}

void tandem::runtime::cuda::becomesReachable(Address, size_t) {}
void tandem::runtime::cuda::becomesUnreachable(Address) {}

HOST_DRIVER const char* fakeLog() { return text.c_str(); }
HOST_DRIVER void fakeClear() { text.clear(); }
HOST_DRIVER void fakeFail(const char* call, int r) { failures[call] = r; }
HOST_DRIVER void fakeQuiet(int on) { quiet = on; }
HOST_DRIVER int fakeAllocations() { return int(allocations.size()); }

HOST_DRIVER Result cuInit(unsigned) { return std::getenv("TANDEM_FAKE_CUDA_NONE") ? kNoDevice : kSuccess; }
HOST_DRIVER Result cuDriverGetVersion(int* v) { return *v = 13000, kSuccess; }
HOST_DRIVER Result cuGetErrorName(Result r, const char** name) {
  *name = r == kOutOfMemory ? "CUDA_ERROR_OUT_OF_MEMORY"
          : r == kNoDevice  ? "CUDA_ERROR_NO_DEVICE"
                            : "CUDA_ERROR_INVALID_VALUE";
  return kSuccess;
}
HOST_DRIVER Result cuGetErrorString(Result r, const char** name) {
  *name = r == kOutOfMemory ? "out of memory"
          : r == kNoDevice  ? "no CUDA-capable device is detected"
                            : "invalid argument";
  return kSuccess;
}
HOST_DRIVER Result cuDeviceGetCount(int* count) { return *count = kDevices, kSuccess; }
HOST_DRIVER Result cuDeviceGetName(char* name, int size, DeviceIndex) {
  return std::snprintf(name, size_t(size), "Fake H200"), kSuccess;
}
HOST_DRIVER Result cuDeviceGetAttribute(int* value, DeviceAttribute a, DeviceIndex device) {
  static const std::map<DeviceAttribute, int> values = {{DeviceAttribute::MaxThreadsPerBlock, 1024},
                                                        {DeviceAttribute::WarpSize, 32},
                                                        {DeviceAttribute::MaxRegistersPerBlock, 65536},
                                                        {DeviceAttribute::ClockRateKhz, 1980000},
                                                        {DeviceAttribute::MultiprocessorCount, 132},
                                                        {DeviceAttribute::MemoryClockRateKhz, 3201000},
                                                        {DeviceAttribute::MemoryBusWidthBits, 6144},
                                                        {DeviceAttribute::L2CacheBytes, 62914560},
                                                        {DeviceAttribute::ComputeCapabilityMajor, 9},
                                                        {DeviceAttribute::ComputeCapabilityMinor, 0},
                                                        {DeviceAttribute::MaxSharedMemoryPerBlockOptin, 232448},
                                                        {DeviceAttribute::VirtualMemoryManagement, 1},
                                                        {DeviceAttribute::PosixDescriptorHandles, 1}};
  *value = values.at(a);
  if (device == 1 && a == DeviceAttribute::ComputeCapabilityMajor) *value = 8;
  return kSuccess;
}
HOST_DRIVER Result cuDeviceTotalMem_v2(size_t* bytes, DeviceIndex) { return *bytes = size_t(141) << 30, kSuccess; }
HOST_DRIVER Result cuDeviceCanAccessPeer(int* can, DeviceIndex, DeviceIndex) {
  return *can = std::getenv("TANDEM_FAKE_CUDA_NO_PEERS") == nullptr, kSuccess;
}
HOST_DRIVER void fakeCapture(Stream stream, int on) { stream->capturing = on; }

HOST_DRIVER Result cuModuleLoadDataEx(Module* module, const void* image, unsigned count, JitOption* options,
                                      void** values) {
  if (Result r = note("cuModuleLoadDataEx", "load on " + std::to_string(current()->device))) {
    for (unsigned i = 0; i < count; ++i)
      if (options[i] == JitOption::ErrorLogBuffer)
        std::strcpy(static_cast<char*>(values[i]), "ptxas error: no such instruction");
    return r;
  }
  std::string code = static_cast<const char*>(image);
  if (code.starts_with(".version"))
    code =
        code.find("tandem_clock") != code.npos ? "FAKE tandem_clock 8,4 16 0" : "FAKE tandem_signal_add 8,8,4,4 16 0";
  std::istringstream in(code);
  std::string magic, sizes, size;
  auto made = std::make_unique<ModuleObject>();
  in >> magic >> made->function.name >> sizes >> made->function.registers >> made->function.localBytes;
  if (magic != "FAKE") return kInvalidValue;
  std::istringstream list(sizes);
  while (std::getline(list, size, ','))
    if (size != "0") made->function.sizes.push_back(std::stoi(size));
  *module = made.get();
  std::lock_guard lock(mutex);
  modules.push_back(std::move(made));
  return kSuccess;
}
HOST_DRIVER Result cuModuleGetFunction(Function* function, Module module, const char* name) {
  *function = &module->function;
  return module->function.name == name ? kSuccess : 500;
}
// Modules whose kernel's name begins so call NVSHMEM.
HOST_DRIVER Result cuModuleGetGlobal_v2(Address* at, size_t* bytes, Module module, const char* name) {
  if (std::string(name) != "nvshmemi_device_state_d" || !module->function.name.starts_with("nvshmem")) return 500;
  return *at = 4096, *bytes = 8, kSuccess;
}
HOST_DRIVER Result cuFuncSetAttribute(Function, FunctionAttribute a, int value) {
  return note("cuFuncSetAttribute", "attribute " + std::to_string(int(a)) + " = " + std::to_string(value));
}
HOST_DRIVER Result cuFuncGetAttribute(int* value, FunctionAttribute a, Function f) {
  *value = a == FunctionAttribute::NumRegs           ? f->registers
           : a == FunctionAttribute::LocalSizeBytes  ? f->localBytes
           : a == FunctionAttribute::SharedSizeBytes ? 0
           : f->registers > 128                      ? 512
                                                     : 1024;
  return kSuccess;
}
// The two kernels that come as PTX.
static Result addToSignals(Stream stream, void** params) {
  auto signal = *static_cast<Address*>(params[0]);
  auto value = *static_cast<uint64_t*>(params[1]);
  auto count = *static_cast<uint32_t*>(params[2]), bytes = *static_cast<uint32_t*>(params[3]);
  return enqueue(stream, [=] {
    for (uint32_t i = 0; i < count; ++i)
      if (bytes == 8)
        __atomic_fetch_add(reinterpret_cast<uint64_t*>(signal) + i, value, __ATOMIC_ACQ_REL);
      else
        __atomic_fetch_add(reinterpret_cast<uint32_t*>(signal) + i, uint32_t(value), __ATOMIC_ACQ_REL);
    return true;
  });
}
// Answers the next question whenever the stream is looked at; its time is the host's and an hour.
static Result answerWithTime(Stream stream, void** params) {
  constexpr std::chrono::nanoseconds ahead = std::chrono::hours(1);
  auto* words = reinterpret_cast<uint32_t*>(*static_cast<Address*>(params[0]));
  auto rounds = *static_cast<uint32_t*>(params[1]);
  return enqueue(stream, [=] {
    uint32_t asked = __atomic_load_n(words, __ATOMIC_ACQUIRE);
    if (asked == words[1]) return false;
    reinterpret_cast<uint64_t*>(words)[1] =
        uint64_t((std::chrono::steady_clock::now().time_since_epoch() + ahead).count());
    __atomic_store_n(words + 1, asked, __ATOMIC_RELEASE);
    return asked == rounds;
  });
}
HOST_DRIVER Result cuLaunchKernelEx(const DriverLaunch* l, Function f, void** params, void**) {
  if (quiet) return kSuccess;
  if (f->name == "tandem_signal_add") return addToSignals(l->stream, params);
  if (f->name == "tandem_clock") return answerWithTime(l->stream, params);
  std::string line =
      "launch " + f->name + " on " + std::to_string(current()->device) + " grid " + join(l->grid, 3) + " block " +
      join(l->block, 3) + " shared " + std::to_string(l->sharedBytes) + " stream " +
      std::to_string(reinterpret_cast<uintptr_t>(l->stream) < 4096 ? int(reinterpret_cast<uintptr_t>(l->stream))
                                                                   : 10000 + l->stream->index);
  for (unsigned i = 0; i < l->attributeCount; ++i) {
    const LaunchAttribute& a = l->attributes[i];
    line += a.id == LaunchAttribute::ClusterDimension ? " cluster " + join(a.size, 3)
            : a.id == LaunchAttribute::Cooperative    ? std::string(a.flag ? " cooperative" : " ?")
                                                      : std::string(a.flag ? " dependent" : " ?");
  }
  for (size_t i = 0; i < f->sizes.size(); ++i) {
    if (f->sizes[i] == 128 && reinterpret_cast<uintptr_t>(params[i]) % 64) return kInvalidValue;
    line += " " + hex(params[i], f->sizes[i]);
  }
  return note("cuLaunchKernelEx", line);
}
HOST_DRIVER Result cuTensorMapEncodeTiled(TensorMap* map, MapElement element, uint32_t rank, void* base,
                                          const uint64_t* sizes, const uint64_t* strides, const uint32_t* box,
                                          const uint32_t* steps, MapInterleave, MapSwizzle swizzle, MapL2Promotion,
                                          MapFill fill) {
  *map = {};
  map->words[0] = reinterpret_cast<uintptr_t>(base);
  map->words[1] = sizes[0];
  return note("cuTensorMapEncodeTiled", "encode " + std::to_string(int(element)) + " sizes " + join(sizes, rank) +
                                            " strides " + join(strides, rank - 1) + " box " + join(box, rank) +
                                            " steps " + join(steps, rank) + " swizzle " + std::to_string(int(swizzle)) +
                                            " fill " + std::to_string(int(fill)));
}

HOST_DRIVER Result cuMemAlloc_v2(Address* address, size_t bytes) {
  if (Result r = result("cuMemAlloc")) return r;
  *address = reinterpret_cast<Address>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  std::lock_guard lock(mutex);
  allocations.insert(*address);
  return kSuccess;
}
HOST_DRIVER Result cuMemFree_v2(Address address) {
  std::lock_guard lock(mutex);
  if (!allocations.erase(address)) return kInvalidValue;
  std::free(reinterpret_cast<void*>(address));
  return kSuccess;
}
HOST_DRIVER Result cuPointerGetAttribute(void* value, PointerAttribute a, Address address) {
  std::lock_guard lock(mutex);
  if (!allocations.contains(address)) return kInvalidValue;
  if (a == PointerAttribute::DevicePointer)
    *static_cast<Address*>(value) = address;
  else
    *static_cast<int*>(value) = 0;
  return kSuccess;
}
HOST_DRIVER Result cuEventElapsedTime(float* ms, Event start, Event end) {
  *ms = float(start->records + end->records);
  return kSuccess;
}
