// This model predicts the time of a product over ranks from its tiles and the data they wait for. It knows no team and
// no kernel.
#pragma once
#include "ops/plan.h"

namespace tandem::ops {

// Microseconds from the launch to the end of a call on the slowest rank. `rate`: of the largest tile's rate. `resident`: programs
// that a rank has at once.
double predicted(GemmOp op, const GemmSizes& sizes, const GemmChoice& choice, double rate, int resident,
                 const model::Machine& machine);

}  // namespace tandem::ops
