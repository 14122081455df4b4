// The options that operators of a mixture of experts share.
#pragma once
#include "tandem/tensor.h"
#include <cstdint>
#include <vector>

namespace tandem::ops {

// 0 leaves the choice to the operator. The same on all ranks, and `blockM` the same in a route and in what takes it.
struct DealConfig {
  int blockM = 0;    // rows of a block
  int programs = 0;  // at most
};

// Of few tokens, in one flight, each warp sends and then receives; of many, one half of the warps sends while the other
// receives.
enum class ExchangeMode : uint8_t { Auto, Latency, Throughput };

// 0 leaves the choice to the operator. The same on all ranks.
struct ExchangeConfig {
  ExchangeMode mode = ExchangeMode::Auto;
  int programs = 0;  // at most; never more than a rank has resident at once
  int numWarps = 0;
  int pieces = 0;  // of 512 bytes, that a warp has in flight at once
  // Of a table of places [placedExperts, copies]; both or none. 0: expert e of all ranks has place e.
  int placedExperts = 0, copies = 0;
  int align =
      0;  // of dispatch by expert: results of each expert begin at a multiple of it; 0: at once behind the last's
};

// What a call of dispatch or combine does: a Receive with the same tensors, unchanged, follows a Send, and nothing of the
// device is held between.
enum class ExchangeHalf : uint8_t { Both, Send, Receive };

inline std::vector<int64_t> numbersOf(int64_t m, ExchangeHalf half) {
  return {m, half == ExchangeHalf::Send, half == ExchangeHalf::Receive};
}

struct GroupedConfig : DealConfig {
  int blockN = 0, blockK = 0;
  int numWarps = 0, numStages = 0;
  bool shared = false;  // memory for the time of a call is that of all operators of this kind that say so
};

// A grouped product may have these beside its operands; a tensor without an address is left out.
struct GroupedMore {
  Tensor bias;              // [experts, n], of twice the columns with `gated`, fp32
  Tensor xScales, wScales;  // of fp8: of 128 of a row's elements each, and of 128 rows and 128 columns of w, fp32
};

}  // namespace tandem::ops
