// This heap uses CUDA's virtual memory: each rank creates its pieces, passes them as file descriptors and maps
// everybody's side by side. A failure that one rank alone can have is told to all ranks before any goes on, so that all
// fail in the same way.
#include "runtime/backend/cuda/ranks/mapped_heap.h"
#include "runtime/backend/cuda/context.h"
#include "runtime/ranks/wire.h"
#include <algorithm>

namespace tandem::runtime::cuda {

using ranks::bytesText;
using ranks::Descriptor;
using ranks::HeapAllocator;
using ranks::Packet;
using ranks::Reader;
using ranks::Writer;

namespace {

constexpr uint64_t kPieceBytes = uint64_t(64) << 20;  // at least

uint64_t roundUp(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

int attribute(int device, DeviceAttribute a) {
  int value = 0;
  check(driver().deviceGetAttribute(&value, a, device), "cuDeviceGetAttribute");
  return value;
}

void checkCapable(int device, int rankCount) {
  std::string who = "device " + std::to_string(device);
  if (!attribute(device, DeviceAttribute::VirtualMemoryManagement))
    throw Unavailable(who + " has no virtual memory management, which the symmetric heap needs");
  if (rankCount > 1 && !attribute(device, DeviceAttribute::PosixDescriptorHandles))
    throw Unavailable(who + " cannot export memory as file descriptors, which several ranks need");
}

MemoryProperties propertiesOn(int device, bool shared) {
  MemoryProperties p{};
  p.type = MemoryProperties::Pinned;
  p.requested = shared ? HandleType::PosixDescriptor : HandleType::None;
  p.location = {MemoryLocation::Device, device};
  return p;
}

}  // namespace

MappedHeap::MappedHeap(ranks::Rendezvous& ranks, ranks::Device& onDevice, const ranks::RankPlace& place,
                       const std::vector<int>& members)
    : SymmetricHeap(ranks, members, ranks::indexOf(members, place.rank), onDevice), deviceIndex_(place.device),
      stride_(place.heapStride), offsets_(place.heapStride) {
  int device = place.device, rankCount = count();
  uint64_t stride = stride_;
  OnDevice scope(device);
  checkCapable(device, rankCount);
  const Driver& d = driver();
  MemoryProperties properties = propertiesOn(device, rankCount > 1);
  size_t granularity = 0;
  check(needed(d.memGetAllocationGranularity, "cuMemGetAllocationGranularity")(&granularity, &properties, 0),
        "cuMemGetAllocationGranularity", "device " + std::to_string(device));
  granularity_ = granularity;
  for (const Packet& p : ranks_.gather(members_, "enter", Writer().put(granularity_).put(stride).bytes)) {
    Reader in(p.bytes);
    granularity_ = std::max(granularity_, in.get<uint64_t>());
    if (uint64_t other = in.get<uint64_t>(); other != stride)
      throw std::invalid_argument("the ranks were started with different heap strides: " + std::to_string(stride) +
                                  " and " + std::to_string(other));
  }
  if (!stride || stride % granularity_)
    throw std::invalid_argument("the heap stride " + std::to_string(stride) + " is not a multiple of " +
                                bytesText(granularity_));
  check(
      needed(d.memAddressReserve, "cuMemAddressReserve")(&base_, stride * members_.size(), granularity_, 0, 0),
      "cuMemAddressReserve",
      "reserving " + bytesText(stride * members_.size()) + " of addresses for " + std::to_string(rankCount) + " ranks");
}

// Nothing can be done about a failure here: the process goes on without these addresses.
MappedHeap::~MappedHeap() {
  OnDevice scope(deviceIndex_);
  const Driver& d = driver();
  for (const Mapping& m : mappings_) d.memUnmap(m.address, m.bytes);
  if (base_) d.memAddressFree(base_, stride_ * members_.size());
}

MemoryHandle MappedHeap::create(uint64_t bytes, std::string& problem) {
  MemoryProperties properties = propertiesOn(deviceIndex_, members_.size() > 1);
  MemoryHandle handle = 0;
  Result r = needed(driver().memCreate, "cuMemCreate")(&handle, bytes, &properties, 0);
  if (r == kSuccess) return handle;
  try {
    check(r, "cuMemCreate",
          "a piece of " + bytesText(bytes) + " of the heap on device " + std::to_string(deviceIndex_));
  } catch (const DriverError& e) {
    problem = e.what();
  }
  return 0;
}

void MappedHeap::map(int peer, uint64_t bytes, MemoryHandle handle) {
  Address at = base_ + Address(peer) * stride_ + size_;
  std::string doing = "mapping " + bytesText(bytes) + " of rank " + std::to_string(members_[size_t(peer)]) +
                      " for device " + std::to_string(deviceIndex_);
  check(driver().memMap(at, bytes, 0, handle, 0), "cuMemMap", doing);
  mappings_.push_back({at, bytes});
  MemoryAccess access{{MemoryLocation::Device, deviceIndex_}, MemoryAccess::ReadWrite};
  check(driver().memSetAccess(at, bytes, &access, 1), "cuMemSetAccess", doing);
}

// A mapping keeps its memory: the handles are not needed after it.
void MappedHeap::mapAll(const std::vector<Packet>& pieces, MemoryHandle own, uint64_t bytes) {
  map(rank_, bytes, own);
  for (int peer = 0; peer < count(); ++peer) {
    if (peer == rank_) continue;
    std::string doing = "importing " + bytesText(bytes) + " of rank " + std::to_string(members_[size_t(peer)]);
    if (pieces[size_t(peer)].descriptors.size() != 1)
      throw std::runtime_error(doing + ": no file descriptor came with its message");
    MemoryHandle handle = 0;
    void* descriptor = reinterpret_cast<void*>(intptr_t(pieces[size_t(peer)].descriptors[0].get()));
    check(driver().memImportFromShareableHandle(&handle, descriptor, HandleType::PosixDescriptor),
          "cuMemImportFromShareableHandle", doing);
    try {
      map(peer, bytes, handle);
    } catch (...) {
      driver().memRelease(handle);
      throw;
    }
    check(driver().memRelease(handle), "cuMemRelease", doing);
  }
}

void MappedHeap::grow(uint64_t bytes) {
  OnDevice scope(deviceIndex_);
  const Driver& d = driver();
  uint64_t piece = std::min(roundUp(std::max(bytes, kPieceBytes), granularity_), stride_ - size_);
  std::string problem;
  MemoryHandle own = create(piece, problem);
  Descriptor exported;
  if (own && members_.size() > 1) {
    int fd = -1;
    if (Result r = d.memExportToShareableHandle(&fd, own, HandleType::PosixDescriptor, 0))
      problem = "`cuMemExportToShareableHandle` failed with " + std::to_string(r) + " for " + bytesText(piece);
    else
      exported = Descriptor(fd);
  }
  int fd = exported.get();
  std::vector<Packet> pieces = ranks_.gather(members_, "grow", problem, std::span(&fd, exported ? 1 : 0));
  for (size_t r = 0; r < pieces.size(); ++r)
    if (!pieces[r].bytes.empty()) {
      if (own) d.memRelease(own);
      throw std::runtime_error("symmetric memory: rank " + std::to_string(members_[r]) + ": " + pieces[r].bytes);
    }
  try {
    mapAll(pieces, own, piece);
  } catch (const std::exception& e) {
    problem = e.what();
  }
  d.memRelease(own);
  checkAll("map", problem);
  size_ += piece;
}

ranks::SymmetricHeap::Part MappedHeap::take(uint64_t bytes) {
  std::optional<HeapAllocator::Range> range = offsets_.allocate(bytes);
  if (!range)
    throw std::runtime_error("the symmetric heap has no room for " + bytesText(bytes) + ": " +
                             bytesText(offsets_.used()) + " of " + bytesText(stride_) + " are in use");
  try {
    if (range->offset + range->bytes > size_) grow(range->offset + range->bytes - size_);
  } catch (...) {
    offsets_.release(range->offset);
    throw;
  }
  return {base() + range->offset, range->bytes, range->reused};
}

bool MappedHeap::release(Address address) { return contains(address) && offsets_.release(address - base()); }

}  // namespace tandem::runtime::cuda
