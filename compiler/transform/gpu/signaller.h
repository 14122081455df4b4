// A role of its own for signals to other ranks: consumers go on while it waits until their writes are where they belong.
#pragma once
#include "compiler/dialect/tgpu/tgpu.h"

namespace tandem::transform::gpu {

// Moves the notifies of the consumers into a signaller, where nothing among them
// orders what others see by itself; what does so behind them comes after they are sent.
void delegateSignals(tgpu::WarpSpecializeOp roles);

}  // namespace tandem::transform::gpu
