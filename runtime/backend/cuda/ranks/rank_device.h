// The driver's calls that a rank needs, on its device.
#pragma once
#include "runtime/backend/cuda/blas.h"
#include "runtime/backend/cuda/ranks/signal_add.h"
#include "runtime/ranks/device.h"

namespace tandem::runtime::cuda {

class RankDevice final : public ranks::Device {
 public:
  explicit RankDevice(int device);  // loads the kernel that adds to signals

  Address allocate(uint64_t bytes) override;
  void release(Address address) noexcept override;
  ranks::SharedWords allocateShared(uint64_t bytes, const std::string& doing) override;
  void releaseShared(ranks::SharedWords words) noexcept override;

  void copy(ranks::Stream stream, Address dest, Address source, uint64_t bytes) override;
  void copyRows(ranks::Stream stream, Address dest, uint64_t destPitch, Address source, uint64_t sourcePitch,
                uint64_t bytes, uint64_t rows) override;
  void set(ranks::Stream stream, Address dest, uint8_t value, uint64_t bytes) override;
  void copyFromHost(ranks::Stream stream, Address dest, const void* source, uint64_t bytes) override;
  void copyToHost(ranks::Stream stream, void* dest, Address source, uint64_t bytes) override;

  ranks::Stream createStream(ranks::StreamKind kind) override;
  void destroyStream(ranks::Stream stream) noexcept override;
  void synchronize(ranks::Stream stream) override;
  bool idle(ranks::Stream stream, const std::string& doing) override;
  void submit(ranks::Stream stream, std::span<const ranks::WordOperation> operations,
              const std::string& doing) override;
  void addToSignals(ranks::Stream stream, Address signal, int count, uint64_t value, int bytes) override;
  void launch(ranks::Stream stream, const KernelLaunch& launch, Address context) override;

  bool hasProducts() override;
  void multiply(ranks::Stream stream, const Product& product) override;

  ranks::Event createEvent() override;
  void destroyEvent(ranks::Event event) noexcept override;
  void record(ranks::Stream stream, ranks::Event event) override;
  void wait(ranks::Stream stream, ranks::Event event) override;
  bool reached(ranks::Event event) override;
  double millisecondsBetween(ranks::Event from, ranks::Event to) override;
  std::unique_ptr<ranks::DeviceClock> clock() override;

  bool capturing(ranks::Stream stream) override;
  int relaxCaptureMode() override;
  void restoreCaptureMode(int mode) override;

 private:
  int device_;
  SignalAdd signalAdd_;
  std::unique_ptr<Blas> blas_;  // null: not asked for, or not there
};

// The driver's handles behind those of the ranks' common code, and the other way round.
inline Stream driverStream(ranks::Stream stream) { return reinterpret_cast<Stream>(stream); }
inline Event driverEvent(ranks::Event event) { return reinterpret_cast<Event>(event); }
inline ranks::Stream handleOf(Stream stream) { return reinterpret_cast<ranks::Stream>(stream); }
inline ranks::Event handleOf(Event event) { return reinterpret_cast<ranks::Event>(event); }

}  // namespace tandem::runtime::cuda
