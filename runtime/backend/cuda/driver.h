// The CUDA driver is opened at run time: this header has a table of its functions and turns their errors into
// exceptions.
#pragma once
#include "runtime/backend/cuda/driver_abi.h"
#include <stdexcept>
#include <string>

namespace tandem::runtime::cuda {

// member, the driver's symbol, its parameters
#define TANDEM_CUDA_FUNCTIONS(F)                                                                                  \
  F(init, cuInit, (unsigned))                                                                                     \
  F(driverGetVersion, cuDriverGetVersion, (int*))                                                                 \
  F(getErrorName, cuGetErrorName, (Result, const char**))                                                         \
  F(getErrorString, cuGetErrorString, (Result, const char**))                                                     \
  F(deviceGetCount, cuDeviceGetCount, (int*))                                                                     \
  F(deviceGetName, cuDeviceGetName, (char*, int, DeviceIndex))                                                    \
  F(deviceGetAttribute, cuDeviceGetAttribute, (int*, DeviceAttribute, DeviceIndex))                               \
  F(deviceTotalMem, cuDeviceTotalMem_v2, (size_t*, DeviceIndex))                                                  \
  F(devicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, (Context*, DeviceIndex))                                    \
  F(ctxGetCurrent, cuCtxGetCurrent, (Context*))                                                                   \
  F(ctxSetCurrent, cuCtxSetCurrent, (Context))                                                                    \
  F(ctxPushCurrent, cuCtxPushCurrent_v2, (Context))                                                               \
  F(ctxPopCurrent, cuCtxPopCurrent_v2, (Context*))                                                                \
  F(ctxGetDevice, cuCtxGetDevice, (DeviceIndex*))                                                                 \
  F(ctxSynchronize, cuCtxSynchronize, ())                                                                         \
  F(moduleLoadDataEx, cuModuleLoadDataEx, (Module*, const void*, unsigned, JitOption*, void**))                   \
  F(moduleGetFunction, cuModuleGetFunction, (Function*, Module, const char*))                                     \
  F(funcSetAttribute, cuFuncSetAttribute, (Function, FunctionAttribute, int))                                     \
  F(funcGetAttribute, cuFuncGetAttribute, (int*, FunctionAttribute, Function))                                    \
  F(launchKernelEx, cuLaunchKernelEx, (const DriverLaunch*, Function, void**, void**))                            \
  F(tensorMapEncodeTiled, cuTensorMapEncodeTiled,                                                                 \
    (TensorMap*, MapElement, uint32_t, void*, const uint64_t*, const uint64_t*, const uint32_t*, const uint32_t*, \
     MapInterleave, MapSwizzle, MapL2Promotion, MapFill))                                                         \
  F(memAlloc, cuMemAlloc_v2, (Address*, size_t))                                                                  \
  F(memFree, cuMemFree_v2, (Address))                                                                             \
  F(memcpyAsync, cuMemcpyAsync, (Address, Address, size_t, Stream))                                               \
  F(memcpy2DAsync, cuMemcpy2DAsync_v2, (const RowsCopy*, Stream))                                                 \
  F(memcpyHtoDAsync, cuMemcpyHtoDAsync_v2, (Address, const void*, size_t, Stream))                                \
  F(memcpyDtoHAsync, cuMemcpyDtoHAsync_v2, (void*, Address, size_t, Stream))                                      \
  F(memsetD8Async, cuMemsetD8Async, (Address, unsigned char, size_t, Stream))                                     \
  F(pointerGetAttribute, cuPointerGetAttribute, (void*, PointerAttribute, Address))                               \
  F(streamCreate, cuStreamCreate, (Stream*, unsigned))                                                            \
  F(streamDestroy, cuStreamDestroy_v2, (Stream))                                                                  \
  F(streamSynchronize, cuStreamSynchronize, (Stream))                                                             \
  F(streamWaitEvent, cuStreamWaitEvent, (Stream, Event, unsigned))                                                \
  F(eventCreate, cuEventCreate, (Event*, unsigned))                                                               \
  F(eventRecord, cuEventRecord, (Event, Stream))                                                                  \
  F(eventSynchronize, cuEventSynchronize, (Event))                                                                \
  F(eventElapsedTime, cuEventElapsedTime, (float*, Event, Event))                                                 \
  F(eventDestroy, cuEventDestroy_v2, (Event))

// Only ranks need these functions. An older driver may lack some; `needed` then says so.
#define TANDEM_CUDA_RANK_FUNCTIONS(F)                                                                      \
  F(memAddressReserve, cuMemAddressReserve, (Address*, size_t, size_t, Address, uint64_t))                 \
  F(memAddressFree, cuMemAddressFree, (Address, size_t))                                                   \
  F(memCreate, cuMemCreate, (MemoryHandle*, size_t, const MemoryProperties*, uint64_t))                    \
  F(memRelease, cuMemRelease, (MemoryHandle))                                                              \
  F(memMap, cuMemMap, (Address, size_t, size_t, MemoryHandle, uint64_t))                                   \
  F(memUnmap, cuMemUnmap, (Address, size_t))                                                               \
  F(memSetAccess, cuMemSetAccess, (Address, size_t, const MemoryAccess*, size_t))                          \
  F(memExportToShareableHandle, cuMemExportToShareableHandle, (void*, MemoryHandle, HandleType, uint64_t)) \
  F(memImportFromShareableHandle, cuMemImportFromShareableHandle, (MemoryHandle*, void*, HandleType))      \
  F(memGetAllocationGranularity, cuMemGetAllocationGranularity, (size_t*, const MemoryProperties*, int))   \
  F(memHostAlloc, cuMemHostAlloc, (void**, size_t, unsigned))                                              \
  F(memFreeHost, cuMemFreeHost, (void*))                                                                   \
  F(memHostGetDevicePointer, cuMemHostGetDevicePointer_v2, (Address*, void*, unsigned))                    \
  F(streamBatchMemOp, cuStreamBatchMemOp_v2, (Stream, unsigned, MemoryOperation*, unsigned))               \
  F(streamQuery, cuStreamQuery, (Stream))                                                                  \
  F(streamIsCapturing, cuStreamIsCapturing, (Stream, int*))                                                \
  F(streamBeginCapture, cuStreamBeginCapture_v2, (Stream, int))                                            \
  F(streamEndCapture, cuStreamEndCapture, (Stream, GraphText*))                                            \
  F(graphInstantiate, cuGraphInstantiateWithFlags, (Graph*, GraphText, unsigned long long))                \
  F(graphDestroy, cuGraphDestroy, (GraphText))                                                             \
  F(graphLaunch, cuGraphLaunch, (Graph, Stream))                                                           \
  F(graphExecDestroy, cuGraphExecDestroy, (Graph))                                                         \
  F(streamCreateWithPriority, cuStreamCreateWithPriority, (Stream*, unsigned, int))                        \
  F(ctxGetStreamPriorityRange, cuCtxGetStreamPriorityRange, (int*, int*))                                  \
  F(threadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode, (int*))                            \
  F(eventQuery, cuEventQuery, (Event))                                                                     \
  F(moduleGetGlobal, cuModuleGetGlobal_v2, (Address*, size_t*, Module, const char*))                       \
  F(deviceGetPciBusId, cuDeviceGetPCIBusId, (char*, int, DeviceIndex))                                     \
  F(deviceGetByPciBusId, cuDeviceGetByPCIBusId, (DeviceIndex*, const char*))                               \
  F(deviceCanAccessPeer, cuDeviceCanAccessPeer, (int*, DeviceIndex, DeviceIndex))

struct Driver {
#define TANDEM_MEMBER(member, symbol, parameters) Result(*member) parameters = nullptr;
  TANDEM_CUDA_FUNCTIONS(TANDEM_MEMBER)
  TANDEM_CUDA_RANK_FUNCTIONS(TANDEM_MEMBER)
#undef TANDEM_MEMBER
};

// There is no driver or no GPU: one line that says which.
class Unavailable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A driver's call failed.
class DriverError : public std::runtime_error {
 public:
  DriverError(const std::string& text, Result result) : std::runtime_error(text), result(result) {}
  Result result;
};

// The kernel is too large for the device: another configuration may fit.
class OutOfResources : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The initialised driver: libcuda.so.1, or the file that $TANDEM_CUDA_DRIVER names. Throws Unavailable. Thread-safe.
const Driver& driver();

[[noreturn]] void fail(Result result, const char* call);
[[noreturn]] void fail(Result result, const char* call, const std::string& doing);

inline void check(Result result, const char* call) {
  if (result != kSuccess) [[unlikely]]
    fail(result, call);
}

// Does the same as `check`, with an error that begins with `doing`, the work at hand.
inline void check(Result result, const char* call, const std::string& doing) {
  if (result != kSuccess) [[unlikely]]
    fail(result, call, doing);
}

// A function that an old driver may lack.
template <class F>
F needed(F function, const char* symbol) {
  if (!function) [[unlikely]]
    throw Unavailable(std::string("the CUDA driver is too old for ranks: it has no `") + symbol + "`");
  return function;
}

}  // namespace tandem::runtime::cuda
