// An AllReduceConfig says how an all-reduce runs.
#pragma once
#include "tandem/collective_config.h"

namespace tandem::ops {

// OneShot: everybody sends all to everybody, in packets whose data is the flag. TwoShotPackets: the same with an owner
// for each element, who sums and sends the sum. TwoShot: chunks with signals, for what packets have no memory for.
enum class AllReduceWay : uint8_t { Auto, OneShot, TwoShotPackets, TwoShot };

struct AllReduceConfig : CollectiveConfig {
  AllReduceWay way = AllReduceWay::Auto;
};

}  // namespace tandem::ops
