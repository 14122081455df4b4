#include "emulator/units/mbarrier.h"
#include <gtest/gtest.h>

namespace tandem::emulator {
namespace {

TEST(Mbarrier, PhasesEndWithTheLastArrival) {
  Mbarrier b = Mbarrier::make(3);
  EXPECT_FALSE(b.isComplete(0));
  EXPECT_TRUE(b.isComplete(1));  // the phase before the first one counts as complete
  Mbarrier token(b.arrive(2));
  EXPECT_EQ(token.pending(), 3);
  EXPECT_EQ(b.pending(), 1);
  EXPECT_FALSE(b.isComplete(token));
  b.arrive(1);
  EXPECT_TRUE(b.isComplete(token));
  EXPECT_TRUE(b.isComplete(0));
  EXPECT_FALSE(b.isComplete(1));
  EXPECT_EQ(b.pending(), 3);
}

TEST(Mbarrier, BytesKeepAPhaseOpen) {
  Mbarrier b = Mbarrier::make(1);
  b.expect(256);
  b.arrive(1);
  EXPECT_FALSE(b.isComplete(0));
  b.complete(128);
  EXPECT_EQ(b.transactions(), 128);
  EXPECT_FALSE(b.isComplete(0));
  b.complete(128);
  EXPECT_TRUE(b.isComplete(0));
}

TEST(Mbarrier, BytesMayComeBeforeTheyAreExpected) {
  Mbarrier b = Mbarrier::make(1);
  b.complete(64);
  EXPECT_EQ(b.transactions(), -64);
  b.expect(64);
  EXPECT_FALSE(b.isComplete(0));
  b.arrive(1);
  EXPECT_TRUE(b.isComplete(0));
}

TEST(Mbarrier, DroppedThreadsAreNotExpectedAgain) {
  Mbarrier b = Mbarrier::make(2);
  b.drop(1);
  b.arrive(1);
  EXPECT_TRUE(b.isComplete(0));
  EXPECT_EQ(b.pending(), 1);
}

TEST(Mbarrier, RefusesWhatAGpuLeavesUndefined) {
  EXPECT_THROW(Mbarrier::make(0), MbarrierError);
  EXPECT_THROW(Mbarrier::make(1 << 20), MbarrierError);
  Mbarrier none(0);
  EXPECT_THROW(none.arrive(1), MbarrierError);
  EXPECT_THROW(none.isComplete(0), MbarrierError);
  Mbarrier b = Mbarrier::make(1);
  EXPECT_THROW(b.arrive(2), MbarrierError);
  b.expect((1 << 20) - 1);
  EXPECT_THROW(b.expect(1), MbarrierError);
}

}  // namespace
}  // namespace tandem::emulator
