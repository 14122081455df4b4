// The model of GEMM + AllReduce: its tiles, and the sizes at which its way changes.
#pragma once
#include "model/machine.h"
#include "tandem/tensor.h"

namespace tandem::ops {

// Tiles are multiplied the other way round: n is the side of 64 rows of an instruction, m may be small.
struct SumTile {
  int m, n, k, warps, stages;
};
SumTile sumTileFor(int64_t m, DType dtype, const std::string& target, bool blocks);

constexpr int kMostSplits = 8;
// Returns the number of programs that share a tile's inner dimension of `steps` steps, where there are so many
// programs.
int splitsFor(int64_t programs, int64_t tiles, int64_t steps);

// Results up to so many bytes are quickest in one shot, and in packets.
int64_t mostOneShotBytes(int ranks, const model::Machine& machine);
int64_t mostPacketsBytes(int ranks, const model::Machine& machine);

}  // namespace tandem::ops
