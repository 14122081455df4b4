// The options that operators of a mixture of experts share.
#pragma once

namespace tandem::ops {

// 0 leaves the choice to the operator. The same on all ranks, and `blockM` the same in a route and in what takes it.
struct DealConfig {
  int blockM = 0;    // rows of a block
  int programs = 0;  // at most
};

struct GroupedConfig : DealConfig {
  int blockN = 0, blockK = 0;
  int numWarps = 0, numStages = 0;
};

}  // namespace tandem::ops
