// Device time as host time.
#include "runtime/ranks/host_clock.h"
#include <gtest/gtest.h>

namespace tandem::runtime::ranks {

TEST(HostTime, TwoPairsAreALine) {
  HostTime drifting({1000000, 5000000, 0, 0}, {1001000000, 5000000 + 1000010000, 0, 0});
  EXPECT_EQ(drifting.of(1000000), 5000000);
  EXPECT_EQ(drifting.of(1001000000), 1005010000);
  EXPECT_EQ(drifting.of(501000000), 505005000);
  HostTime close({1000000, 5000000, 0, 0}, {1000500, 5000900, 0, 0});
  EXPECT_EQ(close.of(1000500), 5000500) << "too near for a rate";
}

}  // namespace tandem::runtime::ranks
