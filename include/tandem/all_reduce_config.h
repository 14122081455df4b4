// An AllReduceConfig says how an all-reduce runs.
#pragma once
#include "tandem/collective_config.h"

namespace tandem::ops {

// OneShot: everybody sends all to everybody, data and flag in one packet. TwoShotPackets: the same with an owner for
// each element, who sums and sends the sum. TwoShot: chunks with signals, as fast as the links are. OneShotMarked:
// OneShot with slots that hold a mark until data comes, so that the links carry no flags; taken where it is asked for.
enum class AllReduceWay : uint8_t { Auto, OneShot, TwoShotPackets, TwoShot, OneShotMarked };

struct AllReduceConfig : CollectiveConfig {
  AllReduceWay way = AllReduceWay::Auto;
};

}  // namespace tandem::ops
