// A conversion is the plan for moving a tensor from one layout to another, without the code for it.
#pragma once
#include "compiler/layout/shared.h"
#include <variant>

namespace tandem::layout {

// Each thread keeps its registers as they are.
struct NoOp {};

// Each thread's register `r` of the result is its register `sources[r]`.
struct RegisterPermute {
  llvm::SmallVector<unsigned> sources;
};

// Inside a warp, in three parts. In lane `l` of warp `w`:
//   1. t[i] = src[i ^ P], where P is the XOR of `preSwaps` over the set bits of (l | w << 5): for each bit with a mask,
//      a conditional swap;
//   2. u[j] = t[steps[j].source] of lane (steps[j].lane ^ XOR of `laneMasks` over the set bits of (l | w << 5)), for
//      each register j;
//   3. dst[r] = u[r ^ Q], where Q is the XOR of `postSwaps` over the set bits of l.
struct Shuffle {
  struct Step {
    unsigned source = 0, lane = 0;
  };
  llvm::SmallVector<Step> steps;         // one for each register of the result
  Bases preSwaps, laneMasks, postSwaps;  // masks of source registers, lanes, result registers
  bool movesLanes() const;               // false: part 2 stays in the lane, only selects are needed
  int64_t numSelects(int64_t sourceRegisters) const;
};

// The conversion goes through a buffer in shared memory, one round after the other: store, barrier, load; a barrier
// also before the next round.
struct ThroughShared {
  Scratch scratch;
  LinearLayout store, load;  // src and dst with offsets for positions: `offsetsOf`
  bool withinWarp = false;   // no warp reads another's stores: __syncwarp is barrier enough
};

// Positions move between the CTAs of a cluster. Only the caller knows how it wants that done.
struct AcrossBlocks {};

using Conversion = std::variant<NoOp, RegisterPermute, Shuffle, ThroughShared, AcrossBlocks>;

// The cheapest way. Both layouts have the same shape, number of lanes, warps and blocks. `scratchBytes`: shared memory
// it may use. `elemBits` is a power of two and at least 8.
Conversion plan(const LinearLayout& src, const LinearLayout& dst, unsigned elemBits, int64_t scratchBytes,
                MatrixInstructions instructions = {});
// Each way by itself, where it applies.
std::optional<RegisterPermute> permuteRegisters(const LinearLayout& src, const LinearLayout& dst);
std::optional<Shuffle> shuffle(const LinearLayout& src, const LinearLayout& dst);
ThroughShared throughShared(const LinearLayout& src, const LinearLayout& dst, unsigned elemBits, int64_t scratchBytes,
                            MatrixInstructions instructions = {});
// Half cycles of one SM for each warp: only good for comparing, say, with computing the tensor again in the other
// layout. 0 for NoOp and RegisterPermute; more than any other for AcrossBlocks.
int64_t cost(const Conversion& conversion, const LinearLayout& src, unsigned elemBits);
// Bytes of shared memory the plan needs.
int64_t scratchBytes(const Conversion& conversion, unsigned elemBits);
llvm::StringRef kindName(const Conversion& conversion);

}  // namespace tandem::layout
