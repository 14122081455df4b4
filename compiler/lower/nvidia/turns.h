// Two consumer warpgroups start their products in turn, so that one computes while the other multiplies.
#pragma once

namespace tandem::lower::nvidia {

// The barrier at which the first of the two waits for its turn; the second's is the next.
constexpr int kTurnBarrier = 14;
constexpr int kTurnThreads = 256;

}  // namespace tandem::lower::nvidia
