// Devices that are memory and queues of this process: what the ranks' common code does is tested on them, without a
// driver. Streams really wait. Ranks are threads; each makes its own streams go on when it asks for them.
#pragma once
#include "abi/kernel_image.h"
#include "runtime/ranks/device.h"
#include "runtime/ranks/heap_allocator.h"
#include "runtime/ranks/session.h"
#include "runtime/ranks/symmetric_heap.h"
#include <deque>
#include <functional>
#include <mutex>

namespace tandem::runtime::ranks {

// The head of a stream's work says whether it is done now.
struct StreamHandle {
  std::deque<std::function<bool()>> pending;
  StreamKind kind = StreamKind::Ordinary;
  bool isCaptured = false, going = false;  // `going`: streams that wait for each other's events ask each other

  bool progress();
};
struct EventHandle {
  int records = 0, passed = 0;
  int64_t ns = 0;
  StreamHandle* stream = nullptr;  // the last that recorded it
};

bool holds(const WordOperation& wait);

// A kernel is a function of its rank's context and its arguments.
class HostKernel final : public GpuKernel {
 public:
  using Body = std::function<void(Address context, std::vector<uint64_t> arguments)>;
  HostKernel(const std::string& name, Body body) : body_(std::move(body)) { image_.name = name; }
  const abi::KernelImage& image() const override { return image_; }
  const Body& body() const { return body_; }

 private:
  abi::KernelImage image_;
  Body body_;
};

class HostDevice final : public Device {
 public:
  static constexpr int64_t kClockAheadNs = 3600000000000;

  ~HostDevice() override;
  size_t allocations() const { return memory_.size(); }

  Address allocate(uint64_t bytes) override;
  void release(Address address) noexcept override;
  SharedWords allocateShared(uint64_t bytes, const std::string& doing) override;
  void releaseShared(SharedWords words) noexcept override { release(words.device); }
  void copy(Stream stream, Address dest, Address source, uint64_t bytes) override;
  void copyRows(Stream stream, Address dest, uint64_t destPitch, Address source, uint64_t sourcePitch, uint64_t bytes,
                uint64_t rows) override;
  void set(Stream stream, Address dest, uint8_t value, uint64_t bytes) override;
  void copyFromHost(Stream stream, Address dest, const void* source, uint64_t bytes) override;
  void copyToHost(Stream stream, void* dest, Address source, uint64_t bytes) override;
  Stream createStream(StreamKind kind) override { return new StreamHandle{{}, kind}; }
  void destroyStream(Stream stream) noexcept override { delete stream; }
  void synchronize(Stream stream) override;
  bool idle(Stream stream, const std::string&) override { return stream->progress(); }
  void submit(Stream stream, std::span<const WordOperation> operations, const std::string& doing) override;
  void addToSignals(Stream stream, Address signal, int count, uint64_t value, int bytes) override;
  void launch(Stream stream, const KernelLaunch& launch, Address context) override;
  Event createEvent() override { return new EventHandle; }
  void destroyEvent(Event event) noexcept override { delete event; }
  void record(Stream stream, Event event) override;
  void wait(Stream stream, Event event) override;
  bool reached(Event event) override;
  double millisecondsBetween(Event from, Event to) override { return double(to->ns - from->ns) / 1e6; }
  std::unique_ptr<DeviceClock> clock() override;
  bool capturing(Stream stream) override { return stream->isCaptured; }
  int relaxCaptureMode() override { return 0; }
  void restoreCaptureMode(int) override {}

 private:
  void enqueue(Stream stream, std::function<bool()> work);
  std::map<Address, std::vector<uint64_t>> memory_;
};

// Addresses of heaps, until the end.
class HostAddresses {
 public:
  HostAddresses() = default;
  HostAddresses(const HostAddresses&) = delete;
  ~HostAddresses();
  Address reserve(uint64_t bytes);

 private:
  std::mutex mutex_;
  std::vector<std::pair<void*, uint64_t>> all_;
};

// `count` devices. All ranks of one platform belong to one run.
class HostPlatform final : public Platform {
 public:
  explicit HostPlatform(int count) : count_(count) {}
  int deviceCount() const override { return count_; }
  DeviceFacts facts(int device) const override;
  std::string expectedSuffix() const override { return "+expected"; }
  std::unique_ptr<Device> open(int device) const override;
  std::unique_ptr<Fabric> connect(Rendezvous& ranks, Device& device, const RankPlace& place) const override;

 private:
  int count_;
  mutable std::mutex mutex_;
  mutable HostAddresses addresses_;
  mutable Address heaps_ = 0;  // of all ranks, side by side
};

}  // namespace tandem::runtime::ranks
