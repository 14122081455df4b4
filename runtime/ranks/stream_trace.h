// This records when the work of a rank's streams began and ended: an event before and one after each piece.
#pragma once
#include "interpreter/trace.h"
#include "runtime/ranks/device.h"
#include <deque>

namespace tandem::runtime::ranks {

class StreamTrace {
 public:
  explicit StreamTrace(Device& device) : device_(device) {}
  ~StreamTrace();
  StreamTrace(const StreamTrace&) = delete;
  StreamTrace& operator=(const StreamTrace&) = delete;

  // Times of events are relative to `base`, which is reached at `deviceNs` of the device's timer. The trace owns it
  // from now on.
  void begin(Event base, uint64_t deviceNs);

  // The work is queued between the two calls. A stream that is being captured is passed over: null.
  Event before(Stream stream);
  // `what` needs no times yet.
  void after(Stream stream, Event before, const interpreter::Span& what);

  // Returns the spans that have ended so far, with times of the device's timer. A call when all streams are idle
  // returns all spans.
  std::vector<interpreter::Span> take();
  uint64_t lost() const { return lost_; }

 private:
  struct Piece {
    interpreter::Span span;
    Event before, after;
  };
  Event take(Stream stream);
  void settle(bool all);
  int64_t timeOf(Event event) const;

  Device& device_;
  Event base_ = nullptr;
  uint64_t baseNs_ = 0, lost_ = 0;
  std::deque<Piece> pieces_;
  std::vector<Event> free_;
  std::vector<interpreter::Span> spans_;
};

}  // namespace tandem::runtime::ranks
