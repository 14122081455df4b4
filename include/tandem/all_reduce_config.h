// An AllReduceConfig says how an all-reduce runs.
#pragma once
#include "tandem/collective_config.h"

namespace tandem::ops {

// OneShot: everybody sends all to everybody, data and flag in one packet. TwoShotPackets: the same with an owner for
// each element, who sums and sends the sum. TwoShot: chunks with signals, as fast as the links are.
enum class AllReduceWay : uint8_t { Auto, OneShot, TwoShotPackets, TwoShot };

struct AllReduceConfig : CollectiveConfig {
  AllReduceWay way = AllReduceWay::Auto;
};

}  // namespace tandem::ops
