// A GPU as the ranks' common code uses it. This header is all that runtime/ranks sees of a vendor: a backend implements
// Device, Fabric and Platform, and test/host_platform.h does it in the host's memory.
#pragma once
#include "runtime/ranks/host_clock.h"
#include "runtime/session.h"

namespace tandem::runtime::ranks {

class Rendezvous;
class SymmetricHeap;

// The backend's handles. The null stream is the device's default stream, which frameworks use.
using Stream = struct StreamHandle*;
using Event = struct EventHandle*;

// Streams of one kind may share a queue of the hardware, where one that is held holds the others.
enum class StreamKind : uint8_t {
  Ordinary,
  Beside,  // for copies and signals that an ordinary stream's kernel waits for
  Aside,   // for work that must get through while all others are held
};

// How a stream compares a word with a value. `AtLeast` compares cyclically: the difference as a signed number is not
// negative.
enum class WaitFlag : uint8_t { AtLeast, Equal, And /* a common bit */, Nor /* a bit that neither has */ };

// A word of 4 or 8 bytes that a stream writes or waits for by itself, without a multiprocessor. A write is released
// after the stream's earlier work at system scope, a wait acquires.
struct WordOperation {
  bool waits = false;
  int bytes = 8;
  Address address = 0;
  uint64_t value = 0;
  WaitFlag flag = WaitFlag::Equal;  // of a wait
};

// Memory of the host that the device reaches.
struct SharedWords {
  void* host = nullptr;
  Address device = 0;
};

// The device's global timer, which a small kernel reads when it is asked.
class DeviceClock {
 public:
  virtual ~DeviceClock() = default;
  // Asks the device some times and keeps the quickest answer. Needs a multiprocessor for a moment. `then` (null: none)
  // is recorded where the stream goes on, right after `lastNs`.
  virtual ClockPair compare(Stream stream, Event then) = 0;
};

// One rank's device between enter and leave. A call that fails throws std::runtime_error; `doing` begins its text.
// Calls on a stream queue work and return.
class Device {
 public:
  virtual ~Device() = default;

  // 256-byte aligned; 0 for no bytes.
  virtual Address allocate(uint64_t bytes) = 0;
  // An error of earlier work that shows here shows at the next call again.
  virtual void release(Address address) noexcept = 0;
  virtual SharedWords allocateShared(uint64_t bytes, const std::string& doing) = 0;  // zeros
  virtual void releaseShared(SharedWords words) noexcept = 0;

  virtual void copy(Stream stream, Address dest, Address source, uint64_t bytes) = 0;
  virtual void copyRows(Stream stream, Address dest, uint64_t destPitch, Address source, uint64_t sourcePitch,
                        uint64_t bytes, uint64_t rows) = 0;
  virtual void set(Stream stream, Address dest, uint8_t value, uint64_t bytes) = 0;
  virtual void copyFromHost(Stream stream, Address dest, const void* source, uint64_t bytes) = 0;
  virtual void copyToHost(Stream stream, void* dest, Address source, uint64_t bytes) = 0;

  virtual Stream createStream(StreamKind kind) = 0;
  virtual void destroyStream(Stream stream) noexcept = 0;
  virtual void synchronize(Stream stream) = 0;
  virtual bool idle(Stream stream, const std::string& doing) = 0;
  // One after the other.
  virtual void submit(Stream stream, std::span<const WordOperation> operations, const std::string& doing) = 0;
  // Adds to `count` consecutive words of `bytes` (4 or 8), each released at system scope. Needs a multiprocessor for a
  // moment.
  virtual void addToSignals(Stream stream, Address signal, int count, uint64_t value, int bytes) = 0;
  // `context`: the rank's tandem_dist_context.
  virtual void launch(Stream stream, const KernelLaunch& launch, Address context) = 0;

  // The vendor's library of products, if it is there.
  virtual bool hasProducts() { return false; }
  virtual void multiply(Stream, const Product&) {
    throw std::runtime_error("this device has no library that multiplies");
  }

  virtual Event createEvent() = 0;
  virtual void destroyEvent(Event event) noexcept = 0;
  virtual void record(Stream stream, Event event) = 0;
  virtual void wait(Stream stream, Event event) = 0;
  virtual bool reached(Event event) = 0;
  virtual double millisecondsBetween(Event from, Event to) = 0;
  virtual std::unique_ptr<DeviceClock> clock() = 0;

  // Work of a stream that is being captured becomes a graph. Also true for the default stream while another that it
  // waits for is captured.
  virtual bool capturing(Stream stream) = 0;
  // While another library captures, a driver may forbid a thread to allocate, and to query and synchronise streams that
  // are not captured. This allows it to the calling thread; the returned mode undoes that.
  virtual int relaxCaptureMode() = 0;
  virtual void restoreCaptureMode(int mode) = 0;
};

// Until the scope ends the calling thread may allocate, query and synchronise streams that are not being captured.
class BesideCapture {
 public:
  explicit BesideCapture(Device& device) : device_(device), mode_(device.relaxCaptureMode()) {}
  ~BesideCapture() { device_.restoreCaptureMode(mode_); }
  BesideCapture(const BesideCapture&) = delete;
  BesideCapture& operator=(const BesideCapture&) = delete;

 private:
  Device& device_;
  int mode_;
};

// A rank as the fabric sees it.
struct RankPlace {
  int rank = 0, rankCount = 1;
  int device = 0;
  bool ownProcess = false;  // no other rank of the run is in this process
  uint64_t heapStride = 0;
};
std::vector<int> allOf(const RankPlace& place);          // 0 to rankCount - 1
int indexOf(const std::vector<int>& members, int rank);  // of a member

// The way in which a run's ranks reach each other's memory.
class Fabric {
 public:
  virtual ~Fabric() = default;
  virtual SymmetricHeap& heap() = 0;
  // [all members] A heap of a team's own: its part of rank members[i] is the i-th. Throws where this way has none.
  virtual std::unique_ptr<SymmetricHeap> heapOf(Rendezvous& ranks, Device& device, const RankPlace& place,
                                                const std::vector<int>& members) = 0;
  virtual std::string targetSuffix() const = 0;  // what code that goes this way has in its target's name
  // Kernels of the calling thread that name ranks use `context` until the returned object dies (on any thread).
  virtual std::shared_ptr<void> publish(Address context) = 0;
  // [all ranks] Ends it, after all work. Without this call a rank ends alone.
  virtual void end() = 0;
};

// A device's facts before it is used.
struct DeviceFacts {
  std::string name, target;  // "sm_90a"
  int residentPrograms = 0;
};

// The devices of one vendor in this process. Thread-safe.
class Platform {
 public:
  virtual ~Platform() = default;
  virtual int deviceCount() const = 0;              // throws where there is none
  virtual DeviceFacts facts(int device) const = 0;  // throws where there is no such device
  virtual std::string expectedSuffix() const = 0;   // of the fabric, before the ranks have met
  virtual std::unique_ptr<Device> open(int device) const = 0;
  // [all ranks] The same kind of fabric on all, or an exception on all.
  virtual std::unique_ptr<Fabric> connect(Rendezvous& ranks, Device& device, const RankPlace& place) const = 0;
};

}  // namespace tandem::runtime::ranks
