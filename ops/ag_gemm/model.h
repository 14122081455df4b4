// The model of AllGather + GEMM: how shards may travel, into how many pieces tiles may be cut, and what a call takes.
#pragma once
#include "ops/gemm_choice.h"

namespace tandem::ops {

const GemmModel& gatherModel();

// Returns the most tiles that can be left over for a round, in all their pieces together.
int64_t mostPieces(const GemmConfig& given, int64_t programs);

}  // namespace tandem::ops
