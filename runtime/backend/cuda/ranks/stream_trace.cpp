// Events become times relative to one that lies at most some seconds back: the driver tells differences with 24 bits.
#include "runtime/backend/cuda/ranks/stream_trace.h"
#include "runtime/backend/cuda/capture.h"
#include <cmath>

namespace tandem::runtime::cuda {
namespace {
constexpr size_t kMostSpans = size_t(1) << 20;
constexpr size_t kPending = 1024;  // at this many pending spans the ended ones are collected
}  // namespace

StreamTrace::~StreamTrace() {
  OnDevice scope(device_);
  for (const Piece& p : pieces_) {
    driver().eventDestroy(p.before);
    driver().eventDestroy(p.after);
  }
  for (Event e : free_) driver().eventDestroy(e);
  if (base_) driver().eventDestroy(base_);
}

void StreamTrace::begin(Event base, uint64_t deviceNs) {
  base_ = base;
  baseNs_ = deviceNs;
}

Event StreamTrace::take(Stream stream) {
  Event event = free_.empty() ? createEvent(device_) : free_.back();
  if (!free_.empty()) free_.pop_back();
  recordEvent(device_, stream, event);
  return event;
}

Event StreamTrace::before(Stream stream) {
  if (isCapturing(stream)) return nullptr;
  if (spans_.size() + pieces_.size() >= kMostSpans) return ++lost_, nullptr;
  return take(stream);
}

void StreamTrace::after(Stream stream, Event before, const interpreter::Span& what) {
  if (!before) return;
  if (isCapturing(stream)) return free_.push_back(before);
  pieces_.push_back({what, before, take(stream)});
  if (pieces_.size() % kPending == 0) settle(false);
}

int64_t StreamTrace::timeOf(Event event) const {
  constexpr double nsPerMs = 1e6;
  return int64_t(baseNs_) + std::llround(double(elapsedMs(device_, base_, event)) * nsPerMs);
}

// Takes the spans in the order they were queued, which is nearly that of time: far from the base the next one becomes
// the base.
void StreamTrace::settle(bool all) {
  constexpr int64_t far = 1000000000;
  BesideCapture beside;
  while (!pieces_.empty()) {
    Piece& p = pieces_.front();
    if (!all && needed(driver().eventQuery, "cuEventQuery")(p.after) != kSuccess) return;
    p.span.beginNs = timeOf(p.before);
    p.span.endNs = timeOf(p.after);
    free_.push_back(p.before);
    if (p.span.endNs - int64_t(baseNs_) > far) {
      std::swap(base_, p.after);
      baseNs_ = uint64_t(p.span.endNs);
    }
    free_.push_back(p.after);
    spans_.push_back(std::move(p.span));
    pieces_.pop_front();
  }
}

std::vector<interpreter::Span> StreamTrace::take() {
  settle(true);
  return std::move(spans_);
}

}  // namespace tandem::runtime::cuda
