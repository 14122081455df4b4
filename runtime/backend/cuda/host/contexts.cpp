// Contexts: each device's primary one, and each thread's stack of them.
#include "runtime/backend/cuda/host/streams.h"
#include <cstdio>
#include <vector>

using namespace tandem::runtime::cuda;

namespace {

ContextObject primary[kHostDevices] = {{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}};
thread_local std::vector<Context> stack;

}  // namespace

Context tandem::runtime::cuda::current() { return stack.empty() ? nullptr : stack.back(); }

HOST_DRIVER Result cuDevicePrimaryCtxRetain(Context* context, DeviceIndex device) {
  *context = &primary[device];
  return note("cuDevicePrimaryCtxRetain", "retain " + std::to_string(device));
}
HOST_DRIVER Result cuCtxGetCurrent(Context* context) { return *context = current(), kSuccess; }
HOST_DRIVER Result cuCtxSetCurrent(Context context) {
  if (!stack.empty()) stack.pop_back();
  if (context) stack.push_back(context);
  return kSuccess;
}
HOST_DRIVER Result cuCtxPushCurrent_v2(Context context) { return stack.push_back(context), kSuccess; }
HOST_DRIVER Result cuCtxPopCurrent_v2(Context* context) {
  *context = stack.back();
  stack.pop_back();
  return kSuccess;
}
HOST_DRIVER Result cuCtxGetDevice(DeviceIndex* device) {
  return stack.empty() ? 201 : (*device = stack.back()->device, kSuccess);
}
HOST_DRIVER Result cuCtxSynchronize() {
  finishAll();
  return note("cuCtxSynchronize", "synchronize " + std::to_string(stack.back()->device));
}
HOST_DRIVER Result cuDeviceGetPCIBusId(char* text, int size, DeviceIndex device) {
  return std::snprintf(text, size_t(size), "0000:0%d:00.0", device), kSuccess;
}
HOST_DRIVER Result cuDeviceGetByPCIBusId(DeviceIndex* device, const char* text) {
  return *device = text[6] - '0', kSuccess;
}
