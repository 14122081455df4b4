// A traced rank keeps these: the buffer that its kernels record into, the events of its streams, and its device's
// clock.
#pragma once
#include "runtime/ranks/stream_trace.h"
#include "runtime/ranks/trace_records.h"
#include <map>

namespace tandem::runtime::ranks {

class RankTrace {
 public:
  static constexpr uint64_t kChunks = uint64_t(1) << 16;

  // `originNs` on the host's clock is the trace's time 0.
  RankTrace(int rank, Device& device, Stream aside, int64_t originNs);
  ~RankTrace();
  RankTrace(const RankTrace&) = delete;
  RankTrace& operator=(const RankTrace&) = delete;

  Address address() const { return block_; }  // of the tandem_trace
  StreamTrace& streams() { return streams_; }
  // Returns the trace so far. The rank's streams must be idle.
  interpreter::Trace collect();

 private:
  const TraceKernel& kernelAt(Address sites);
  std::vector<TraceChunk> read(uint64_t& lost);

  int rank_;
  Device& device_;
  int64_t originNs_;
  Stream aside_;
  Address block_ = 0, chunks_ = 0;
  std::unique_ptr<DeviceClock> clock_;
  ClockPair began_;
  StreamTrace streams_;
  std::map<Address, TraceKernel> kernels_;
};

}  // namespace tandem::runtime::ranks
