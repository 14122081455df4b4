// The order of operators' calls on the streams of ranks.
#include "base/call_order.h"
#include <gtest/gtest.h>

namespace tandem {
namespace {

std::string text(const CallOrder& order) {
  std::string out;
  for (const CallOrder::Step& s : order.circle())
    out += std::to_string(s.op) + "#" + std::to_string(s.number) + " on " + std::to_string(s.rank) + " waits for " +
           std::to_string(s.behind) + "; ";
  return out;
}

void calls(CallOrder& order, int rank, std::initializer_list<OrderedCall> all) {
  for (OrderedCall c : all) order.add(rank, c);
}

TEST(CallOrder, TwoRanksInAnotherOrderOnOneStreamWaitForEachOther) {
  CallOrder order(2);
  calls(order, 0, {{0, 0}, {1, 0}, {0, 0}, {1, 0}});
  calls(order, 1, {{0, 0}, {1, 0}, {1, 0}});
  EXPECT_EQ(text(order), "") << "rank 1 may be going to call operator 0 on another stream";
  calls(order, 1, {{0, 0}});
  EXPECT_EQ(text(order), "0#2 on 0 waits for 1; 1#2 on 1 waits for 0; ");
}

TEST(CallOrder, StreamsOfTheirOwnHaveNoOrder) {
  CallOrder order(2);
  for (int k = 0; k < 1000; ++k) {
    calls(order, 0, {{0, 3}, {1, 5}});
    calls(order, 1, {{1, 0}, {0, 1}});
    ASSERT_EQ(text(order), "");
  }
}

TEST(CallOrder, ARankMayBeFarAhead) {
  CallOrder order(3);
  for (int r = 0; r < 3; ++r)
    for (int k = 0; k < 1000; ++k) calls(order, r, {{0, 0}, {1, 0}});
  EXPECT_EQ(text(order), "");
  calls(order, 0, {{0, 0}, {1, 0}});
  calls(order, 1, {{0, 0}, {1, 0}});
  calls(order, 2, {{1, 0}, {0, 0}});
  EXPECT_EQ(text(order), "0#1001 on 0 waits for 2; 1#1001 on 2 waits for 0; ");
}

TEST(CallOrder, TeamsThatCrossMayWaitInACircle) {
  CallOrder order(4);
  // Rows {0, 1}, {2, 3} and columns {0, 2}, {1, 3}; each rank calls its row's or its column's first.
  order.open(1, {0, 1}), order.open(2, {2, 3}), order.open(3, {0, 2}), order.open(4, {1, 3});
  calls(order, 0, {{1, 0}, {3, 0}});
  calls(order, 3, {{2, 0}, {4, 0}});
  calls(order, 1, {{1, 0}, {4, 0}});
  calls(order, 2, {{2, 0}, {3, 0}});
  EXPECT_EQ(text(order), "");
  calls(order, 0, {{1, 0}, {3, 0}});
  calls(order, 1, {{4, 0}, {1, 0}});
  calls(order, 3, {{2, 0}, {4, 0}});
  EXPECT_EQ(text(order), "");
  calls(order, 2, {{3, 0}, {2, 0}});
  EXPECT_EQ(text(order), "1#2 on 0 waits for 1; 4#2 on 1 waits for 3; 2#2 on 3 waits for 2; 3#2 on 2 waits for 0; ");
}

TEST(CallOrder, CallsThatARankDoesNotComeToStandBehindWhatItWaitsFor) {
  CallOrder order(2);
  calls(order, 0, {{0, 0, 7}});
  EXPECT_TRUE(order.circle(true).empty()) << "rank 1 waits for nothing";
  calls(order, 1, {{1, 0, 9}});
  EXPECT_TRUE(order.circle().empty());
  std::vector<CallOrder::Step> circle = order.circle(true);
  ASSERT_EQ(circle.size(), 2u);
  EXPECT_EQ(circle[0].place, 7u);
  EXPECT_EQ(circle[1].place, 9u);
  EXPECT_EQ(circleText(circle, [](int, uint64_t op) { return op ? "`gather`" : "`sum`"; }),
            "rank 1 comes to call 1 of `sum` behind call 1 of `gather`, and rank 0 comes to call 1 of `gather` behind "
            "call 1 of `sum`, so they wait for one another: all ranks call the operators of one stream in one order");
}

TEST(CallOrder, ACircleMayGoOverThreeRanks) {
  CallOrder order(3);
  calls(order, 0, {{0, 0}, {1, 0}, {2, 7}});
  calls(order, 1, {{1, 0}, {2, 0}, {0, 7}});
  calls(order, 2, {{2, 0}, {0, 0}});
  EXPECT_EQ(text(order), "0#1 on 0 waits for 2; 2#1 on 2 waits for 1; 1#1 on 1 waits for 0; ");
  calls(order, 2, {{1, 7}});
  EXPECT_EQ(text(order), "0#1 on 0 waits for 2; 2#1 on 2 waits for 1; 1#1 on 1 waits for 0; ");
}

TEST(CallOrder, CapturedCallsStandInNoStream) {
  CallOrder order(2);
  calls(order, 0, {{0, kNoStream}, {1, 0}});
  calls(order, 1, {{1, 0}, {0, kNoStream}});
  EXPECT_EQ(text(order), "");
  calls(order, 0, {{0, kNoStream}, {1, 0}});
  calls(order, 1, {{0, 0}, {1, 0}, {0, 0}, {1, 0}});
  calls(order, 0, {{1, 0}, {0, 0}});
  EXPECT_EQ(text(order), "1#3 on 0 waits for 1; 0#3 on 1 waits for 0; ");
}

}  // namespace
}  // namespace tandem
