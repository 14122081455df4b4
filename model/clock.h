// The simulator's clock: how long a machine takes for what programs and streams do, in nanoseconds of modelled time.
#pragma once
#include "model/machine.h"

namespace tandem::model {

class Clock {
 public:
  explicit Clock(const Machine& machine);

  // The time of what a program does by itself.
  int64_t instructions(uint32_t count) const { return int64_t(count * instructionNs_); }
  int64_t loads(uint64_t bytes, bool fromPeer) const { return ns(bytes, fromPeer ? peerLoads_ : memory_); }
  int64_t stores(uint64_t bytes, bool toPeer) const { return ns(bytes, toPeer ? peerStores_ : memory_); }
  // A product by the size of its operands' elements, in bytes.
  int64_t multiplies(double operations, unsigned elementBytes) const {
    return int64_t(operations / (elementBytes >= 4 ? fp32_ : elementBytes == 1 ? fp8_ : bf16_));
  }
  int64_t adds(double operations) const { return int64_t(operations / bf16_); }

  // Transfers that somebody else carries out for a program: puts, gets, bulk copies. From the start to the last byte.
  int64_t gets(uint64_t bytes, bool fromPeer) const { return latent(bytes, fromPeer, peerLoads_); }
  int64_t puts(uint64_t bytes, bool toPeer) const { return latent(bytes, toPeer, peerStores_); }
  int64_t startsTransfer() const { return int64_t(instructionNs_ * kInstructionsOfTransfer); }

  int64_t signals(bool toPeer) const { return int64_t(latency(toPeer)) / kSignalsInLatency; }
  int64_t barrier() const { return barrierNs_; }
  int64_t launch() const { return launchNs_; }

  // The time of a stream's work: the bytes of a copy, what a copy takes beside them, the write of a signal.
  int64_t copies(uint64_t bytes, bool toPeer) const { return ns(bytes, toPeer ? copyEngine_ : localCopyEngine_); }
  int64_t startsCopy() const { return copyNs_; }
  int64_t writesSignal() const { return signalWriteNs_; }

 private:
  static constexpr double kInstructionsOfTransfer = 20;
  static constexpr int64_t kSignalsInLatency = 4;  // a program goes on while its signal is under way

  static int64_t ns(uint64_t bytes, double rate) { return int64_t(double(bytes) / rate); }
  double latency(bool ofPeer) const { return ofPeer ? peerLatencyNs_ : memoryLatencyNs_; }
  int64_t latent(uint64_t bytes, bool ofPeer, double peerRate) const {
    return int64_t(latency(ofPeer) + double(bytes) / (ofPeer ? peerRate : memory_));
  }

  double instructionNs_, memoryLatencyNs_, peerLatencyNs_;
  // bytes a nanosecond: of one program, of a stream
  double memory_, peerLoads_, peerStores_, copyEngine_, localCopyEngine_;
  double bf16_, fp8_, fp32_;  // one program's operations a nanosecond
  int64_t barrierNs_, launchNs_, copyNs_, signalWriteNs_;
};

}  // namespace tandem::model
