// The fake driver's part for ranks: "device" memory that is passed between processes as file descriptors and mapped
// where it is asked for, and words that streams write and wait for.
#include "runtime/backend/cuda/test/fake_streams.h"
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

using namespace tandem::runtime::cuda;

namespace {

constexpr size_t kGranularity = size_t(2) << 20;

bool holds(const MemoryOperation::Value& op) {
  bool wide = op.operation == MemoryOperation::Wait64;
  uint64_t word = wide ? __atomic_load_n(reinterpret_cast<uint64_t*>(op.address), __ATOMIC_ACQUIRE)
                       : __atomic_load_n(reinterpret_cast<uint32_t*>(op.address), __ATOMIC_ACQUIRE);
  uint64_t mask = wide ? ~uint64_t(0) : 0xffffffffu, value = op.value & mask;
  switch (WaitFlag(op.flags)) {
    case WaitFlag::AtLeast: return wide ? int64_t(word - value) >= 0 : int32_t(uint32_t(word) - uint32_t(value)) >= 0;
    case WaitFlag::Equal: return word == value;
    case WaitFlag::And: return (word & value) != 0;
    case WaitFlag::Nor: return (~(word | value) & mask) != 0;
  }
  return false;
}

bool carryOut(const MemoryOperation::Value& op) {
  if (op.operation == MemoryOperation::Write64)
    __atomic_store_n(reinterpret_cast<uint64_t*>(op.address), op.value, __ATOMIC_RELEASE);
  else if (op.operation == MemoryOperation::Write32)
    __atomic_store_n(reinterpret_cast<uint32_t*>(op.address), uint32_t(op.value), __ATOMIC_RELEASE);
  else
    return holds(op);
  return true;
}

void* pointer(Address address) { return reinterpret_cast<void*>(address); }

}  // namespace

FAKE Result cuMemGetAllocationGranularity(size_t* bytes, const MemoryProperties*, int) {
  return *bytes = kGranularity, kSuccess;
}
FAKE Result cuMemAddressReserve(Address* at, size_t bytes, size_t alignment, Address, uint64_t) {
  size_t room = bytes + alignment;
  void* got = mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got == MAP_FAILED) return kOutOfMemory;
  Address first = reinterpret_cast<Address>(got);
  *at = (first + alignment - 1) / alignment * alignment;
  if (*at > first) munmap(got, *at - first);
  munmap(pointer(*at + bytes), first + room - *at - bytes);
  return kSuccess;
}
FAKE Result cuMemAddressFree(Address at, size_t bytes) { return munmap(pointer(at), bytes) ? kInvalidValue : kSuccess; }
FAKE Result cuMemCreate(MemoryHandle* handle, size_t bytes, const MemoryProperties* p, uint64_t) {
  if (Result r = result("cuMemCreate")) return r;
  if (bytes % kGranularity || p->location.type != MemoryLocation::Device) return kInvalidValue;
  int fd = memfd_create("fake device memory", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, off_t(bytes))) return kOutOfMemory;
  return *handle = MemoryHandle(fd), kSuccess;
}
FAKE Result cuMemRelease(MemoryHandle handle) { return close(int(handle)) ? kInvalidValue : kSuccess; }
FAKE Result cuMemMap(Address at, size_t bytes, size_t, MemoryHandle handle, uint64_t) {
  if (Result r = result("cuMemMap")) return r;
  if (at % kGranularity) return kInvalidValue;
  return mmap(pointer(at), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, int(handle), 0) == MAP_FAILED ? kInvalidValue
                                                                                                   : kSuccess;
}
FAKE Result cuMemUnmap(Address at, size_t bytes) {
  void* got = mmap(pointer(at), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  return got == MAP_FAILED ? kInvalidValue : kSuccess;
}
FAKE Result cuMemSetAccess(Address at, size_t bytes, const MemoryAccess* access, size_t count) {
  if (count != 1 || access->flags != MemoryAccess::ReadWrite) return kInvalidValue;
  return mprotect(pointer(at), bytes, PROT_READ | PROT_WRITE) ? kInvalidValue : kSuccess;
}
FAKE Result cuMemExportToShareableHandle(void* out, MemoryHandle handle, HandleType type, uint64_t) {
  if (type != HandleType::PosixDescriptor) return kInvalidValue;
  return (*static_cast<int*>(out) = dup(int(handle))) < 0 ? kInvalidValue : kSuccess;
}
FAKE Result cuMemImportFromShareableHandle(MemoryHandle* handle, void* descriptor, HandleType) {
  int fd = dup(int(reinterpret_cast<intptr_t>(descriptor)));
  return fd < 0 ? kInvalidValue : (*handle = MemoryHandle(fd), kSuccess);
}

FAKE Result cuMemHostAlloc(void** host, size_t bytes, unsigned) {
  *host = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  return *host ? kSuccess : kOutOfMemory;
}
FAKE Result cuMemFreeHost(void* host) { return std::free(host), kSuccess; }
FAKE Result cuMemHostGetDevicePointer_v2(Address* device, void* host, unsigned) {
  return *device = reinterpret_cast<Address>(host), kSuccess;
}

FAKE Result cuDeviceGetPCIBusId(char* text, int size, DeviceIndex device) {
  return std::snprintf(text, size_t(size), "0000:0%d:00.0", device), kSuccess;
}
FAKE Result cuDeviceGetByPCIBusId(DeviceIndex* device, const char* text) { return *device = text[6] - '0', kSuccess; }
FAKE Result cuDeviceCanAccessPeer(int* can, DeviceIndex, DeviceIndex) {
  return *can = std::getenv("TANDEM_FAKE_CUDA_NO_PEERS") == nullptr, kSuccess;
}

FAKE Result cuStreamBatchMemOp_v2(Stream stream, unsigned count, MemoryOperation* list, unsigned) {
  if (count > 256) return kInvalidValue;
  for (unsigned i = 0; i < count; ++i) {
    if (Result r = note("cuStreamBatchMemOp", "memory operation " + std::to_string(list[i].value.operation) +
                                                  " value " + std::to_string(list[i].value.value) + " flags " +
                                                  std::to_string(list[i].value.flags)))
      return r;
    enqueue(stream, [op = list[i].value] { return carryOut(op); });
  }
  return kSuccess;
}
FAKE Result cuStreamQuery(Stream stream) {
  if (Result r = result("cuStreamQuery")) return r;
  return progress(stream) ? kSuccess : kNotReady;
}
FAKE Result cuStreamIsCapturing(Stream stream, int* status) {
  return *status = !isHandle(stream) && (stream->capturing || stream->graph), kSuccess;
}
FAKE Result cuStreamCreateWithPriority(Stream* stream, unsigned flags, int) { return cuStreamCreate(stream, flags); }
FAKE Result cuCtxGetStreamPriorityRange(int* least, int* greatest) { return *least = 0, *greatest = -5, kSuccess; }
FAKE Result cuThreadExchangeStreamCaptureMode(int* mode) {
  thread_local int current = 0;
  return std::swap(current, *mode), kSuccess;
}
FAKE Result cuEventQuery(Event event) {
  if (event->captured) return 907;
  if (event->passed != event->records) progress(event->stream);
  return event->passed == event->records ? kSuccess : kNotReady;
}
FAKE void fakeCapture(Stream stream, int on) { stream->capturing = on; }
