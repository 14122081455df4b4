// Streams and events by number. While a stream is captured nothing is queried: the driver would end the capture.
#include "runtime/ranks/streams.h"
#include <algorithm>

namespace tandem::runtime::ranks {
namespace {

constexpr size_t kSpareEvents = 64;  // there before a capture begins

}  // namespace

Streams::Streams(Device& device) : device_(device), aside_(device.createStream(StreamKind::Aside)) { create(); }

Streams::~Streams() {
  for (const Entry& e : list_)
    if (e.own) device_.destroyStream(e.stream);
  device_.destroyStream(aside_);
}

StreamId Streams::create() {
  list_.push_back({device_.createStream(StreamKind::Ordinary), true});
  return StreamId(list_.size() - 1);
}

StreamId Streams::beside(StreamId id) {
  at(id);  // throws where there is none
  if (auto found = beside_.find(id); found != beside_.end()) return found->second;
  list_.push_back({device_.createStream(StreamKind::Beside), true});
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

bool Streams::capturing(StreamId id) const { return device_.capturing(at(id)); }

bool Streams::idle(StreamId id) const {
  Stream stream = at(id);
  if (device_.capturing(stream))
    throw std::invalid_argument("stream " + std::to_string(id) +
                                " is being captured into a graph: nothing can wait for it");
  BesideCapture beside(device_);
  return device_.idle(stream, "the work of stream " + std::to_string(id));
}

Events::Events(Device& device) : device_(device) {
  while (free_.size() < kSpareEvents) free_.push_back(device.createEvent());
}

Events::~Events() {
  for (Event e : free_) device_.destroyEvent(e);
  for (auto [id, e] : live_) device_.destroyEvent(e);
  for (auto [id, e] : captured_) device_.destroyEvent(e);
  for (auto [id, e] : times_) device_.destroyEvent(e);
}

Event Events::take() {
  if (free_.empty()) return device_.createEvent();
  Event e = free_.back();
  free_.pop_back();
  return e;
}

void Events::recycle(int most) {
  BesideCapture beside(device_);
  for (int i = 0; i < most && !live_.empty() && device_.reached(live_.front().second); ++i) {
    free_.push_back(live_.front().second);
    live_.pop_front();
  }
}

EventId Events::record(Stream stream) {
  constexpr int atOnce = 4;
  bool capturing = device_.capturing(stream);
  if (!capturing) recycle(atOnce);
  Event event = take();
  try {
    device_.record(stream, event);
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
  if (Event event = eventOf(id)) device_.wait(stream, event);
}

EventId Events::recordTime(Stream stream) {
  if (device_.capturing(stream))
    throw std::invalid_argument("a stream that is being captured into a graph has no time");
  if (times_.size() == kMostTimes) {
    free_.push_back(times_.begin()->second);
    times_.erase(times_.begin());
  }
  Event event = take();
  times_.emplace(++last_, event);
  device_.record(stream, event);
  return last_;
}

Event Events::timed(EventId id) const {
  auto found = times_.find(id);
  if (found == times_.end())
    throw std::invalid_argument("no time was recorded as " + std::to_string(id) + ", or " + std::to_string(kMostTimes) +
                                " others since");
  return found->second;
}

bool Events::reached(EventId id) const { return device_.reached(timed(id)); }

double Events::microseconds(EventId from, EventId to) const {
  return 1e3 * device_.millisecondsBetween(timed(from), timed(to));
}

bool Events::passed(EventId id) {
  constexpr int all = 1 << 20;
  recycle(all);
  return !eventOf(id);
}

}  // namespace tandem::runtime::ranks
