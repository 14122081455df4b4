// The streams of one rank by number, and its events.
#pragma once
#include "runtime/ranks/device.h"
#include <deque>
#include <map>

namespace tandem::runtime::ranks {

// Number 0 is the rank's own stream. A Streams destroys the streams that it made.
class Streams {
 public:
  explicit Streams(Device& device);
  ~Streams();
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

  StreamId create();
  StreamId beside(StreamId id);     // the same each time
  StreamId adopt(uint64_t handle);  // the same handle is the same number
  bool has(StreamId id) const { return id < list_.size(); }
  size_t count() const { return list_.size(); }
  Stream at(StreamId id) const;
  // The stream for work that must get through while all others are held.
  Stream aside() const { return aside_; }
  bool capturing(StreamId id) const;
  bool idle(StreamId id) const;  // throws on a stream that is being captured

 private:
  struct Entry {
    Stream stream = nullptr;
    bool own = false;
  };
  Device& device_;
  Stream aside_;
  std::vector<Entry> list_;
  std::map<StreamId, StreamId> beside_;
};

// Every recorded number stays valid. One whose event has passed is remembered as passed, and its event used again.
class Events {
 public:
  explicit Events(Device& device);
  ~Events();
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  EventId record(Stream stream);
  void wait(Stream stream, EventId id) const;  // throws on a number that was never given
  // Events that remember when they were reached, the latest kMostTimes of them.
  static constexpr size_t kMostTimes = 1 << 14;
  EventId recordTime(Stream stream);
  bool reached(EventId id) const;  // throws on a number that recordTime has not given
  double microseconds(EventId from, EventId to) const;
  bool passed(EventId id);  // false as long as it is not known; never for one of a captured stream

 private:
  Event eventOf(EventId id) const;  // null: passed
  Event take();
  void recycle(int most);
  Event timed(EventId id) const;

  Device& device_;
  EventId last_ = 0;
  std::vector<Event> free_;
  std::deque<std::pair<EventId, Event>> live_;  // by number
  std::map<EventId, Event> captured_;           // in graphs: never used again
  std::map<EventId, Event> times_;              // kept for later questions
};

}  // namespace tandem::runtime::ranks
