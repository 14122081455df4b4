// The model of the projection behind an attention whose heads are dealt to ranks.
#pragma once
#include "ops/gemm_choice.h"

namespace tandem::ops {

const GemmModel& rowsOfHeadsModel();

}  // namespace tandem::ops
