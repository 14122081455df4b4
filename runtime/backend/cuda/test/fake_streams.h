// The parts of the fake driver share these: streams as queues, failures on demand, the record of calls.
#pragma once
#include "runtime/backend/cuda/driver_abi.h"
#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <thread>

#define FAKE extern "C" __attribute__((visibility("default")))

namespace tandem::runtime::cuda {
// Work that could not be done when it was given: the head says whether it is done now.
using Work = std::deque<std::function<bool()>>;
struct StreamObject {
  int index;
  Work pending;
  bool capturing = false;
  GraphText graph = nullptr;  // its work goes there, and so does that of streams which wait for its events
  bool going = false;         // streams that wait for each other's events ask each other
};
struct EventObject {
  std::atomic<int> records = 0, passed = 0;
  bool captured = false;
  GraphText graph = nullptr;
  Stream stream = nullptr;  // the last that recorded it
};
struct GraphTextObject {
  std::map<Stream, Work> work;
  std::set<Event> events;
};
}  // namespace tandem::runtime::cuda

// the result that a test wants of the call
tandem::runtime::cuda::Result result(const char* call);
tandem::runtime::cuda::Result note(const char* call, const std::string& line);  // and write down when it succeeds

FAKE tandem::runtime::cuda::Result cuStreamCreate(tandem::runtime::cuda::Stream*, unsigned);

namespace tandem::runtime::cuda {
inline bool isHandle(Stream stream) { return reinterpret_cast<uintptr_t>(stream) < 4096; }

inline bool progress(Stream stream) {
  if (isHandle(stream)) return true;
  if (stream->going) return false;
  stream->going = true;
  while (!stream->pending.empty() && stream->pending.front()()) stream->pending.pop_front();
  stream->going = false;
  return stream->pending.empty();
}

// Runs the work in stream order; at once if nothing is before it.
inline Result enqueue(Stream stream, std::function<bool()> work) {
  if (!isHandle(stream) && stream->graph) return stream->graph->work[stream].push_back(std::move(work)), kSuccess;
  if (isHandle(stream)) {
    while (!work()) std::this_thread::yield();
    return kSuccess;
  }
  stream->pending.push_back(std::move(work));
  progress(stream);
  return kSuccess;
}

}  // namespace tandem::runtime::cuda
