// "Device" memory that is passed between processes as file descriptors and mapped where it is asked for, and pinned
// memory of the host.
#include "runtime/backend/cuda/host/streams.h"
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

using namespace tandem::runtime::cuda;

namespace {

constexpr size_t kGranularity = size_t(2) << 20;

void* pointer(Address address) { return reinterpret_cast<void*>(address); }

}  // namespace

HOST_DRIVER Result cuMemGetAllocationGranularity(size_t* bytes, const MemoryProperties*, int) {
  return *bytes = kGranularity, kSuccess;
}
HOST_DRIVER Result cuMemAddressReserve(Address* at, size_t bytes, size_t alignment, Address, uint64_t) {
  size_t room = bytes + alignment;
  void* got = mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got == MAP_FAILED) return kOutOfMemory;
  Address first = reinterpret_cast<Address>(got);
  *at = (first + alignment - 1) / alignment * alignment;
  if (*at > first) munmap(got, *at - first);
  munmap(pointer(*at + bytes), first + room - *at - bytes);
  return kSuccess;
}
HOST_DRIVER Result cuMemAddressFree(Address at, size_t bytes) {
  return munmap(pointer(at), bytes) ? kInvalidValue : kSuccess;
}
HOST_DRIVER Result cuMemCreate(MemoryHandle* handle, size_t bytes, const MemoryProperties* p, uint64_t) {
  if (Result r = result("cuMemCreate")) return r;
  if (bytes % kGranularity || p->location.type != MemoryLocation::Device) return kInvalidValue;
  int fd = memfd_create("device memory of the host", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, off_t(bytes))) return kOutOfMemory;
  return *handle = MemoryHandle(fd), kSuccess;
}
HOST_DRIVER Result cuMemRelease(MemoryHandle handle) { return close(int(handle)) ? kInvalidValue : kSuccess; }
HOST_DRIVER Result cuMemMap(Address at, size_t bytes, size_t, MemoryHandle handle, uint64_t) {
  if (Result r = result("cuMemMap")) return r;
  if (at % kGranularity) return kInvalidValue;
  return mmap(pointer(at), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, int(handle), 0) == MAP_FAILED ? kInvalidValue
                                                                                                   : kSuccess;
}
HOST_DRIVER Result cuMemUnmap(Address at, size_t bytes) {
  becomesUnreachable(at);
  void* got = mmap(pointer(at), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  return got == MAP_FAILED ? kInvalidValue : kSuccess;
}
HOST_DRIVER Result cuMemSetAccess(Address at, size_t bytes, const MemoryAccess* access, size_t count) {
  if (count != 1 || access->flags != MemoryAccess::ReadWrite) return kInvalidValue;
  if (mprotect(pointer(at), bytes, PROT_READ | PROT_WRITE)) return kInvalidValue;
  return becomesReachable(at, bytes), kSuccess;
}
HOST_DRIVER Result cuMemExportToShareableHandle(void* out, MemoryHandle handle, HandleType type, uint64_t) {
  if (type != HandleType::PosixDescriptor) return kInvalidValue;
  return (*static_cast<int*>(out) = dup(int(handle))) < 0 ? kInvalidValue : kSuccess;
}
HOST_DRIVER Result cuMemImportFromShareableHandle(MemoryHandle* handle, void* descriptor, HandleType) {
  int fd = dup(int(reinterpret_cast<intptr_t>(descriptor)));
  return fd < 0 ? kInvalidValue : (*handle = MemoryHandle(fd), kSuccess);
}

HOST_DRIVER Result cuMemHostAlloc(void** host, size_t bytes, unsigned) {
  *host = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  if (!*host) return kOutOfMemory;
  return becomesReachable(reinterpret_cast<Address>(*host), bytes), kSuccess;
}
HOST_DRIVER Result cuMemFreeHost(void* host) {
  becomesUnreachable(reinterpret_cast<Address>(host));
  return std::free(host), kSuccess;
}
HOST_DRIVER Result cuMemHostGetDevicePointer_v2(Address* device, void* host, unsigned) {
  return *device = reinterpret_cast<Address>(host), kSuccess;
}
