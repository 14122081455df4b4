// A CUDA driver whose device is the host: streams are queues of work that goes on when somebody asks. The parts here are
// of every such driver; the driver itself brings devices, kernels, and four functions below.
#pragma once
#include "runtime/backend/cuda/driver_abi.h"
#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>

#define HOST_DRIVER extern "C" __attribute__((visibility("default")))

namespace tandem::runtime::cuda {

struct ContextObject {
  int device;
};
// Work that could not be done when it was given: the head says whether it is done now.
using Work = std::deque<std::function<bool()>>;
struct StreamObject {
  int index = 0;
  Work pending;
  bool capturing = false;
  GraphText graph = nullptr;  // its work goes there, and so does that of streams which wait for its events
  bool going = false;         // streams that wait for each other's events ask each other
};
struct EventObject {
  std::atomic<int> records = 0, passed = 0;
  bool captured = false;
  GraphText graph = nullptr;
  Stream stream = nullptr;                     // the last that recorded it
  std::chrono::steady_clock::time_point time;  // when it passed
};
struct GraphTextObject {
  std::map<Stream, Work> work;
  std::set<Event> events;
};

constexpr int kHostDevices = 8;  // contexts that there may be

// The driver's: the result of a call, which may be an error of earlier work; `note` also writes down a call that succeeds.
Result result(const char* call);
Result note(const char* call, const std::string& line);
// Kernels may reach the memory from now on, or no longer.
void becomesReachable(Address begin, size_t bytes);
void becomesUnreachable(Address begin);

Context current();             // of the calling thread; null: none
bool isHandle(Stream stream);  // a default stream
// Gives the stream work, which begins at once if nothing is before it. One thread at a time does work.
Result enqueue(Stream stream, std::function<bool()> work);
bool progress(Stream stream);  // goes on with its work; true: nothing is left
void finishAll();              // returns when no stream has work left

}  // namespace tandem::runtime::cuda
