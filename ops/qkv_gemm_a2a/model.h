// The model of the projections before an attention whose heads are dealt to ranks. Columns are those that one rank gets.
#pragma once
#include "ops/gemm_choice.h"

namespace tandem::ops {

const GemmModel& headsModel();

}  // namespace tandem::ops
