// One block of device memory: the tandem_trace, then the chunks.
#include "runtime/ranks/rank_trace.h"
#include <algorithm>

namespace tandem::runtime::ranks {

RankTrace::RankTrace(int rank, Device& device, Stream aside, int64_t originNs)
    : rank_(rank), device_(device), originNs_(originNs), aside_(aside), clock_(device.clock()), streams_(device) {
  constexpr uint64_t bytes = (kChunks + 2) * sizeof(TraceChunk);
  block_ = device.allocate(bytes);
  chunks_ = (block_ / sizeof(TraceChunk) + 2) * sizeof(TraceChunk);
  device.set(aside, block_, 0, bytes);
  tandem_trace trace{0, kChunks, chunks_};
  device.copyFromHost(aside, block_, &trace, sizeof trace);
  Event base = device.createEvent();
  began_ = clock_->compare(aside, base);
  streams_.begin(base, began_.lastNs);
  device.synchronize(aside);
}

RankTrace::~RankTrace() { device_.release(block_); }

std::vector<TraceChunk> RankTrace::read(uint64_t& lost) {
  tandem_trace trace{};
  device_.copyToHost(aside_, &trace, block_, sizeof trace);
  device_.synchronize(aside_);
  std::vector<TraceChunk> out(std::min(trace.taken, kChunks));
  lost = trace.taken - out.size();
  if (out.empty()) return out;
  device_.copyToHost(aside_, out.data(), chunks_, out.size() * sizeof(TraceChunk));
  device_.synchronize(aside_);
  return out;
}

const TraceKernel& RankTrace::kernelAt(Address sites) {
  auto [at, isNew] = kernels_.try_emplace(sites);
  if (!isNew) return at->second;
  constexpr uint32_t kMostText = 1 << 20;
  uint32_t length = 0;
  device_.copyToHost(aside_, &length, sites, sizeof length);
  device_.synchronize(aside_);
  std::string text(std::min(length, kMostText), '\0');
  device_.copyToHost(aside_, text.data(), sites + sizeof length, text.size());
  device_.synchronize(aside_);
  return at->second = readSites(text);
}

interpreter::Trace RankTrace::collect() {
  BesideCapture beside(device_);
  interpreter::Trace out;
  out.originNs = originNs_;
  HostTime time(began_, clock_->compare(aside_, nullptr));
  std::vector<TraceChunk> chunks = read(out.lost);
  out.spans = spansOf(chunks, chunks_, [this](Address sites) -> const TraceKernel& { return kernelAt(sites); });
  std::vector<interpreter::Span> queued = streams_.take();
  out.spans.insert(out.spans.end(), std::make_move_iterator(queued.begin()), std::make_move_iterator(queued.end()));
  out.lost += streams_.lost();
  for (interpreter::Span& s : out.spans) {
    s.rank = rank_;
    s.beginNs = time.of(uint64_t(s.beginNs)) - originNs_;
    s.endNs = time.of(uint64_t(s.endNs)) - originNs_;
  }
  return out;
}

}  // namespace tandem::runtime::ranks
