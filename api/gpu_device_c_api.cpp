// The C ABI for GPUs: devices, memory, streams and events. No exception leaves this file.
#include "api/guarded.h"
#include "api/required.h"
#include "api/text_out.h"
#include "runtime/backend/cuda/device.h"
#include "runtime/backend/cuda/graph.h"
#include "runtime/backend/cuda/memory.h"
#include "tandem/gpu_c_api.h"

using namespace tandem;
using nlohmann::json;
namespace cuda = runtime::cuda;

namespace {

cuda::Stream streamOf(uint64_t handle) { return reinterpret_cast<cuda::Stream>(handle); }
cuda::Event eventOf(uint64_t handle) { return &required(reinterpret_cast<cuda::Event>(handle), "event"); }
cuda::Graph graphOf(uint64_t handle) { return &required(reinterpret_cast<cuda::Graph>(handle), "graph"); }
uint64_t handleOf(void* object) { return reinterpret_cast<uintptr_t>(object); }

json describe(int index) {
  const cuda::DeviceProperties& p = cuda::propertiesOf(index);
  return {{"index", index},
          {"name", p.name},
          {"target", p.target},
          {"major", p.major},
          {"minor", p.minor},
          {"memory_bytes", p.memoryBytes},
          {"multiprocessors", p.multiprocessors},
          {"warp_size", p.warpSize},
          {"max_threads", p.maxThreads},
          {"max_shared_bytes", p.maxSharedBytes},
          {"max_registers", p.maxRegisters},
          {"l2_bytes", p.l2Bytes},
          {"clock_khz", p.clockKhz},
          {"memory_clock_khz", p.memoryClockKhz},
          {"memory_bus_bits", p.memoryBusBits}};
}

}  // namespace

extern "C" {

int td_gpu_devices(char** out) {
  return guarded([&] {
    json all = json::array();
    for (int i = 0; i < cuda::deviceCount(); ++i) all.push_back(describe(i));
    required(out, "json") = copyOut(all);
  });
}
int td_gpu_current_device(int* device) {
  return guarded([&] { required(device, "device") = cuda::currentDevice(); });
}

int td_gpu_malloc(int device, uint64_t bytes, uint64_t* address) {
  return guarded([&] {
    uint64_t& place = required(address, "address");
    place = cuda::allocate(device, bytes);
  });
}
int td_gpu_free(int device, uint64_t address) {
  return guarded([&] { cuda::release(device, address); });
}
int td_gpu_copy_from_host(int device, uint64_t stream, uint64_t dest, const void* source, uint64_t bytes) {
  return guarded([&] {
    if (bytes) required(static_cast<const char*>(source), "source");
    cuda::copyFromHost(device, streamOf(stream), dest, source, bytes);
  });
}
int td_gpu_copy_to_host(int device, uint64_t stream, void* dest, uint64_t source, uint64_t bytes) {
  return guarded([&] {
    if (bytes) required(static_cast<char*>(dest), "dest");
    cuda::copyToHost(device, streamOf(stream), dest, source, bytes);
  });
}
int td_gpu_copy(int device, uint64_t stream, uint64_t dest, uint64_t source, uint64_t bytes) {
  return guarded([&] { cuda::copy(device, streamOf(stream), dest, source, bytes); });
}
int td_gpu_memset(int device, uint64_t stream, uint64_t dest, int value, uint64_t bytes) {
  return guarded([&] { cuda::set(device, streamOf(stream), dest, uint8_t(value), bytes); });
}
int td_gpu_synchronize(int device) {
  return guarded([&] { cuda::synchronize(device); });
}
int td_gpu_device_of(uint64_t address, int* device) {
  return guarded([&] { required(device, "device") = cuda::deviceOf(address); });
}

int td_gpu_stream_create(int device, uint64_t* stream) {
  return guarded([&] {
    uint64_t& place = required(stream, "stream");
    place = handleOf(cuda::createStream(device));
  });
}
int td_gpu_stream_destroy(int device, uint64_t stream) {
  return guarded([&] { cuda::destroyStream(device, &required(streamOf(stream), "stream")); });
}
int td_gpu_stream_synchronize(int device, uint64_t stream) {
  return guarded([&] { cuda::synchronizeStream(device, streamOf(stream)); });
}
int td_gpu_graph_begin(int device, uint64_t stream) {
  return guarded([&] { cuda::beginGraph(device, streamOf(stream)); });
}
int td_gpu_graph_end(int device, uint64_t stream, uint64_t* graph) {
  return guarded([&] {
    uint64_t& place = required(graph, "graph");
    place = handleOf(cuda::endGraph(device, streamOf(stream)));
  });
}
int td_gpu_graph_launch(int device, uint64_t stream, uint64_t graph) {
  return guarded([&] { cuda::launchGraph(device, streamOf(stream), graphOf(graph)); });
}
int td_gpu_graph_destroy(int device, uint64_t graph) {
  return guarded([&] { cuda::destroyGraph(device, graphOf(graph)); });
}
int td_gpu_event_create(int device, uint64_t* event) {
  return guarded([&] {
    uint64_t& place = required(event, "event");
    place = handleOf(cuda::createEvent(device));
  });
}
int td_gpu_event_destroy(int device, uint64_t event) {
  return guarded([&] { cuda::destroyEvent(device, eventOf(event)); });
}
int td_gpu_event_record(int device, uint64_t stream, uint64_t event) {
  return guarded([&] { cuda::recordEvent(device, streamOf(stream), eventOf(event)); });
}
int td_gpu_event_wait(int device, uint64_t stream, uint64_t event) {
  return guarded([&] { cuda::waitEvent(device, streamOf(stream), eventOf(event)); });
}
int td_gpu_event_synchronize(int device, uint64_t event) {
  return guarded([&] { cuda::synchronizeEvent(device, eventOf(event)); });
}
int td_gpu_event_elapsed(int device, uint64_t start, uint64_t end, float* milliseconds) {
  return guarded(
      [&] { required(milliseconds, "milliseconds") = cuda::elapsedMs(device, eventOf(start), eventOf(end)); });
}

}  // extern "C"
