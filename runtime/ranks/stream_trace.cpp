// Events become times relative to one that lies at most some seconds back: the driver tells differences with 24 bits.
#include "runtime/ranks/stream_trace.h"
#include <cmath>

namespace tandem::runtime::ranks {
namespace {
constexpr size_t kMostSpans = size_t(1) << 20;
constexpr size_t kPending = 1024;  // at this many pending spans the ended ones are collected
}  // namespace

StreamTrace::~StreamTrace() {
  for (const Piece& p : pieces_) {
    device_.destroyEvent(p.before);
    device_.destroyEvent(p.after);
  }
  for (Event e : free_) device_.destroyEvent(e);
  if (base_) device_.destroyEvent(base_);
}

void StreamTrace::begin(Event base, uint64_t deviceNs) {
  base_ = base;
  baseNs_ = deviceNs;
}

Event StreamTrace::take(Stream stream) {
  Event event = free_.empty() ? device_.createEvent() : free_.back();
  if (!free_.empty()) free_.pop_back();
  device_.record(stream, event);
  return event;
}

Event StreamTrace::before(Stream stream) {
  if (device_.capturing(stream)) return nullptr;
  if (spans_.size() + pieces_.size() >= kMostSpans) return ++lost_, nullptr;
  return take(stream);
}

void StreamTrace::after(Stream stream, Event before, const interpreter::Span& what) {
  if (!before) return;
  if (device_.capturing(stream)) return free_.push_back(before);
  pieces_.push_back({what, before, take(stream)});
  if (pieces_.size() % kPending == 0) settle(false);
}

int64_t StreamTrace::timeOf(Event event) const {
  constexpr double nsPerMs = 1e6;
  return int64_t(baseNs_) + std::llround(device_.millisecondsBetween(base_, event) * nsPerMs);
}

// Takes the spans in the order they were queued, which is nearly that of time: far from the base the next one becomes
// the base.
void StreamTrace::settle(bool all) {
  constexpr int64_t far = 1000000000;
  BesideCapture beside(device_);
  while (!pieces_.empty()) {
    Piece& p = pieces_.front();
    if (!all && !device_.reached(p.after)) return;
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

}  // namespace tandem::runtime::ranks
