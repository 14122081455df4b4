// Memory is this process's, streams are queues, kernels are functions.
#include "runtime/ranks/test/host_platform.h"
#include "runtime/ranks/wire.h"
#include <cstring>
#include <sys/mman.h>
#include <thread>

namespace tandem::runtime::ranks {
namespace {

void* pointer(Address address) { return reinterpret_cast<void*>(address); }

uint64_t read(Address address, int bytes) {
  return bytes == 8 ? __atomic_load_n(static_cast<uint64_t*>(pointer(address)), __ATOMIC_ACQUIRE)
                    : __atomic_load_n(static_cast<uint32_t*>(pointer(address)), __ATOMIC_ACQUIRE);
}

void write(const WordOperation& o) {
  if (o.bytes == 8)
    __atomic_store_n(static_cast<uint64_t*>(pointer(o.address)), o.value, __ATOMIC_RELEASE);
  else
    __atomic_store_n(static_cast<uint32_t*>(pointer(o.address)), uint32_t(o.value), __ATOMIC_RELEASE);
}

class HostClock final : public DeviceClock {
 public:
  explicit HostClock(HostDevice& device) : device_(device) {}
  ClockPair compare(Stream stream, Event then) override {
    if (then) device_.record(stream, then);
    int64_t now = hostClockNs();
    uint64_t there = uint64_t(now + HostDevice::kClockAheadNs);
    return {there, now, 0, there};
  }

 private:
  HostDevice& device_;
};

class HostHeap final : public SymmetricHeap {
 public:
  HostHeap(Rendezvous& ranks, Device& device, const RankPlace& place, const std::vector<int>& members, Address first)
      : SymmetricHeap(ranks, members, indexOf(members, place.rank), device), first_(first), stride_(place.heapStride),
        offsets_(stride_) {}
  bool release(Address address) override { return contains(address) && offsets_.release(address - base()); }
  Address base() const override { return first_ + uint64_t(rank_) * stride_; }
  int64_t stride() const override { return int64_t(stride_); }
  std::vector<int64_t> offsets() const override { return {}; }
  bool contains(Address address) const override { return address >= base() && address - base() < stride_; }
  Address onPeer(Address address, int peer) const override {
    return address + Address(int64_t(peer - rank_)) * stride_;
  }

 private:
  Part take(uint64_t bytes) override {
    std::optional<HeapAllocator::Range> range = offsets_.allocate(bytes);
    checkAll("room", range ? "" : "no room");
    return {base() + range->offset, range->bytes, range->reused};
  }
  Address first_;
  uint64_t stride_;
  HeapAllocator offsets_;
};

class HostFabric final : public Fabric {
 public:
  HostFabric(Rendezvous& ranks, Device& device, const RankPlace& place, Address first, HostAddresses& addresses)
      : heap_(ranks, device, place, allOf(place), first), addresses_(addresses) {}
  SymmetricHeap& heap() override { return heap_; }
  std::unique_ptr<SymmetricHeap> heapOf(Rendezvous& ranks, Device& device, const RankPlace& place,
                                        const std::vector<int>& members) override {
    // The first member reserves the addresses: all are in this process.
    Address mine = place.rank == members[0] ? addresses_.reserve(place.heapStride * members.size()) : 0;
    Address first = Reader(ranks.gather(members, "addresses", Writer().put(mine).bytes)[0].bytes).get<Address>();
    return std::make_unique<HostHeap>(ranks, device, place, members, first);
  }
  std::string targetSuffix() const override { return "+met"; }
  std::shared_ptr<void> publish(Address) override { return nullptr; }
  void end() override {}

 private:
  HostHeap heap_;
  HostAddresses& addresses_;
};

}  // namespace

bool holds(const WordOperation& o) {
  uint64_t mask = o.bytes == 8 ? ~uint64_t(0) : 0xffffffffu, word = read(o.address, o.bytes), value = o.value & mask;
  switch (o.flag) {
    case WaitFlag::AtLeast: return ((word - value) & mask) <= mask / 2;
    case WaitFlag::Equal: return word == value;
    case WaitFlag::And: return (word & value) != 0;
    case WaitFlag::Nor: return (~(word | value) & mask) != 0;
  }
  return false;
}

bool StreamHandle::progress() {
  if (going) return false;
  going = true;
  while (!pending.empty() && pending.front()()) pending.pop_front();
  going = false;
  return pending.empty();
}

HostDevice::~HostDevice() = default;

void HostDevice::enqueue(Stream stream, std::function<bool()> work) {
  if (stream->isCaptured) return;  // a graph that never runs
  stream->pending.push_back(std::move(work));
  stream->progress();
}

Address HostDevice::allocate(uint64_t bytes) {
  std::vector<uint64_t> words((bytes + 7) / 8 + 1);
  auto at = reinterpret_cast<Address>(words.data());
  memory_.emplace(at, std::move(words));
  return at;
}
void HostDevice::release(Address address) noexcept { memory_.erase(address); }
SharedWords HostDevice::allocateShared(uint64_t bytes, const std::string&) {
  Address at = allocate(bytes);
  return {pointer(at), at};
}

void HostDevice::copy(Stream stream, Address dest, Address source, uint64_t bytes) {
  enqueue(stream, [=] { return std::memcpy(pointer(dest), pointer(source), bytes), true; });
}
void HostDevice::copyRows(Stream stream, Address dest, uint64_t destPitch, Address source, uint64_t sourcePitch,
                          uint64_t bytes, uint64_t rows) {
  for (uint64_t r = 0; r < rows; ++r) copy(stream, dest + r * destPitch, source + r * sourcePitch, bytes);
}
void HostDevice::set(Stream stream, Address dest, uint8_t value, uint64_t bytes) {
  enqueue(stream, [=] { return std::memset(pointer(dest), value, bytes), true; });
}
void HostDevice::copyFromHost(Stream stream, Address dest, const void* source, uint64_t bytes) {
  copy(stream, dest, reinterpret_cast<Address>(source), bytes);
}
void HostDevice::copyToHost(Stream stream, void* dest, Address source, uint64_t bytes) {
  copy(stream, reinterpret_cast<Address>(dest), source, bytes);
}

void HostDevice::synchronize(Stream stream) {
  while (!stream->progress()) std::this_thread::yield();
}

void HostDevice::submit(Stream stream, std::span<const WordOperation> operations, const std::string&) {
  for (const WordOperation& o : operations) enqueue(stream, [o] { return o.waits ? holds(o) : (write(o), true); });
}

void HostDevice::addToSignals(Stream stream, Address signal, int count, uint64_t value, int bytes) {
  for (int i = 0; i < count; ++i)
    enqueue(stream, [at = signal + uint64_t(i * bytes), value, bytes] {
      if (bytes == 8)
        __atomic_fetch_add(static_cast<uint64_t*>(pointer(at)), value, __ATOMIC_ACQ_REL);
      else
        __atomic_fetch_add(static_cast<uint32_t*>(pointer(at)), uint32_t(value), __ATOMIC_ACQ_REL);
      return true;
    });
}

void HostDevice::launch(Stream stream, const KernelLaunch& launch, Address context) {
  std::vector<uint64_t> arguments(launch.arguments.begin(), launch.arguments.end());
  enqueue(stream, [kernel = launch.code.kernel, arguments, context] {
    return static_cast<const HostKernel&>(*kernel).body()(context, arguments), true;
  });
}

void HostDevice::record(Stream stream, Event event) {
  event->stream = stream;
  enqueue(stream, [event, number = ++event->records] {
    event->passed = number;
    event->ns = hostClockNs();
    return true;
  });
}

void HostDevice::wait(Stream stream, Event event) {
  enqueue(stream, [event, number = event->records] {
    if (event->passed < number) event->stream->progress();
    return event->passed >= number;
  });
}

bool HostDevice::reached(Event event) {
  if (event->stream) event->stream->progress();
  return event->passed == event->records;
}

std::unique_ptr<DeviceClock> HostDevice::clock() { return std::make_unique<HostClock>(*this); }

HostAddresses::~HostAddresses() {
  for (auto [at, bytes] : all_) munmap(at, bytes);
}

Address HostAddresses::reserve(uint64_t bytes) {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) throw std::runtime_error("no addresses for the ranks' heaps");
  std::lock_guard lock(mutex_);
  all_.emplace_back(at, bytes);
  return reinterpret_cast<Address>(at);
}

DeviceFacts HostPlatform::facts(int device) const {
  if (device < 0 || device >= count_) throw std::invalid_argument("there is no device " + std::to_string(device));
  return {"host " + std::to_string(device), "host", 4};
}

std::unique_ptr<Device> HostPlatform::open(int) const { return std::make_unique<HostDevice>(); }

std::unique_ptr<Fabric> HostPlatform::connect(Rendezvous& ranks, Device& device, const RankPlace& place) const {
  std::lock_guard lock(mutex_);
  if (!heaps_) heaps_ = addresses_.reserve(place.heapStride * uint64_t(place.rankCount));
  return std::make_unique<HostFabric>(ranks, device, place, heaps_, addresses_);
}

}  // namespace tandem::runtime::ranks
