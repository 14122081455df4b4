#include "model/clock.h"
#include <gtest/gtest.h>

namespace tandem::model {
namespace {

TEST(Clock, HasAProgramsShareOfTheNominalMachine) {
  Clock clock(namedMachine("nominal"));
  EXPECT_EQ(clock.instructions(7), 14);
  EXPECT_EQ(clock.loads(3000, false), 132);
  EXPECT_EQ(clock.stores(450, true), 16);
  EXPECT_EQ(clock.loads(450, true), 16);
  EXPECT_EQ(clock.gets(450, true), 1016);
  EXPECT_EQ(clock.puts(3000, false), 632);
  EXPECT_EQ(clock.startsTransfer(), 40);
  EXPECT_EQ(clock.signals(true), 250);
  EXPECT_EQ(clock.signals(false), 125);
  EXPECT_EQ(clock.barrier(), 1500);
  EXPECT_EQ(clock.launch(), 4000);
  EXPECT_EQ(clock.copies(4000, true), 10);
  EXPECT_EQ(clock.copies(4000, false), 10);
  EXPECT_EQ(clock.startsCopy() + clock.writesSignal(), 0);
  for (unsigned elementBytes : {1, 2, 4}) EXPECT_EQ(clock.multiplies(8e5, elementBytes), 132);
  EXPECT_EQ(clock.adds(8e5), 132);
}

TEST(Clock, DividesACopyAndItsSignalAndTellsTypesApart) {
  Machine machine = namedMachine("h200");
  Clock clock(machine);
  EXPECT_EQ(clock.startsCopy() + clock.writesSignal(), 6200);
  EXPECT_EQ(clock.loads(8000, true), 1000);
  EXPECT_EQ(clock.stores(8000, true), 400);
  EXPECT_GT(clock.copies(1 << 20, true), clock.copies(1 << 20, false));
  EXPECT_LT(clock.multiplies(1e9, 1), clock.multiplies(1e9, 2));
  EXPECT_LT(clock.multiplies(1e9, 2), clock.multiplies(1e9, 4));
}

}  // namespace
}  // namespace tandem::model
