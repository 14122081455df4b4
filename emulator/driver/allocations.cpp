// Device memory, which is the host's.
#include "emulator/driver/driver.h"
#include "emulator/units/tensor_map.h"
#include <algorithm>
#include <cstring>
#include <sys/mman.h>
#include <unordered_map>

using namespace tandem::runtime::cuda;
namespace emulator = tandem::emulator;

namespace {

constexpr size_t kAlignment = 256;  // of cuMemAlloc
constexpr size_t kGuard = 4096;

std::mutex mutex;
std::unordered_map<Address, std::pair<size_t, int>> allocations;  // bytes and device

size_t roomFor(size_t bytes) { return (bytes + kGuard - 1) / kGuard * kGuard + 2 * kGuard; }

}  // namespace

emulator::GlobalMemory& emulator::deviceMemory() {
  static auto* memory = new GlobalMemory;
  return *memory;
}

void tandem::runtime::cuda::becomesReachable(Address begin, size_t bytes) {
  emulator::deviceMemory().add(begin, bytes);
}
void tandem::runtime::cuda::becomesUnreachable(Address begin) { emulator::deviceMemory().remove(begin); }

// The array ends where its last page does, as near as its alignment lets it: what copies of the host's own do behind it
// ends in a signal too.
std::byte* emulator::allocate(size_t bytes) {
  void* got = mmap(nullptr, roomFor(bytes), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got == MAP_FAILED) return nullptr;
  auto* begin = static_cast<std::byte*>(got) + kGuard;
  size_t inside = roomFor(bytes) - 2 * kGuard;
  if (inside && mprotect(begin, inside, PROT_READ | PROT_WRITE)) return nullptr;
  begin += (inside - bytes) / kAlignment * kAlignment;
  deviceMemory().add(reinterpret_cast<uint64_t>(begin), bytes);
  return begin;
}

HOST_DRIVER Result cuMemAlloc_v2(Address* address, size_t bytes) {
  if (Result r = result("cuMemAlloc")) return r;
  if (!bytes) return kInvalidValue;
  std::byte* begin = emulator::allocate(bytes);
  if (!begin) return kOutOfMemory;
  *address = reinterpret_cast<Address>(begin);
  std::lock_guard lock(mutex);
  allocations[*address] = {bytes, current() ? current()->device : 0};
  return kSuccess;
}
// Work that has been given may still use the memory.
HOST_DRIVER Result cuMemFree_v2(Address address) {
  finishAll();
  std::lock_guard lock(mutex);
  auto found = allocations.find(address);
  if (found == allocations.end()) return kInvalidValue;
  emulator::deviceMemory().remove(address);
  size_t bytes = found->second.first, inside = roomFor(bytes) - 2 * kGuard;
  munmap(reinterpret_cast<std::byte*>(address) - (inside - bytes) / kAlignment * kAlignment - kGuard, roomFor(bytes));
  allocations.erase(found);
  return kSuccess;
}
HOST_DRIVER Result cuPointerGetAttribute(void* value, PointerAttribute a, Address address) {
  emulator::Range range = emulator::deviceMemory().find(address);
  if (!range.end) return kInvalidValue;
  std::lock_guard lock(mutex);
  auto found = allocations.find(range.begin);
  if (a == PointerAttribute::DevicePointer)
    *static_cast<Address*>(value) = address;
  else
    *static_cast<int*>(value) = found == allocations.end() ? 0 : found->second.second;
  return kSuccess;
}

HOST_DRIVER Result cuTensorMapEncodeTiled(tandem::runtime::cuda::TensorMap* map, MapElement element, uint32_t rank,
                                          void* base, const uint64_t* sizes, const uint64_t* strides,
                                          const uint32_t* box, const uint32_t* steps, MapInterleave, MapSwizzle swizzle,
                                          MapL2Promotion, MapFill fill) {
  using Map = emulator::TensorMap;
  static const std::map<MapElement, Map::Element> kElements = {
      {MapElement::U8, Map::U8},   {MapElement::U16, Map::U16},  {MapElement::U32, Map::U32},
      {MapElement::U64, Map::U64}, {MapElement::F16, Map::F16},  {MapElement::F32, Map::F32},
      {MapElement::F64, Map::F64}, {MapElement::BF16, Map::BF16}};
  auto known = kElements.find(element);
  if (!rank || rank > Map::kMaxRank || known == kElements.end()) return kInvalidValue;
  Map made;
  made.address = reinterpret_cast<uint64_t>(base);
  std::copy_n(sizes, rank, made.sizes.begin());
  std::copy_n(strides, rank - 1, made.strides.begin());
  std::copy_n(box, rank, made.box.begin());
  std::copy_n(steps, rank, made.steps.begin());
  made.lastDimension = uint8_t(rank - 1);
  made.element = known->second;
  made.swizzle = Map::Swizzle(swizzle);
  made.fill = uint8_t(fill);
  try {
    made.check();
  } catch (const emulator::TensorMapError&) {
    return kInvalidValue;
  }
  made.write(reinterpret_cast<std::byte*>(map));
  return result("cuTensorMapEncodeTiled");
}
