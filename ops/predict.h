// How long a product over ranks takes, by a model of its tiles and of what they wait for. Knows no team and no kernel.
#pragma once
#include "ops/machine.h"
#include "ops/plan.h"

namespace tandem::ops {

// Microseconds from the launch to the end of a call on the slowest rank. `rate`: of the largest tile's rate. `resident`: programs
// that a rank has at once.
double predicted(GemmOp op, const GemmSizes& sizes, const GemmChoice& choice, double rate, int resident,
                 const Machine& machine);

}  // namespace tandem::ops
