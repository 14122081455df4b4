// Ranks of a run that has stopped still give their memory back, on threads of their own.
#include "runtime/backend/sim/session.h"
#include <gtest/gtest.h>
#include <thread>

using namespace tandem;
using namespace tandem::runtime::sim;

namespace {

TEST(Session, MemoryIsReleasedBehindADeadlock) {
  constexpr int kRanks = 8, kBuffers = 50;
  for (int round = 0; round < 20; ++round) {
    Session session({.rankCount = kRanks});
    std::vector<std::thread> threads;
    for (int r = 0; r < kRanks; ++r)
      threads.emplace_back([&session, r] {
        std::vector<interpreter::Address> mine;
        try {
          session.enter(r);
          for (int k = 0; k < kBuffers; ++k) mine.push_back(session.allocate(r, 64, false, true, "", {}, 0));
          interpreter::Address signal = session.allocate(r, 8, true, true, "signal", {}, 0);
          runtime::SignalStep waits{.signal = signal, .value = 1, .waits = true};
          session.signals(r, 0, {&waits, 1});
          session.synchronize(r);
          ADD_FAILURE() << "rank " << r << " went on";
        } catch (const RunStopped&) {
          for (interpreter::Address a : mine) EXPECT_THROW(session.release(r, a, {}), RunStopped);
        }
        session.abort(r, "stopped");
      });
    for (std::thread& t : threads) t.join();
    ASSERT_EQ(session.reports().size(), 1u) << session.reports()[1].text;
  }
}

}  // namespace
