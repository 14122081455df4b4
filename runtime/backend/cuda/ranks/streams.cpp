// Streams and events by number. While a stream is captured nothing is queried: the driver would end the capture.
#include "runtime/backend/cuda/ranks/streams.h"
#include "runtime/backend/cuda/capture.h"
#include <algorithm>

namespace tandem::runtime::cuda {
namespace {

// Streams of one priority may share a queue, where one that is held holds the others.
Stream createAbove(int device, int belowGreatest) {
  constexpr unsigned nonBlocking = 1;
  OnDevice scope(device);
  int least = 0, greatest = 0;
  Stream stream = nullptr;
  std::string doing = "a stream beside those of a rank";
  check(needed(driver().ctxGetStreamPriorityRange, "cuCtxGetStreamPriorityRange")(&least, &greatest),
        "cuCtxGetStreamPriorityRange", doing);
  int priority = std::min(greatest + belowGreatest, least);
  check(needed(driver().streamCreateWithPriority, "cuStreamCreateWithPriority")(&stream, nonBlocking, priority),
        "cuStreamCreateWithPriority", doing);
  return stream;
}

constexpr size_t kSpareEvents = 64;  // there before a capture begins

}  // namespace

Streams::Streams(int device) : device_(device), aside_(createAbove(device, 0)) { create(); }

Streams::~Streams() {
  OnDevice scope(device_);
  for (const Entry& e : list_)
    if (e.own) driver().streamDestroy(e.stream);
  driver().streamDestroy(aside_);
}

StreamId Streams::create() {
  list_.push_back({createStream(device_), true});
  return StreamId(list_.size() - 1);
}

StreamId Streams::beside(StreamId id) {
  at(id);  // throws where there is none
  if (auto found = beside_.find(id); found != beside_.end()) return found->second;
  list_.push_back({createAbove(device_, 1), true});
  return beside_[id] = StreamId(list_.size() - 1);
}

StreamId Streams::adopt(uint64_t handle) {
  Stream stream = reinterpret_cast<Stream>(handle);
  for (size_t i = 0; i < list_.size(); ++i)
    if (list_[i].stream == stream) return StreamId(i);
  list_.push_back({stream, false});
  return StreamId(list_.size() - 1);
}

Stream Streams::at(StreamId id) const {
  if (!has(id)) throw std::invalid_argument("the rank has no stream " + std::to_string(id));
  return list_[id].stream;
}

bool Streams::capturing(StreamId id) const { return isCapturing(at(id)); }

bool Streams::idle(StreamId id) const {
  OnDevice scope(device_);  // the default stream is the current context's
  Stream stream = at(id);
  if (isCapturing(stream))
    throw std::invalid_argument("stream " + std::to_string(id) +
                                " is being captured into a graph: nothing can wait for it");
  BesideCapture beside;
  Result r = needed(driver().streamQuery, "cuStreamQuery")(stream);
  if (r == kNotReady) return false;
  if (r != kSuccess)
    check(r, "cuStreamQuery", "the work of stream " + std::to_string(id) + " on device " + std::to_string(device_));
  return true;
}

Events::Events(int device) : device_(device) {
  while (free_.size() < kSpareEvents) free_.push_back(createEvent(device));
}

Events::~Events() {
  OnDevice scope(device_);
  for (Event e : free_) driver().eventDestroy(e);
  for (auto [id, e] : live_) driver().eventDestroy(e);
  for (auto [id, e] : captured_) driver().eventDestroy(e);
  for (auto [id, e] : times_) driver().eventDestroy(e);
}

Event Events::take() {
  if (free_.empty()) return createEvent(device_);
  Event e = free_.back();
  free_.pop_back();
  return e;
}

void Events::recycle(int most) {
  BesideCapture beside;
  for (int i = 0;
       i < most && !live_.empty() && needed(driver().eventQuery, "cuEventQuery")(live_.front().second) == kSuccess;
       ++i) {
    free_.push_back(live_.front().second);
    live_.pop_front();
  }
}

EventId Events::record(Stream stream) {
  constexpr int atOnce = 4;
  bool capturing = isCapturing(stream);
  if (!capturing) recycle(atOnce);
  Event event = take();
  try {
    recordEvent(device_, stream, event);
  } catch (...) {
    free_.push_back(event);
    throw;
  }
  ++last_;
  if (capturing)
    captured_.emplace(last_, event);
  else
    live_.emplace_back(last_, event);
  return last_;
}

Event Events::eventOf(EventId id) const {
  if (auto captured = captured_.find(id); captured != captured_.end()) return captured->second;
  auto live =
      std::lower_bound(live_.begin(), live_.end(), id, [](const auto& entry, EventId i) { return entry.first < i; });
  return live != live_.end() && live->first == id ? live->second : nullptr;
}

void Events::wait(Stream stream, EventId id) const {
  if (id == 0 || id > last_) throw std::invalid_argument("event " + std::to_string(id) + " was never recorded");
  if (Event event = eventOf(id)) waitEvent(device_, stream, event);
}

EventId Events::recordTime(Stream stream) {
  if (isCapturing(stream)) throw std::invalid_argument("a stream that is being captured into a graph has no time");
  Event event = take();
  times_.emplace(++last_, event);
  recordEvent(device_, stream, event);
  return last_;
}

Event Events::timed(EventId id) const {
  auto found = times_.find(id);
  if (found == times_.end()) throw std::invalid_argument("no time was recorded as " + std::to_string(id));
  return found->second;
}

bool Events::reached(EventId id) const {
  Result r = needed(driver().eventQuery, "cuEventQuery")(timed(id));
  if (r != kNotReady) check(r, "cuEventQuery");
  return r == kSuccess;
}

double Events::microseconds(EventId from, EventId to) const {
  return 1e3 * double(elapsedMs(device_, timed(from), timed(to)));
}

bool Events::passed(EventId id) {
  constexpr int all = 1 << 20;
  recycle(all);
  return !eventOf(id);
}

}  // namespace tandem::runtime::cuda
