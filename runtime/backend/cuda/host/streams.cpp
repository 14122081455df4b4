// Streams, events and graphs.
#include "runtime/backend/cuda/host/streams.h"
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

using namespace tandem::runtime::cuda;

namespace {

// Held while a piece of work goes on, for all streams of the process.
std::recursive_mutex working;
std::set<Stream> streams;
int created = 0;

// The default streams of all contexts share one queue.
Stream queueOf(Stream stream) {
  static StreamObject defaultStream;
  return isHandle(stream) ? &defaultStream : stream;
}

bool progressAll() {
  std::lock_guard lock(working);
  bool isDone = progress(nullptr);
  for (Stream stream : std::set<Stream>(streams)) isDone &= progress(stream);
  return isDone;
}

// Other streams go on meanwhile, as the work may wait for theirs, and so do other threads, which may bring more.
template <class Done>
void waitUntil(Done isDone) {
  while (!isDone()) {
    progressAll();
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

}  // namespace

namespace tandem::runtime::cuda {

bool isHandle(Stream stream) { return reinterpret_cast<uintptr_t>(stream) < 4096; }

bool progress(Stream stream) {
  std::lock_guard lock(working);
  stream = queueOf(stream);
  if (stream->going) return false;
  stream->going = true;
  while (!stream->pending.empty() && stream->pending.front()()) stream->pending.pop_front();
  stream->going = false;
  return stream->pending.empty();
}

Result enqueue(Stream stream, std::function<bool()> work) {
  std::lock_guard lock(working);
  Stream queue = queueOf(stream);
  if (queue->graph) return queue->graph->work[stream].push_back(std::move(work)), kSuccess;
  queue->pending.push_back(std::move(work));
  progress(queue);
  return kSuccess;
}

void finishAll() { waitUntil(progressAll); }

}  // namespace tandem::runtime::cuda

HOST_DRIVER Result cuStreamCreate(Stream* stream, unsigned) {
  std::lock_guard lock(working);
  *stream = new StreamObject;
  (*stream)->index = ++created;
  streams.insert(*stream);
  return kSuccess;
}
HOST_DRIVER Result cuStreamCreateWithPriority(Stream* stream, unsigned flags, int) {
  return cuStreamCreate(stream, flags);
}
HOST_DRIVER Result cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return *least = 0, *greatest = -5, kSuccess;
}
HOST_DRIVER Result cuStreamDestroy_v2(Stream stream) {
  std::lock_guard lock(working);
  streams.erase(stream);
  return delete stream, kSuccess;
}
HOST_DRIVER Result cuStreamSynchronize(Stream stream) {
  waitUntil([&] { return progress(stream); });
  return note("cuStreamSynchronize", "synchronize stream");
}
HOST_DRIVER Result cuStreamQuery(Stream stream) {
  if (Result r = result("cuStreamQuery")) return r;
  return progress(stream) ? kSuccess : kNotReady;
}
HOST_DRIVER Result cuStreamIsCapturing(Stream stream, int* status) {
  return *status = !isHandle(stream) && (stream->capturing || stream->graph), kSuccess;
}
HOST_DRIVER Result cuThreadExchangeStreamCaptureMode(int* mode) {
  thread_local int current = 0;
  return std::swap(current, *mode), kSuccess;
}

HOST_DRIVER Result cuStreamWaitEvent(Stream stream, Event event, unsigned) {
  if (!event) return kInvalidValue;
  if (event->graph) stream->graph = event->graph;
  return enqueue(stream, [event, until = event->records.load()] {
    if (event->passed < until) progress(event->stream);
    return event->passed >= until;
  });
}
HOST_DRIVER Result cuEventCreate(Event* event, unsigned) { return *event = new EventObject, kSuccess; }
HOST_DRIVER Result cuEventRecord(Event event, Stream stream) {
  event->stream = stream;
  event->graph = isHandle(stream) ? nullptr : stream->graph;
  event->captured = event->graph || (!isHandle(stream) && stream->capturing);
  if (event->graph) event->graph->events.insert(event);
  return enqueue(stream, [event, number = ++event->records] {
    event->time = std::chrono::steady_clock::now();
    return event->passed = number, true;
  });
}
HOST_DRIVER Result cuEventQuery(Event event) {
  if (event->captured) return 907;
  if (event->passed != event->records) progress(event->stream);
  return event->passed == event->records ? kSuccess : kNotReady;
}
HOST_DRIVER Result cuEventSynchronize(Event event) {
  waitUntil([&] { return event->captured || event->passed == event->records; });
  return result("cuEventSynchronize");
}
HOST_DRIVER Result cuEventDestroy_v2(Event event) { return delete event, kSuccess; }

HOST_DRIVER Result cuStreamBeginCapture_v2(Stream stream, int mode) {
  stream->graph = new GraphTextObject{{{stream, {}}}, {}};
  return note("cuStreamBeginCapture", "begin capture mode " + std::to_string(mode));
}
HOST_DRIVER Result cuStreamEndCapture(Stream stream, GraphText* captured) {
  *captured = stream->graph;
  for (auto& [each, work] : (*captured)->work) each->graph = nullptr;
  return note("cuStreamEndCapture", "end capture");
}
HOST_DRIVER Result cuGraphInstantiateWithFlags(Graph* graph, GraphText captured, unsigned long long) {
  *graph = reinterpret_cast<Graph>(new GraphTextObject(*captured));
  return kSuccess;
}
HOST_DRIVER Result cuGraphDestroy(GraphText captured) { return delete captured, kSuccess; }
HOST_DRIVER Result cuGraphExecDestroy(Graph graph) {
  delete reinterpret_cast<GraphText>(graph);
  return note("cuGraphExecDestroy", "destroy graph");
}
// One piece of work of the stream, which goes on wherever one of the captured streams can.
HOST_DRIVER Result cuGraphLaunch(Graph graph, Stream stream) {
  if (Result r = note("cuGraphLaunch", "launch graph")) return r;
  auto captured = std::make_shared<GraphTextObject>(*reinterpret_cast<GraphText>(graph));
  return enqueue(stream, [captured, begun = false]() mutable {
    if (!std::exchange(begun, true))
      for (Event event : captured->events) event->passed = 0;
    bool done = true;
    for (bool moved = true; std::exchange(moved, false);) {
      done = true;
      for (auto& [each, work] : captured->work) {
        while (!work.empty() && work.front()()) work.pop_front(), moved = true;
        done &= work.empty();
      }
    }
    return done;
  });
}
