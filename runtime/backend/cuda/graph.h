// CUDA graphs of what a stream, and the streams that its events reach, are given: launched again as one operation.
#pragma once
#include "runtime/backend/cuda/driver.h"

namespace tandem::runtime::cuda {

// From here on the stream's work is written down and not done. The calling thread may do anything else meanwhile.
void beginGraph(int device, Stream stream);
// Ends that. Throws, and leaves nothing behind, if the work is no graph.
Graph endGraph(int device, Stream stream);
void launchGraph(int device, Stream stream, Graph graph);
void destroyGraph(int device, Graph graph);  // of which no launch is under way

}  // namespace tandem::runtime::cuda
