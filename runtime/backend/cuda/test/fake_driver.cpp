// A CUDA driver without a GPU, for tests: memory is the host's, "code" is a line of text that says a kernel's parameter
// sizes, and every launch is written down. Code: "FAKE name size,size,... registers localBytes".
#include "runtime/backend/cuda/test/fake_streams.h"
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
struct ContextObject {
  int device;
};
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
int streams = 0;
bool quiet = false;  // launches are not written down: for timing
ContextObject primary[kDevices] = {{0}, {1}};
thread_local std::vector<Context> stack;

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

Result result(const char* call) {
  std::lock_guard lock(mutex);
  auto found = failures.find(call);
  if (found == failures.end()) return kSuccess;
  Result r = found->second;
  failures.erase(found);
  return r;
}

Result note(const char* call, const std::string& line) {
  Result r = result(call);
  std::lock_guard lock(mutex);
  if (!r) text += line + "\n";
  return r;
}

FAKE const char* fakeLog() { return text.c_str(); }
FAKE void fakeClear() { text.clear(); }
FAKE void fakeFail(const char* call, int r) { failures[call] = r; }
FAKE void fakeQuiet(int on) { quiet = on; }
FAKE int fakeAllocations() { return int(allocations.size()); }

FAKE Result cuInit(unsigned) { return std::getenv("TANDEM_FAKE_CUDA_NONE") ? kNoDevice : kSuccess; }
FAKE Result cuDriverGetVersion(int* v) { return *v = 13000, kSuccess; }
FAKE Result cuGetErrorName(Result r, const char** name) {
  *name = r == kOutOfMemory ? "CUDA_ERROR_OUT_OF_MEMORY"
          : r == kNoDevice  ? "CUDA_ERROR_NO_DEVICE"
                            : "CUDA_ERROR_INVALID_VALUE";
  return kSuccess;
}
FAKE Result cuGetErrorString(Result r, const char** name) {
  *name = r == kOutOfMemory ? "out of memory"
          : r == kNoDevice  ? "no CUDA-capable device is detected"
                            : "invalid argument";
  return kSuccess;
}
FAKE Result cuDeviceGetCount(int* count) { return *count = kDevices, kSuccess; }
FAKE Result cuDeviceGetName(char* name, int size, DeviceIndex) {
  return std::snprintf(name, size_t(size), "Fake H200"), kSuccess;
}
FAKE Result cuDeviceGetAttribute(int* value, DeviceAttribute a, DeviceIndex device) {
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
FAKE Result cuDeviceTotalMem_v2(size_t* bytes, DeviceIndex) { return *bytes = size_t(141) << 30, kSuccess; }
FAKE Result cuDevicePrimaryCtxRetain(Context* context, DeviceIndex device) {
  *context = &primary[device];
  return note("cuDevicePrimaryCtxRetain", "retain " + std::to_string(device));
}
FAKE Result cuCtxGetCurrent(Context* context) { return *context = stack.empty() ? nullptr : stack.back(), kSuccess; }
FAKE Result cuCtxSetCurrent(Context context) {
  if (!stack.empty()) stack.pop_back();
  if (context) stack.push_back(context);
  return kSuccess;
}
FAKE Result cuCtxPushCurrent_v2(Context context) { return stack.push_back(context), kSuccess; }
FAKE Result cuCtxPopCurrent_v2(Context* context) {
  *context = stack.back();
  stack.pop_back();
  return kSuccess;
}
FAKE Result cuCtxGetDevice(DeviceIndex* device) {
  return stack.empty() ? 201 : (*device = stack.back()->device, kSuccess);
}
FAKE Result cuCtxSynchronize() {
  return note("cuCtxSynchronize", "synchronize " + std::to_string(stack.back()->device));
}

FAKE Result cuModuleLoadDataEx(Module* module, const void* image, unsigned count, JitOption* options, void** values) {
  if (Result r = note("cuModuleLoadDataEx", "load on " + std::to_string(stack.back()->device))) {
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
FAKE Result cuModuleGetFunction(Function* function, Module module, const char* name) {
  *function = &module->function;
  return module->function.name == name ? kSuccess : 500;
}
// Modules whose kernel's name begins so call NVSHMEM.
FAKE Result cuModuleGetGlobal_v2(Address* at, size_t* bytes, Module module, const char* name) {
  if (std::string(name) != "nvshmemi_device_state_d" || !module->function.name.starts_with("nvshmem")) return 500;
  return *at = 4096, *bytes = 8, kSuccess;
}
FAKE Result cuFuncSetAttribute(Function, FunctionAttribute a, int value) {
  return note("cuFuncSetAttribute", "attribute " + std::to_string(int(a)) + " = " + std::to_string(value));
}
FAKE Result cuFuncGetAttribute(int* value, FunctionAttribute a, Function f) {
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
FAKE Result cuLaunchKernelEx(const DriverLaunch* l, Function f, void** params, void**) {
  if (quiet) return kSuccess;
  if (f->name == "tandem_signal_add") return addToSignals(l->stream, params);
  if (f->name == "tandem_clock") return answerWithTime(l->stream, params);
  std::string line =
      "launch " + f->name + " on " + std::to_string(stack.back()->device) + " grid " + join(l->grid, 3) + " block " +
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
FAKE Result cuTensorMapEncodeTiled(TensorMap* map, MapElement element, uint32_t rank, void* base, const uint64_t* sizes,
                                   const uint64_t* strides, const uint32_t* box, const uint32_t* steps, MapInterleave,
                                   MapSwizzle swizzle, MapL2Promotion, MapFill fill) {
  *map = {};
  map->words[0] = reinterpret_cast<uintptr_t>(base);
  map->words[1] = sizes[0];
  return note("cuTensorMapEncodeTiled", "encode " + std::to_string(int(element)) + " sizes " + join(sizes, rank) +
                                            " strides " + join(strides, rank - 1) + " box " + join(box, rank) +
                                            " steps " + join(steps, rank) + " swizzle " + std::to_string(int(swizzle)) +
                                            " fill " + std::to_string(int(fill)));
}

FAKE Result cuMemAlloc_v2(Address* address, size_t bytes) {
  if (Result r = result("cuMemAlloc")) return r;
  *address = reinterpret_cast<Address>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  std::lock_guard lock(mutex);
  allocations.insert(*address);
  return kSuccess;
}
FAKE Result cuMemFree_v2(Address address) {
  std::lock_guard lock(mutex);
  if (!allocations.erase(address)) return kInvalidValue;
  std::free(reinterpret_cast<void*>(address));
  return kSuccess;
}
static Result move(Stream stream, void* dest, const void* source, size_t bytes) {
  return enqueue(stream, [=] { return std::memcpy(dest, source, bytes), true; });
}
FAKE Result cuMemcpyAsync(Address dest, Address source, size_t bytes, Stream stream) {
  return move(stream, reinterpret_cast<void*>(dest), reinterpret_cast<void*>(source), bytes);
}
FAKE Result cuMemcpy2DAsync_v2(const RowsCopy* copy, Stream stream) {
  return enqueue(stream, [c = *copy] {
    for (size_t i = 0; i < c.height; ++i)
      std::memcpy(reinterpret_cast<char*>(c.dest.device + i * c.dest.pitch),
                  reinterpret_cast<const char*>(c.source.device + i * c.source.pitch), c.widthBytes);
    return true;
  });
}
FAKE Result cuMemcpyHtoDAsync_v2(Address dest, const void* source, size_t bytes, Stream stream) {
  return move(stream, reinterpret_cast<void*>(dest), source, bytes);
}
FAKE Result cuMemcpyDtoHAsync_v2(void* dest, Address source, size_t bytes, Stream stream) {
  return move(stream, dest, reinterpret_cast<void*>(source), bytes);
}
FAKE Result cuMemsetD8Async(Address dest, unsigned char value, size_t bytes, Stream stream) {
  return enqueue(stream, [=] { return std::memset(reinterpret_cast<void*>(dest), value, bytes), true; });
}
FAKE Result cuPointerGetAttribute(void* value, PointerAttribute a, Address address) {
  std::lock_guard lock(mutex);
  if (!allocations.contains(address)) return kInvalidValue;
  if (a == PointerAttribute::DevicePointer)
    *static_cast<Address*>(value) = address;
  else
    *static_cast<int*>(value) = 0;
  return kSuccess;
}
static Result newStream(Stream* stream) {
  std::lock_guard lock(mutex);
  return *stream = new StreamObject{++streams, {}}, kSuccess;
}
FAKE Result cuStreamCreate(Stream* stream, unsigned) { return newStream(stream); }
FAKE Result cuStreamDestroy_v2(Stream stream) { return delete stream, kSuccess; }
FAKE Result cuStreamSynchronize(Stream stream) {
  while (!progress(stream)) std::this_thread::yield();
  return note("cuStreamSynchronize", "synchronize stream");
}
FAKE Result cuStreamWaitEvent(Stream stream, Event event, unsigned) {
  if (!event) return kInvalidValue;
  if (event->graph) stream->graph = event->graph;
  return enqueue(stream, [event, until = event->records.load()] {
    if (event->passed < until) progress(event->stream);
    return event->passed >= until;
  });
}
FAKE Result cuEventCreate(Event* event, unsigned) { return *event = new EventObject, kSuccess; }
FAKE Result cuEventRecord(Event event, Stream stream) {
  event->stream = stream;
  event->graph = isHandle(stream) ? nullptr : stream->graph;
  event->captured = event->graph || (!isHandle(stream) && stream->capturing);
  if (event->graph) event->graph->events.insert(event);
  return enqueue(stream, [event, number = ++event->records] { return event->passed = number, true; });
}
FAKE Result cuStreamBeginCapture_v2(Stream stream, int mode) {
  stream->graph = new GraphTextObject{{{stream, {}}}, {}};
  return note("cuStreamBeginCapture", "begin capture mode " + std::to_string(mode));
}
FAKE Result cuStreamEndCapture(Stream stream, GraphText* captured) {
  *captured = stream->graph;
  for (auto& [each, work] : (*captured)->work) each->graph = nullptr;
  return note("cuStreamEndCapture", "end capture");
}
FAKE Result cuGraphInstantiateWithFlags(Graph* graph, GraphText captured, unsigned long long) {
  *graph = reinterpret_cast<Graph>(new GraphTextObject(*captured));
  return kSuccess;
}
FAKE Result cuGraphDestroy(GraphText captured) { return delete captured, kSuccess; }
FAKE Result cuGraphExecDestroy(Graph graph) {
  delete reinterpret_cast<GraphText>(graph);
  return note("cuGraphExecDestroy", "destroy graph");
}
// One piece of work of the stream, which goes on wherever one of the captured streams can.
FAKE Result cuGraphLaunch(Graph graph, Stream stream) {
  if (Result r = note("cuGraphLaunch", "launch graph")) return r;
  auto captured = std::make_shared<GraphTextObject>(*reinterpret_cast<GraphText>(graph));
  return enqueue(stream, [captured, begun = false]() mutable {
    if (!std::exchange(begun, true))
      for (Event event : captured->events) event->passed = 0;
    bool done = true;
    for (bool moved = true; std::exchange(moved, false);) {
      done = true;
      for (auto& [each, work] : captured->work) {
        while (!work.empty() && work.front()()) work.pop_front(), moved = true;
        done &= work.empty();
      }
    }
    return done;
  });
}
FAKE Result cuEventSynchronize(Event) { return kSuccess; }
FAKE Result cuEventElapsedTime(float* ms, Event start, Event end) {
  *ms = float(start->records + end->records);
  return kSuccess;
}
FAKE Result cuEventDestroy_v2(Event event) { return delete event, kSuccess; }
