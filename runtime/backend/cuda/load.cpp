// Loads a kernel's code into a context: the cubin, or the PTX through the driver's compiler.
#include "abi/kernel_image_io.h"
#include "runtime/backend/cuda/device.h"
#include "runtime/backend/cuda/kernel.h"
#include "runtime/backend/cuda/nvshmem.h"
#include <utility>

namespace tandem::runtime::cuda {
namespace {

constexpr int kDefaultSharedBytes = 48 * 1024;  // more must be asked for
constexpr int kLargeSharedBytes = 132 * 1024;
constexpr int kPortableClusterSize = 8;

// PTX runs on later devices.
bool isForeign(const abi::KernelImage& image, int device) {
  return image.target.substr(0, image.target.find('+')) != propertiesOf(device).target;
}

Module loadModule(const abi::KernelImage& image, int device, const std::string& code) {
  char log[8192] = "";
  JitOption options[] = {JitOption::ErrorLogBuffer, JitOption::ErrorLogBufferSizeBytes};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  Module module = nullptr;
  Result r = driver().moduleLoadDataEx(&module, code.c_str(), 2, options, values);
  if (r == kSuccess) return module;
  std::string who = "kernel `" + image.name + "`: ";
  if (r == kNoBinaryForGpu)
    throw DriverError(who + "its code is for `" + image.target + "`, device " + std::to_string(device) + " is `" +
                          propertiesOf(device).target + "`",
                      r);
  log[sizeof log - 1] = 0;
  try {
    fail(r, "cuModuleLoadDataEx");
  } catch (const DriverError& e) {
    throw DriverError(who + e.what() + (*log ? std::string("\n") + log : ""), r);
  }
}

int attribute(Function function, FunctionAttribute a) {
  int value = 0;
  check(driver().funcGetAttribute(&value, a, function), "cuFuncGetAttribute");
  return value;
}

void checkSize(const abi::KernelImage& image, Function function, const DeviceProperties& device) {
  std::string who = "out of resources: kernel `" + image.name + "` needs ";
  int shared = image.sharedBytes + attribute(function, FunctionAttribute::SharedSizeBytes);
  if (shared > device.maxSharedBytes)
    throw OutOfResources(who + std::to_string(shared) + " bytes of shared memory, the device has " +
                         std::to_string(device.maxSharedBytes));
  int threads = attribute(function, FunctionAttribute::MaxThreadsPerBlock);
  if (image.threads > threads)
    throw OutOfResources(who + std::to_string(image.threads) + " threads, its registers leave room for " +
                         std::to_string(threads));
}

void prepare(const abi::KernelImage& image, Function function) {
  if (image.sharedBytes > kDefaultSharedBytes)
    check(driver().funcSetAttribute(function, FunctionAttribute::MaxDynamicSharedSizeBytes, image.sharedBytes),
          "cuFuncSetAttribute");
  // Else the driver keeps what such a kernel leaves for the cache, and a small one that may start beside it has no room.
  if (image.sharedBytes > kLargeSharedBytes)
    check(driver().funcSetAttribute(function, FunctionAttribute::PreferredSharedMemoryCarveout, 100),
          "cuFuncSetAttribute");
  if (image.cluster[0] * image.cluster[1] * image.cluster[2] > kPortableClusterSize)
    check(driver().funcSetAttribute(function, FunctionAttribute::NonPortableClusterSizeAllowed, 1),
          "cuFuncSetAttribute");
}

}  // namespace

Kernel::Kernel(std::shared_ptr<const abi::KernelImage> image) : image_(std::move(image)) {
  if (std::string why = abi::problemOf(*image_); !why.empty()) throw std::invalid_argument(why);
  callsNvshmem_ = image_->usesRanks && image_->target.ends_with("+nvshmem");
  maps_ = std::make_unique<TensorMapCache[]>(image_->tensorMaps.size());
}

Kernel::~Kernel() {
  for (LoadedKernel* at = loaded_; at;) delete std::exchange(at, at->next);
}

const LoadedKernel& Kernel::loaded(const OnDevice& scope) {
  for (LoadedKernel* at = loaded_.load(std::memory_order_acquire); at; at = at->next)
    if (at->context == scope.context()) return *at;
  std::lock_guard lock(loading_);
  for (LoadedKernel* at = loaded_.load(std::memory_order_acquire); at; at = at->next)
    if (at->context == scope.context()) return *at;
  auto made = std::make_unique<LoadedKernel>();
  made->context = scope.context();
  auto load = [&](const std::string& code) {
    Module module = loadModule(*image_, scope.device(), code);
    if (callsNvshmem_) nvshmem().prepare(module);
    Function function = nullptr;
    check(driver().moduleGetFunction(&function, module, image_->name.c_str()), "cuModuleGetFunction");
    checkSize(*image_, function, propertiesOf(scope.device()));
    prepare(*image_, function);
    return function;
  };
  bool usesPtx = image_->cubin.empty() || (isForeign(*image_, scope.device()) && !image_->ptx.empty());
  made->function = load(usesPtx ? image_->ptx : image_->cubin);
  if (!usesPtx && !image_->roomyCubin.empty()) {
    made->roomy = load(image_->roomyCubin);
    made->roomyBlocks = int64_t(image_->roomyBlocks) * propertiesOf(scope.device()).multiprocessors;
  }
  made->registers = attribute(made->function, FunctionAttribute::NumRegs);
  made->localBytes = attribute(made->function, FunctionAttribute::LocalSizeBytes);
  made->next = loaded_.load(std::memory_order_relaxed);
  loaded_.store(made.get(), std::memory_order_release);
  return *made.release();
}

const LoadedKernel& Kernel::on(int device) { return loaded(OnDevice(device)); }

}  // namespace tandem::runtime::cuda
