// The sizes at which AllReduce changes its way.
#pragma once
#include "model/machine.h"
#include "ops/all_reduce/all_reduce.h"

namespace tandem::ops {

// Returns the most bytes that go a way. One shot sends (R - 1) · S twice, as half of a packet is flags; two shots in
// packets send 4 · S · (R - 1) / R in two flights; chunks send half of that, with a fence and a signal more in each
// flight. So the sizes from which the next one is quicker are proportional to the bytes that the link carries during a
// flight: `reach` times the sizes measured on the machine of the defaults.
int64_t mostBytes(AllReduceWay way, int ranks, double reach);
double reachOf(const model::Machine& machine);
AllReduceWay wayFor(int64_t bytes, int ranks, double reach);

}  // namespace tandem::ops
