// This stands in for NVSHMEM's host library in tests without a GPU: each rank's heap is a file in shared memory that
// all ranks map. Calls are appended to the file that $TANDEM_FAKE_NVSHMEM_LOG names; no other rank maps the heap of the
// rank in $TANDEM_FAKE_NVSHMEM_FAR.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <vector>

#define FAKE extern "C" __attribute__((visibility("default")))

namespace {

constexpr size_t kHeapBytes = size_t(256) << 20;

std::vector<char*> heaps;  // by rank
int me = -1, far = -1;
size_t used = 0;
std::string name;

void note(const std::string& line) {
  const char* path = std::getenv("TANDEM_FAKE_NVSHMEM_LOG");
  if (!path) return;
  std::string text = std::to_string(me) + " " + line + "\n";
  int fd = open(path, O_WRONLY | O_APPEND | O_CREAT, 0600);
  if (write(fd, text.data(), text.size()) < 0) std::abort();
  close(fd);
}

std::string heapName(int rank) { return "/" + name + "-" + std::to_string(rank); }

// The file is missing or empty while the peer has not come.
char* mapHeap(int rank) {
  for (int tries = 0; tries < 20000; ++tries, std::this_thread::sleep_for(std::chrono::milliseconds(1))) {
    int fd = shm_open(heapName(rank).c_str(), O_RDWR, 0600);
    if (fd < 0) continue;
    struct stat about{};
    bool made = fstat(fd, &about) == 0 && size_t(about.st_size) == kHeapBytes;
    void* at = made ? mmap(nullptr, kHeapBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0) : MAP_FAILED;
    close(fd);
    if (at != MAP_FAILED) return static_cast<char*>(at);
  }
  return nullptr;
}

struct Attributes {  // nvshmemx_init_attr_t
  int version, pad;
  void* mpi;
  int argumentsVersion, pad2, idVersion, pad3;
  const char* id;
  int rank, rankCount;
};

}  // namespace

FAKE int nvshmemx_get_uniqueid(char* id) { return std::snprintf(id + 4, 124, "tandem-fake-nvshmem-%d", getpid()), 0; }
FAKE int nvshmemx_set_attr_uniqueid_args(int rank, int rankCount, const char* id, Attributes* attributes) {
  if (attributes->version != (1 << 16) + 144 || attributes->argumentsVersion != (1 << 16) + 128 ||
      attributes->idVersion != (1 << 16) + 24)
    return 7;
  attributes->id = id;
  attributes->rank = rank;
  attributes->rankCount = rankCount;
  return 0;
}
FAKE int nvshmemx_hostlib_init_attr(unsigned flags, Attributes* attributes) {
  if (flags != 8) return 7;
  me = attributes->rank;
  name = attributes->id + 4;
  if (const char* rank = std::getenv("TANDEM_FAKE_NVSHMEM_FAR")) far = std::atoi(rank);
  int fd = shm_open(heapName(me).c_str(), O_RDWR | O_CREAT, 0600);
  if (fd < 0 || ftruncate(fd, off_t(kHeapBytes))) return 7;
  close(fd);
  for (int r = 0; r < attributes->rankCount; ++r) heaps.push_back(mapHeap(r));
  note("starts of " + std::to_string(attributes->rankCount));
  return 0;
}
FAKE void nvshmemx_hostlib_finalize() {
  note("ends");
  shm_unlink(heapName(me).c_str());
}
FAKE void* nvshmem_align(size_t alignment, size_t bytes) {
  used = (used + alignment - 1) / alignment * alignment;
  if (used + bytes > kHeapBytes) return nullptr;
  used += bytes;
  return heaps[size_t(me)] + used - bytes;
}
FAKE void* nvshmem_ptr(const void* at, int rank) {
  if (rank != me && (rank == far || me == far)) return nullptr;
  return heaps[size_t(rank)] + (static_cast<const char*>(at) - heaps[size_t(me)]);
}
FAKE int nvshmemx_cumodule_init(void*) { return note("module"), 0; }
FAKE int nvshmemx_cumodule_finalize(void*) { return note("module gone"), 0; }
FAKE void nvshmemx_vendor_get_version_info(int* major, int* minor, int* patch) { *major = 3, *minor = 4, *patch = 5; }
