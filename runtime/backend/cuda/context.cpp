// Primary contexts are retained once and kept: other users of the process hold them too.
#include "runtime/backend/cuda/context.h"
#include "runtime/backend/cuda/device.h"
#include <mutex>
#include <vector>

namespace tandem::runtime::cuda {
namespace {

Context primaryContext(int device) {
  static std::mutex mutex;
  static std::vector<Context> contexts;
  checkDevice(device);
  std::lock_guard lock(mutex);
  if (contexts.size() <= size_t(device)) contexts.resize(size_t(device) + 1);
  Context& context = contexts[size_t(device)];
  if (!context) check(driver().devicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  return context;
}

}  // namespace

int currentDevice() {
  const Driver& d = driver();
  Context context = nullptr;
  int device = 0;
  check(d.ctxGetCurrent(&context), "cuCtxGetCurrent");
  if (context) check(d.ctxGetDevice(&device), "cuCtxGetDevice");
  return device;
}

OnDevice::OnDevice(int device) {
  const Driver& d = driver();
  check(d.ctxGetCurrent(&context_), "cuCtxGetCurrent");
  if (context_) {
    check(d.ctxGetDevice(&device_), "cuCtxGetDevice");
    if (device < 0 || device == device_) return;
  }
  bool hadNone = !context_;
  device_ = device < 0 ? 0 : device;
  context_ = primaryContext(device_);
  if (hadNone) {
    check(d.ctxSetCurrent(context_), "cuCtxSetCurrent");
  } else {
    check(d.ctxPushCurrent(context_), "cuCtxPushCurrent");
    pushed_ = true;
  }
}

OnDevice::~OnDevice() {
  Context popped = nullptr;
  if (pushed_) driver().ctxPopCurrent(&popped);
}

}  // namespace tandem::runtime::cuda
