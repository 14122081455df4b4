// These tests make equal and different calls of operators on several ranks.
#include "base/call_log.h"
#include <gtest/gtest.h>

namespace tandem {
namespace {

OperatorCalls made(uint64_t op, const std::string& what) { return {op, 1, {}, {what, {"elements"}}}; }
OperatorCalls called(uint64_t op, int64_t size, uint64_t count = 1) { return {op, count, {size}}; }

TEST(CallLog, TellsTheFirstCallThatDiffers) {
  CallLog log(2);
  for (int r : {0, 1}) EXPECT_FALSE(log.add(r, made(0, "`sum`")));
  EXPECT_FALSE(log.add(1, called(0, 64, 3)));
  EXPECT_FALSE(log.add(0, called(0, 64, 2)));
  auto found = log.add(0, {0, 1, {32}, {}, 7});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->rank, 1);
  EXPECT_EQ(found->otherPlace, 7u);
  EXPECT_EQ(
      found->message,
      "rank 1's call 3 of an operator is `sum` with elements 64, where rank 0's is `sum` with elements 32: all ranks "
      "make the same operators in one order and call them alike");
}

TEST(CallLog, RunsOfEqualCallsMayBeCutAnywhere) {
  CallLog log(3);
  for (int r = 0; r < 3; ++r) log.add(r, made(4, "`sum`"));
  EXPECT_FALSE(log.add(0, called(4, 1, 5)));
  EXPECT_FALSE(log.add(0, called(4, 2, 5)));
  for (uint64_t count : {2, 3}) EXPECT_FALSE(log.add(1, called(4, 1, count)));
  EXPECT_FALSE(log.add(1, called(4, 2, 5)));
  EXPECT_FALSE(log.add(2, called(4, 1, 5)));
  EXPECT_TRUE(log.add(2, called(4, 1, 1)));
}

TEST(CallLog, OperatorsMadeInAnotherOrder) {
  CallLog log(2);
  EXPECT_FALSE(log.add(0, made(0, "`sum` of up to 8 fp16")));
  EXPECT_FALSE(log.add(1, made(1, "`gather`")));
  auto found = log.add(1, made(0, "`sum` of up to 9 fp16"));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->message.find("rank 1's operator is `sum` of up to 9 fp16, where rank 0's is `sum` of up to 8 fp16"),
            0u)
      << found->message;
}

TEST(CallLog, AnEndIsACall) {
  CallLog log(2);
  for (int r : {0, 1}) log.add(r, made(0, "`sum`"));
  log.add(0, called(0, 64, 2));
  log.add(1, called(0, 64));
  auto found = log.add(1, {.op = 0});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->message.find("rank 1's call 2 of an operator is the end of `sum`, where rank 0's is `sum` with "
                                "elements 64: "),
            0u)
      << found->message;
}

TEST(CallLog, CallsThatARankLeavesWithout) {
  CallLog log(3);
  for (int r : {0, 1, 2}) log.add(r, made(0, "`sum`"));
  for (int r : {0, 1, 2}) EXPECT_FALSE(log.add(r, called(0, 64, 2)));
  EXPECT_FALSE(log.leave(1));
  auto found = log.add(2, {0, 1, {32}, {}, 7});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->rank, 2);
  EXPECT_EQ(found->place, 7u);
  EXPECT_EQ(found->otherPlace, kNoPlace);
  EXPECT_EQ(found->message,
            "rank 2's call 3 of an operator is `sum` with elements 32, and rank 1 has left after 2: all ranks make the "
            "same operators in one order and call them alike");
  found = log.leave(0);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->other, 0);
}

TEST(CallLog, ATeamsCallsAreItsOwn) {
  CallLog log(4);
  OperatorCalls mine = made(operatorNumber(6, 3, 0), "`sum`");
  mine.made.ranks = {3, 1};
  EXPECT_FALSE(log.add(3, mine));
  EXPECT_FALSE(log.leave(0)) << "rank 0 is not of the team";
  EXPECT_FALSE(log.add(1, mine));
  EXPECT_FALSE(log.add(3, called(mine.op, 8)));
  auto found = log.add(1, called(mine.op, 9));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->message.find("rank 3's call 1 of an operator is `sum` with elements 8, where rank 1's is `sum` with "
                                "elements 9"),
            0u)
      << found->message;
}

TEST(CallLog, AnOperatorThatARankLeavesWithout) {
  CallLog log(2);
  EXPECT_FALSE(log.add(0, made(3, "`sum`")));
  auto found = log.leave(1);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->message.find("rank 0's operator is `sum`, and rank 1 has left without one: "), 0u) << found->message;
}

}  // namespace
}  // namespace tandem
