// The baton runs hosts one at a time, in rank order, and stops everybody when nothing can go on.
#include "runtime/backend/sim/host_baton.h"
#include <atomic>
#include <gtest/gtest.h>
#include <thread>

using namespace tandem::runtime::sim;

namespace {

std::vector<std::thread> start(HostBaton& baton, int ranks, std::function<void(int)> body) {
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r)
    threads.emplace_back([&baton, r, body] {
      try {
        baton.enter(r);
        body(r);
      } catch (const RunStopped&) {
      }
      baton.leave(r);
    });
  return threads;
}

TEST(HostBaton, RunsRanksInOrder) {
  for (int round = 0; round < 20; ++round) {
    std::vector<int> order;
    int arrived = 0;
    HostBaton baton(
        3, [](const std::function<bool()>&) { return HostBaton::Progress::Stuck; }, [](auto, auto&) {},
        [] { return true; });
    auto threads = start(baton, 3, [&](int r) {
      order.push_back(r);
      ++arrived;
      baton.block(r, "all", [&] { return arrived == 3; });
      order.push_back(10 + r);
    });
    for (auto& t : threads) t.join();
    ASSERT_EQ(order, (std::vector<int>{0, 1, 2, 12, 10, 11}));
  }
}

TEST(HostBaton, StuckNamesEveryBlockedHost) {
  std::vector<std::string> seen;
  HostBaton baton(
      2, [](const std::function<bool()>&) { return HostBaton::Progress::Stuck; },
      [&](auto, const std::vector<std::string>& notes) { seen = notes; }, [] { return true; });
  int stopped = 0;
  auto threads = start(baton, 2, [&](int r) {
    try {
      baton.block(r, r ? "an egg" : "a hen", [] { return false; });
    } catch (const RunStopped&) {
      ++stopped;
      throw;
    }
  });
  for (auto& t : threads) t.join();
  EXPECT_EQ(stopped, 2);
  EXPECT_EQ(seen,
            (std::vector<std::string>{"the host of rank 0 waits for a hen", "the host of rank 1 waits for an egg"}));
}

TEST(HostBaton, HostsThatAreStoppedGoOnOneAtATime) {
  HostBaton baton(
      3, [](const std::function<bool()>&) { return HostBaton::Progress::Stuck; }, [](auto, auto&) {},
      [] { return true; });
  std::atomic<int> running = 0, together = 0, stopped = 0;
  auto threads = start(baton, 3, [&](int r) {
    EXPECT_THROW(baton.block(r, "nothing", [] { return false; }), RunStopped);
    together += ++running > 1;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_THROW(baton.block(r, "a barrier", [] { return true; }), RunStopped);
    --running;
    ++stopped;
  });
  for (auto& t : threads) t.join();
  EXPECT_EQ(together, 0);
  EXPECT_EQ(stopped, 3);
}

TEST(HostBaton, WhoEntersAStoppedRunIsTold) {
  HostBaton baton(
      2, [](const std::function<bool()>&) { return HostBaton::Progress::Stuck; }, [](auto, auto&) {},
      [] { return true; });
  baton.stop("rank 1 has no thread");
  EXPECT_THROW(baton.enter(0), RunStopped);
  baton.leave(0);
  EXPECT_THROW(baton.enter(1), RunStopped);
}

TEST(HostBaton, WhoWaitsForOthersToEnterIsTold) {
  HostBaton baton(
      2, [](const std::function<bool()>&) { return HostBaton::Progress::Stuck; }, [](auto, auto&) {},
      [] { return true; });
  std::thread waits([&] { EXPECT_THROW(baton.enter(0), RunStopped); });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  baton.stop("rank 1 has no thread");
  waits.join();
}

TEST(HostBaton, ALimitEndsAHostThatOnlyPolls) {
  int left = 3, told = 0;
  HostBaton baton(
      1, [](const std::function<bool()>&) { return HostBaton::Progress::Stuck; },
      [&](auto why, auto&) { told += why == HostBaton::Progress::Limit; }, [&] { return left-- > 0; });
  int polls = 0;
  auto threads = start(baton, 1, [&](int r) {
    for (;; ++polls) baton.block(r, "nothing", [] { return true; });
  });
  threads[0].join();
  EXPECT_EQ(polls, 3);
  EXPECT_EQ(told, 1);
}

// Two hosts poll this many times each (-1: for ever) after the third has failed. Returns how many were ended, and the
// message.
std::pair<int, std::string> afterAFailure(int polls) {
  HostBaton baton(
      3, [](const std::function<bool()>&) { return HostBaton::Progress::Stuck; }, [](auto, auto&) {},
      [] { return true; });
  std::pair<int, std::string> ended;
  auto threads = start(baton, 3, [&](int r) {
    if (r == 2) return baton.fail(2, "rank 2 failed: boom");
    try {
      for (int k = 0; k != polls; ++k) baton.block(r, "nothing", [] { return true; });
    } catch (const RunStopped& stopped) {
      ended = {ended.first + 1, stopped.what()};
    }
  });
  for (auto& t : threads) t.join();
  return ended;
}

TEST(HostBaton, HostsThatPollForARankThatFailedAreEnded) {
  EXPECT_EQ(afterAFailure(-1), (std::pair<int, std::string>{2, "rank 2 failed: boom"}));
}

TEST(HostBaton, HostsThatCallOftenAfterAFailureAreNot) { EXPECT_EQ(afterAFailure(1000).first, 0); }

TEST(HostBaton, DevicesRunWhenNoHostCan) {
  bool ran = false;
  HostBaton baton(
      1,
      [&](const std::function<bool()>& ready) {
        ran = true;
        EXPECT_TRUE(ready());
        return HostBaton::Progress::Ready;
      },
      [](auto, auto&) {}, [] { return true; });
  auto threads = start(baton, 1, [&](int r) { baton.block(r, "device", [&] { return ran; }); });
  threads[0].join();
  EXPECT_TRUE(ran);
}

}  // namespace
