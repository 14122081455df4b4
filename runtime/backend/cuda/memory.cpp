// Memory, streams and events over the driver's calls.
#include "runtime/backend/cuda/memory.h"

namespace tandem::runtime::cuda {

Address allocate(int device, uint64_t bytes) {
  if (!bytes) return 0;
  OnDevice scope(device);
  Address address = 0;
  Result r = driver().memAlloc(&address, bytes);
  if (r == kOutOfMemory)
    throw DriverError("device " + std::to_string(scope.device()) + " has no " + std::to_string(bytes) + " bytes left",
                      r);
  check(r, "cuMemAlloc");
  return address;
}
void release(int device, Address address) {
  if (!address) return;
  OnDevice scope(device);
  check(driver().memFree(address), "cuMemFree");
}
void copyFromHost(int device, Stream stream, Address dest, const void* source, uint64_t bytes) {
  if (!bytes) return;
  OnDevice scope(device);
  check(driver().memcpyHtoDAsync(dest, source, bytes, stream), "cuMemcpyHtoDAsync");
}
void copyToHost(int device, Stream stream, void* dest, Address source, uint64_t bytes) {
  if (!bytes) return;
  OnDevice scope(device);
  check(driver().memcpyDtoHAsync(dest, source, bytes, stream), "cuMemcpyDtoHAsync");
}
void copy(int device, Stream stream, Address dest, Address source, uint64_t bytes) {
  if (!bytes) return;
  OnDevice scope(device);
  check(driver().memcpyAsync(dest, source, bytes, stream), "cuMemcpyAsync");
}
void copyRows(int device, Stream stream, Address dest, uint64_t destPitch, Address source, uint64_t sourcePitch,
              uint64_t bytes, uint64_t rows) {
  if (!bytes || !rows) return;
  OnDevice scope(device);
  RowsCopy copy{};
  copy.source.kind = copy.dest.kind = MemoryType::Device;
  copy.source.device = source;
  copy.source.pitch = sourcePitch;
  copy.dest.device = dest;
  copy.dest.pitch = destPitch;
  copy.widthBytes = bytes;
  copy.height = rows;
  check(driver().memcpy2DAsync(&copy, stream), "cuMemcpy2DAsync");
}
void set(int device, Stream stream, Address dest, uint8_t value, uint64_t bytes) {
  if (!bytes) return;
  OnDevice scope(device);
  check(driver().memsetD8Async(dest, value, bytes, stream), "cuMemsetD8Async");
}
void synchronize(int device) {
  OnDevice scope(device);
  check(driver().ctxSynchronize(), "cuCtxSynchronize");
}

int deviceOf(Address address) {
  Address reachable = 0;
  int device = -1;
  if (driver().pointerGetAttribute(&reachable, PointerAttribute::DevicePointer, address) != kSuccess) return -1;
  if (driver().pointerGetAttribute(&device, PointerAttribute::DeviceOrdinal, address) != kSuccess) return -1;
  return device;
}

Stream createStream(int device) {
  constexpr unsigned nonBlocking = 1;
  OnDevice scope(device);
  Stream stream = nullptr;
  check(driver().streamCreate(&stream, nonBlocking), "cuStreamCreate");
  return stream;
}
void destroyStream(int device, Stream stream) {
  OnDevice scope(device);
  check(driver().streamDestroy(stream), "cuStreamDestroy");
}
void synchronizeStream(int device, Stream stream) {
  OnDevice scope(device);
  check(driver().streamSynchronize(stream), "cuStreamSynchronize");
}

Event createEvent(int device) {
  OnDevice scope(device);
  Event event = nullptr;
  check(driver().eventCreate(&event, 0), "cuEventCreate");
  return event;
}
void destroyEvent(int device, Event event) {
  OnDevice scope(device);
  check(driver().eventDestroy(event), "cuEventDestroy");
}
void recordEvent(int device, Stream stream, Event event) {
  OnDevice scope(device);
  check(driver().eventRecord(event, stream), "cuEventRecord");
}
void waitEvent(int device, Stream stream, Event event) {
  OnDevice scope(device);
  check(driver().streamWaitEvent(stream, event, 0), "cuStreamWaitEvent");
}
void synchronizeEvent(int device, Event event) {
  OnDevice scope(device);
  check(driver().eventSynchronize(event), "cuEventSynchronize");
}
float elapsedMs(int device, Event start, Event end) {
  OnDevice scope(device);
  float ms = 0;
  check(driver().eventElapsedTime(&ms, start, end), "cuEventElapsedTime");
  return ms;
}

}  // namespace tandem::runtime::cuda
