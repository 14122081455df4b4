// Each call selects the device and makes a driver's call or two.
#include "runtime/backend/cuda/ranks/rank_device.h"
#include "runtime/backend/cuda/capture.h"
#include "runtime/backend/cuda/kernel.h"
#include "runtime/backend/cuda/memory.h"
#include "runtime/backend/cuda/ranks/clock.h"
#include <algorithm>
#include <cstring>

namespace tandem::runtime::cuda {
namespace {

// `belowGreatest` steps of priority below the greatest that there is.
Stream createAbove(int device, int belowGreatest) {
  constexpr unsigned nonBlocking = 1;
  OnDevice scope(device);
  int least = 0, greatest = 0;
  Stream stream = nullptr;
  std::string doing = "a stream beside those of a rank";
  check(needed(driver().ctxGetStreamPriorityRange, "cuCtxGetStreamPriorityRange")(&least, &greatest),
        "cuCtxGetStreamPriorityRange", doing);
  int priority = std::min(greatest + belowGreatest, least);
  check(needed(driver().streamCreateWithPriority, "cuStreamCreateWithPriority")(&stream, nonBlocking, priority),
        "cuStreamCreateWithPriority", doing);
  return stream;
}

MemoryOperation operationOf(const ranks::WordOperation& o) {
  constexpr unsigned withBarrier = 0;
  // in the order of ranks::WaitFlag
  constexpr WaitFlag flags[] = {WaitFlag::AtLeast, WaitFlag::Equal, WaitFlag::And, WaitFlag::Nor};
  MemoryOperation::Type wait = o.bytes == 8 ? MemoryOperation::Wait64 : MemoryOperation::Wait32;
  MemoryOperation::Type write = o.bytes == 8 ? MemoryOperation::Write64 : MemoryOperation::Write32;
  MemoryOperation out{};
  out.value.operation = o.waits ? wait : write;
  out.value.address = o.address;
  out.value.value = o.value;
  out.value.flags = o.waits ? unsigned(flags[size_t(o.flag)]) : withBarrier;
  return out;
}

}  // namespace

RankDevice::RankDevice(int device) : device_(device), signalAdd_(device) {}

Address RankDevice::allocate(uint64_t bytes) { return cuda::allocate(device_, bytes); }

void RankDevice::release(Address address) noexcept {
  OnDevice scope(device_);
  if (address) driver().memFree(address);
}

ranks::SharedWords RankDevice::allocateShared(uint64_t bytes, const std::string& doing) {
  constexpr unsigned portable = 1, deviceMap = 2;
  OnDevice scope(device_);
  std::string what = doing + " on device " + std::to_string(scope.device());
  ranks::SharedWords out;
  check(needed(driver().memHostAlloc, "cuMemHostAlloc")(&out.host, bytes, portable | deviceMap), "cuMemHostAlloc",
        what);
  std::memset(out.host, 0, bytes);
  if (Result r = needed(driver().memHostGetDevicePointer, "cuMemHostGetDevicePointer_v2")(&out.device, out.host, 0)) {
    driver().memFreeHost(out.host);
    fail(r, "cuMemHostGetDevicePointer", what);
  }
  return out;
}

void RankDevice::releaseShared(ranks::SharedWords words) noexcept { driver().memFreeHost(words.host); }

void RankDevice::copy(ranks::Stream stream, Address dest, Address source, uint64_t bytes) {
  cuda::copy(device_, driverStream(stream), dest, source, bytes);
}
void RankDevice::copyRows(ranks::Stream stream, Address dest, uint64_t destPitch, Address source, uint64_t sourcePitch,
                          uint64_t bytes, uint64_t rows) {
  cuda::copyRows(device_, driverStream(stream), dest, destPitch, source, sourcePitch, bytes, rows);
}
void RankDevice::set(ranks::Stream stream, Address dest, uint8_t value, uint64_t bytes) {
  cuda::set(device_, driverStream(stream), dest, value, bytes);
}
void RankDevice::copyFromHost(ranks::Stream stream, Address dest, const void* source, uint64_t bytes) {
  cuda::copyFromHost(device_, driverStream(stream), dest, source, bytes);
}
void RankDevice::copyToHost(ranks::Stream stream, void* dest, Address source, uint64_t bytes) {
  cuda::copyToHost(device_, driverStream(stream), dest, source, bytes);
}

// Streams of one priority may share a queue.
ranks::Stream RankDevice::createStream(ranks::StreamKind kind) {
  switch (kind) {
    case ranks::StreamKind::Ordinary: break;
    case ranks::StreamKind::Beside: return handleOf(createAbove(device_, 1));
    case ranks::StreamKind::Aside: return handleOf(createAbove(device_, 0));
  }
  return handleOf(cuda::createStream(device_));
}

void RankDevice::destroyStream(ranks::Stream stream) noexcept {
  OnDevice scope(device_);
  driver().streamDestroy(driverStream(stream));
}

void RankDevice::synchronize(ranks::Stream stream) { synchronizeStream(device_, driverStream(stream)); }

bool RankDevice::idle(ranks::Stream stream, const std::string& doing) {
  OnDevice scope(device_);  // the default stream is the current context's
  Result r = needed(driver().streamQuery, "cuStreamQuery")(driverStream(stream));
  if (r == kNotReady) return false;
  if (r != kSuccess) check(r, "cuStreamQuery", doing + " on device " + std::to_string(device_));
  return true;
}

// The driver takes 256 operations at once.
void RankDevice::submit(ranks::Stream stream, std::span<const ranks::WordOperation> operations,
                        const std::string& doing) {
  constexpr size_t most = 256;
  auto call = needed(driver().streamBatchMemOp, "cuStreamBatchMemOp");
  MemoryOperation list[most];
  OnDevice scope(device_);
  for (; !operations.empty(); operations = operations.subspan(std::min(most, operations.size()))) {
    std::span<const ranks::WordOperation> now = operations.first(std::min(most, operations.size()));
    std::transform(now.begin(), now.end(), list, operationOf);
    Result r = call(driverStream(stream), unsigned(now.size()), list, 0);
    if (r != kSuccess) check(r, "cuStreamBatchMemOp", doing);
  }
}

void RankDevice::addToSignals(ranks::Stream stream, Address signal, int count, uint64_t value, int bytes) {
  OnDevice scope(device_);
  signalAdd_.launch(driverStream(stream), signal, count, value, bytes);
}

void RankDevice::launch(ranks::Stream stream, const KernelLaunch& launch, Address context) {
  LaunchShape shape;
  shape.grid = launch.grid;
  shape.stream = driverStream(stream);
  shape.cooperative = launch.cooperative;
  shape.dependent = launch.dependent;
  shape.rankContext = context;
  static_cast<Kernel&>(*launch.code.kernel).launch(device_, shape, launch.arguments);
}

bool RankDevice::hasProducts() {
  if (blas_) return true;
  try {
    blas_ = std::make_unique<Blas>(device_);
  } catch (const Unavailable&) {
    return false;
  }
  return true;
}

void RankDevice::multiply(ranks::Stream stream, const Product& product) {
  if (!hasProducts()) throw std::runtime_error("cuBLAS is not there to multiply");
  blas_->multiply(driverStream(stream), product);
}

ranks::Event RankDevice::createEvent() { return handleOf(cuda::createEvent(device_)); }
void RankDevice::destroyEvent(ranks::Event event) noexcept {
  OnDevice scope(device_);
  driver().eventDestroy(driverEvent(event));
}
void RankDevice::record(ranks::Stream stream, ranks::Event event) {
  recordEvent(device_, driverStream(stream), driverEvent(event));
}
void RankDevice::wait(ranks::Stream stream, ranks::Event event) {
  waitEvent(device_, driverStream(stream), driverEvent(event));
}

bool RankDevice::reached(ranks::Event event) {
  Result r = needed(driver().eventQuery, "cuEventQuery")(driverEvent(event));
  if (r != kNotReady) check(r, "cuEventQuery");
  return r == kSuccess;
}

double RankDevice::millisecondsBetween(ranks::Event from, ranks::Event to) {
  return double(elapsedMs(device_, driverEvent(from), driverEvent(to)));
}

std::unique_ptr<ranks::DeviceClock> RankDevice::clock() { return std::make_unique<Clock>(device_); }

bool RankDevice::capturing(ranks::Stream stream) { return isCapturing(driverStream(stream)); }

int RankDevice::relaxCaptureMode() { return exchangeCaptureMode(kRelaxedCapture); }
void RankDevice::restoreCaptureMode(int mode) { exchangeCaptureMode(mode); }

}  // namespace tandem::runtime::cuda
