// These tests cover sparse clocks: their entries, copies that do not change with the original, joins and pruning.
#include "interpreter/check/actors.h"
#include <gtest/gtest.h>

namespace tandem::interpreter::check {
namespace {

TEST(Clock, KeepsTheGreatestTimeOfEachPart) {
  Clock c;
  EXPECT_EQ(c.get(keyOf(3, 1)), 0u);
  c.raise(keyOf(3, 1), 5);
  c.raise(keyOf(3, 1), 4);
  c.raise(keyOf(1, kEveryThread), 9);
  EXPECT_EQ(c.get(keyOf(3, 1)), 5u);
  EXPECT_EQ(c.get(keyOf(1, kEveryThread)), 9u);
  EXPECT_EQ(c.get(keyOf(3, 2)), 0u);
  EXPECT_EQ(c.size(), 2u);
}

TEST(Clock, CopiesAreTheirOwn) {
  Clock a;
  a.raise(keyOf(1, 0), 1);
  Clock b = a;
  b.raise(keyOf(1, 0), 2);
  EXPECT_EQ(a.get(keyOf(1, 0)), 1u);
  EXPECT_EQ(b.get(keyOf(1, 0)), 2u);
}

TEST(Clock, JoinTakesTheMaximumOfBoth) {
  Clock a, b;
  a.raise(keyOf(1, 0), 7);
  a.raise(keyOf(2, 0), 1);
  b.raise(keyOf(2, 0), 3);
  b.raise(keyOf(4, 0), 2);
  a.join(b);
  EXPECT_EQ(a.get(keyOf(1, 0)), 7u);
  EXPECT_EQ(a.get(keyOf(2, 0)), 3u);
  EXPECT_EQ(a.get(keyOf(4, 0)), 2u);
  EXPECT_EQ(b.size(), 2u);
  b.join(a);  // brings an entry that b lacks
  EXPECT_EQ(b.get(keyOf(1, 0)), 7u);
  a.join(b);  // nothing new
  EXPECT_TRUE(a.size() == 3);
}

TEST(Clock, LatestOfAnActorLeavesTransfersOut) {
  Clock c;
  c.raise(keyOf(2, 5), 3);
  c.raise(keyOf(2, kFirstPut + 1), 90);
  c.raise(keyOf(2, kAllTransfers), 80);
  c.raise(keyOf(3, 0), 70);
  EXPECT_EQ(c.latestOf(2), 3u);
  EXPECT_EQ(c.latestOf(4), 0u);
}

TEST(Clock, BeyondLeavesOutWhatTheOtherHas) {
  Clock mine, other;
  mine.raise(keyOf(1, 0), 4);
  mine.raise(keyOf(2, 0), 4);
  mine.raise(keyOf(3, 0), 4);
  mine.raise(keyOf(4, 0), 4);
  other.raise(keyOf(1, 0), 5);
  other.raise(keyOf(2, 0), 3);
  other.raise(keyOf(3, 0), 4);
  Clock found = mine.beyond(other, 3);  // all of actor 3
  EXPECT_EQ(found.size(), 3u);
  EXPECT_EQ(found.get(keyOf(1, 0)), 0u);
  EXPECT_EQ(found.get(keyOf(2, 0)), 4u);
  EXPECT_EQ(found.get(keyOf(3, 0)), 4u);
  EXPECT_EQ(found.get(keyOf(4, 0)), 4u);
  EXPECT_TRUE(mine.beyond(Clock(), 0).same(mine));
  EXPECT_TRUE(Clock().beyond(mine, 0).empty());
}

TEST(Clock, PruneForgetsWhatItIsTold) {
  Clock c;
  for (uint32_t k = 1; k <= 10; ++k) c.raise(keyOf(k, 0), k);
  Clock shared = c;
  c.prune([](const Clock::Entry& e) { return e.time % 2 == 0; });
  EXPECT_EQ(c.size(), 5u);
  EXPECT_EQ(c.get(keyOf(4, 0)), 0u);
  EXPECT_EQ(shared.get(keyOf(4, 0)), 4u);
}

// One entry of a clock covers all copies of a thread's groups, or of an mbarrier.
TEST(Actors, KnowTheCopiesThatAThreadHasWaitedFor) {
  Actors actors(1);
  actors.grids.push_back({});
  uint32_t program = actors.add({ActorKind::Program, 0, 0, 0});
  Clock known;
  known.raise(keyOf(program, 3), 20);
  auto copy = [&](Part copies, uint32_t group) {
    Stamp s;
    s.actor = program;
    s.time = group;
    s.part = copies;
    return s;
  };
  auto isKnown = [&](const Stamp& s) { return actors.covers(known, actors.settled(s), actors.settled(s).part); };
  EXPECT_FALSE(isKnown(copy(kCopied + 3, 0)));
  actors.waited(program, kCopied + 3, 2, 10);
  actors.waited(program, kCopied + 3, 4, 30);
  EXPECT_TRUE(isKnown(copy(kCopied + 3, 0)));
  EXPECT_TRUE(isKnown(copy(kCopied + 3, 1)));
  EXPECT_FALSE(isKnown(copy(kCopied + 3, 2)));
  EXPECT_FALSE(isKnown(copy(kCopied + 3, 4)));
  EXPECT_FALSE(isKnown(copy(kCopied + 4, 0)));
  EXPECT_FALSE(isKnown(copy(kStored + 3, 0)));
  actors.waited(program, kStoreRead + 3, 1, 10);
  EXPECT_TRUE(isKnown(copy(kStoreRead + 3, 0)));
  EXPECT_FALSE(isKnown(copy(kStored + 3, 0)));
}

TEST(Actors, KnowTheLoadsThatAnMbarrierHasCounted) {
  Actors actors(1);
  actors.grids.push_back({});
  uint32_t program = actors.add({ActorKind::Program, 0, 0, 0}), mbarrier = actors.add(actors[program]);
  Clock known;
  known.raise(keyOf(mbarrier, kLoaded), 1);
  Stamp first, second;
  for (Stamp* s : {&first, &second}) *s = {program, actors.addLoad(), 0, kLoaded};
  auto isKnown = [&](const Stamp& s) { return actors.covers(known, s, s.part); };
  EXPECT_FALSE(isKnown(first));
  actors.counted(second.time, mbarrier, 1);
  EXPECT_FALSE(isKnown(first));
  EXPECT_TRUE(isKnown(second));
  actors.counted(first.time, mbarrier, 2);
  EXPECT_FALSE(isKnown(first));
}

}  // namespace
}  // namespace tandem::interpreter::check
