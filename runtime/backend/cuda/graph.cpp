// Captures in the relaxed mode, so that other threads, and this one, may use the driver as ever.
#include "runtime/backend/cuda/graph.h"
#include "runtime/backend/cuda/capture.h"
#include "runtime/backend/cuda/context.h"

namespace tandem::runtime::cuda {

void beginGraph(int device, Stream stream) {
  OnDevice scope(device);
  check(needed(driver().streamBeginCapture, "cuStreamBeginCapture_v2")(stream, kRelaxedCapture),
        "cuStreamBeginCapture_v2");
}

Graph endGraph(int device, Stream stream) {
  OnDevice scope(device);
  GraphText text = nullptr;
  check(needed(driver().streamEndCapture, "cuStreamEndCapture")(stream, &text), "cuStreamEndCapture");
  Graph graph = nullptr;
  Result made = needed(driver().graphInstantiate, "cuGraphInstantiateWithFlags")(&graph, text, 0);
  check(needed(driver().graphDestroy, "cuGraphDestroy")(text), "cuGraphDestroy");
  check(made, "cuGraphInstantiateWithFlags");
  return graph;
}

void launchGraph(int device, Stream stream, Graph graph) {
  OnDevice scope(device);
  check(needed(driver().graphLaunch, "cuGraphLaunch")(graph, stream), "cuGraphLaunch");
}

void destroyGraph(int device, Graph graph) {
  OnDevice scope(device);
  check(needed(driver().graphExecDestroy, "cuGraphExecDestroy")(graph), "cuGraphExecDestroy");
}

}  // namespace tandem::runtime::cuda
