// Sessions of ranks that are threads, on devices in the host's memory: meeting, symmetric memory, signals, barriers,
// reports.
#include "abi/dist_context.h"
#include "base/meaning.h"
#include "runtime/ranks/part_session.h"
#include "runtime/ranks/test/host_platform.h"
#include "runtime/ranks/test/one_signal.h"
#include <cstring>
#include <gtest/gtest.h>
#include <thread>

namespace tandem::runtime::ranks {
namespace {

const HostPlace kPlace;

uint64_t* words(Address address) { return reinterpret_cast<uint64_t*>(address); }

class RanksSession : public testing::Test {
 protected:
  static RanksOptions threads(int ranks) {
    RanksOptions o;
    o.ranks = ranks;
    o.heapStride = uint64_t(16) << 20;
    return o;
  }

  // Runs `body` on a thread for each rank, between enter and leave; returns the exception of each, or nothing.
  std::vector<std::string> run(const RanksOptions& options, const std::function<void(Session&, int)>& body) {
    session_ = makeSession(options, std::make_shared<HostPlatform>(2));
    std::vector<std::string> errors(size_t(options.ranks));
    std::vector<std::thread> all;
    for (int r = 0; r < options.ranks; ++r) all.emplace_back([&, r] { errors[size_t(r)] = main(r, body); });
    for (std::thread& t : all) t.join();
    session_->finish();
    return errors;
  }
  std::string main(int rank, const std::function<void(Session&, int)>& body) {
    try {
      session_->enter(rank);
      body(*session_, rank);
      session_->leave(rank);
    } catch (const RunStopped& e) {
      session_->leave(rank);
      return e.what();
    } catch (const std::exception& e) {
      session_->abort(rank, e.what());
      return e.what();
    }
    return "";
  }
  std::vector<std::string> none(int ranks) { return std::vector<std::string>(size_t(ranks)); }

  std::unique_ptr<Session> session_;
};

TEST_F(RanksSession, PeersHaveOneHeap) {
  EXPECT_EQ(run(threads(3),
                [](Session& s, int rank) {
                  EXPECT_EQ(s.target(rank), "host+met");
                  EXPECT_EQ(s.deviceName(rank), "host " + std::to_string(rank % 2));
                  EXPECT_EQ(s.residentPrograms(rank), 4);
                  Address x = s.allocate(rank, 64, true, true, "x", kPlace);
                  for (int peer = 0; peer < 3; ++peer) words(s.peerAddress(rank, x, peer))[rank] = uint64_t(rank + 1);
                  s.barrier(rank, 0);
                  for (int i = 0; i < 3; ++i) EXPECT_EQ(words(x)[i], uint64_t(i + 1));
                  EXPECT_THROW(s.peerAddress(rank, x, 3), std::invalid_argument);
                  s.barrier(rank, 0);
                  s.release(rank, x, kPlace);
                  Address again = s.allocate(rank, 64, true, true, "again", kPlace);
                  EXPECT_EQ(again, x);
                  EXPECT_EQ(words(again)[0], 0u) << "zeros again";
                }),
            none(3));
  EXPECT_EQ(makeSession(threads(1), std::make_shared<HostPlatform>(1))->target(0), "host+expected")
      << "before they have met";
}

TEST_F(RanksSession, StreamsSignalAndWaitWithoutTheHost) {
  EXPECT_EQ(run(threads(2),
                [](Session& s, int rank) {
                  Address signals = s.allocate(rank, 64, true, true, "signals", kPlace);
                  StreamId stream = s.createStream(rank);
                  for (uint64_t round = 1; round <= 20; ++round) {
                    signalWrite(s, rank, stream, s.peerAddress(rank, signals, 1 - rank), 2, round, 8, SignalKind::Set);
                    signalWrite(s, rank, stream, s.peerAddress(rank, signals + 16, 1 - rank), 1, 3, 4, SignalKind::Add);
                    signalWait(s, rank, stream, signals, 2, Compare::Ge, round, 8);
                    signalWait(s, rank, stream, signals + 16, 1, Compare::Ge, 3 * round, 4);
                    s.barrierOnStream(rank, stream, 0);
                  }
                  s.synchronize(rank);
                  EXPECT_EQ(words(signals)[1], 20u);
                  EXPECT_EQ(words(signals)[2], 60u);
                }),
            none(2));
}

TEST_F(RanksSession, AKernelGetsItsRanksContext) {
  EXPECT_EQ(
      run(threads(2),
          [](Session& s, int rank) {
            Address x = s.allocate(rank, 64, true, true, "x", kPlace);
            auto kernel =
                std::make_shared<HostKernel>("shift", [rank](Address context, std::vector<uint64_t> arguments) {
                  const auto& c = *reinterpret_cast<const tandem_dist_context*>(context);
                  EXPECT_EQ(c.rank, rank);
                  EXPECT_EQ(c.rank_count, 2);
                  words(arguments[0] + Address(int64_t(1 - 2 * rank)) * uint64_t(c.stride))[0] = uint64_t(10 + rank);
                });
            KernelLaunch launch;
            launch.code.kernel = kernel;
            launch.arguments = {&x, 1};
            s.launch(rank, 0, launch);
            s.barrierOnStream(rank, 0, 0);
            s.synchronize(rank);
            EXPECT_EQ(words(x)[0], uint64_t(11 - rank));
            EXPECT_THROW(s.launch(rank, 0, KernelLaunch()), std::invalid_argument) << "a program of the simulator";
          }),
      none(2));
}

TEST_F(RanksSession, TheWaitThatHoldsAStreamIsOneReportForAll) {
  RanksOptions options = threads(2);
  options.waitTimeoutMs = 50;
  std::vector<std::string> errors = run(options, [](Session& s, int rank) {
    Address signal = s.allocate(rank, 8, true, true, "signal", kPlace);
    Meaning meaning(signal, 8, "owner", [](uint64_t) { return "what nobody sends"; });
    if (rank == 1) signalWait(s, rank, 0, signal, 1, Compare::Eq, 7, 8);
    s.synchronize(rank);
    s.barrier(rank, 0);
  });
  EXPECT_NE(errors[1].find("rank 1: stream 0 gave up waiting for the signal at offset"), std::string::npos)
      << errors[1];
  EXPECT_NE(errors[1].find(" (`owner`: what nobody sends) to be eq 7 after 50 ms; it is 0"), std::string::npos)
      << errors[1];
  EXPECT_EQ(errors[0], errors[1]);
  EXPECT_EQ(session_->reports().size(), 1u);
}

TEST_F(RanksSession, AFailedMainEndsTheOthersWaits) {
  std::vector<std::string> errors = run(threads(3), [](Session& s, int rank) {
    Address signal = s.allocate(rank, 8, true, true, "signal", kPlace);
    if (rank == 2) throw std::runtime_error("no more");
    signalWait(s, rank, 0, signal, 1, Compare::Eq, 1, 8);
    s.synchronize(rank);
  });
  EXPECT_EQ(errors, (std::vector<std::string>{"rank 2 failed: no more", "rank 2 failed: no more", "no more"}));
}

TEST_F(RanksSession, UnlikeCallsThatAreComparedWhenTheRanksLeaveAreReported) {
  std::vector<std::string> errors = run(threads(2), [](Session& s, int rank) {
    uint64_t op = s.openOperator(rank, {"`sum` of up to 64 fp16", {"elements"}});
    s.callOperator(rank, op, 0, std::array<int64_t, 1>{rank ? 32 : 64});
  });
  // A rank that was gone before the other one told its calls has heard nothing, and left in order.
  EXPECT_FALSE(errors[0].empty() && errors[1].empty());
  for (const std::string& e : errors)
    if (!e.empty()) EXPECT_NE(e.find("rank 1's call 1 of an operator is `sum`"), std::string::npos) << e;
  ASSERT_EQ(session_->reports().size(), 1u);
  EXPECT_EQ(session_->reports()[0].kind, "collective-mismatch");
}

TEST_F(RanksSession, ACallThatARankLeavesWithoutEndsTheOthersWaits) {
  for (bool ends : {false, true}) {
    std::vector<std::string> errors = run(threads(3), [&](Session& s, int rank) {
      Address signal = s.allocate(rank, 8, true, true, "signal", kPlace);
      uint64_t op = s.openOperator(rank, {"`sum` of up to 64 fp16", {"elements"}});
      for (int call = 0; call < (rank == 1 ? 2 : 3); ++call) s.callOperator(rank, op, 0, std::array<int64_t, 1>{64});
      if (rank == 1) {
        if (ends) s.callOperator(rank, op, 0, {});
        return;
      }
      signalWait(s, rank, 0, signal, 1, Compare::Eq, 1, 8);  // as the operator's third call does
      s.synchronize(rank);
    });
    for (int rank : {0, 2}) {
      EXPECT_NE(errors[size_t(rank)].find("call 3 of an operator is "), std::string::npos) << errors[size_t(rank)];
      EXPECT_NE(errors[size_t(rank)].find(ends ? "the end of `sum` of up to 64 fp16" : "and rank 1 has left after 2"),
                std::string::npos)
          << errors[size_t(rank)];
    }
    EXPECT_EQ(session_->reports().at(0).kind, "collective-mismatch");
  }
}

TEST_F(RanksSession, AnOperatorThatARankLeavesWithoutEndsTheOthersWaits) {
  std::vector<std::string> errors = run(threads(2), [](Session& s, int rank) {
    Address signal = s.allocate(rank, 8, true, true, "signal", kPlace);
    if (rank) return;
    s.openOperator(rank, {"`sum` of up to 64 fp16", {"elements"}});
    signalWait(s, rank, 0, signal, 1, Compare::Eq, 1, 8);
    s.synchronize(rank);
  });
  EXPECT_EQ(errors[0].find("rank 0's operator is `sum` of up to 64 fp16, and rank 1 has left without one"), 0u)
      << errors[0];
}

TEST_F(RanksSession, TeamsMeetAloneAndGatherLongTexts) {
  EXPECT_EQ(run(threads(4),
                [](Session& s, int rank) {
                  std::vector<int> members = rank % 2 ? std::vector<int>{3, 1} : std::vector<int>{0, 2};
                  int team = s.createTeam(rank, members);
                  std::vector<std::string> all =
                      s.gather(rank, team, std::string(size_t(60000 * (rank + 1)), char('a' + rank)));
                  ASSERT_EQ(all.size(), 2u);
                  for (size_t i = 0; i < 2; ++i)
                    EXPECT_EQ(all[i], std::string(size_t(60000 * (members[i] + 1)), char('a' + members[i])));
                  s.barrierOnStream(rank, 0, team);
                  s.synchronize(rank);
                }),
            none(4));
}

TEST_F(RanksSession, TeamsHaveMemoryAndKernelsOfTheirOwn) {
  EXPECT_EQ(run(threads(4),
                [](Session& s, int rank) {
                  // Rows, and columns in another order than the run's.
                  std::vector<std::vector<int>> axes{{rank & ~1, rank | 1}, {(rank & 1) + 2, rank & 1}};
                  Address whole = s.allocate(rank, 64, true, true, "of the run", kPlace);
                  for (const std::vector<int>& members : axes) {
                    int team = s.createTeam(rank, members), index = members[0] == rank ? 0 : 1;
                    EXPECT_THROW(s.allocate(rank, 8, true, true, "too early", kPlace, team), std::invalid_argument);
                    PartSession part(s, rank, team);
                    ASSERT_EQ(part.rankCount(), 2);
                    EXPECT_EQ(part.membersOf(index, 0), (std::vector<int>{0, 1}));
                    // Of another size in each team: they do not wait for one another.
                    uint64_t bytes = uint64_t(64) << (&members == &axes[0] ? rank / 2 : rank % 2);
                    Address x = part.allocate(index, bytes, true, true, "x", kPlace, 0);
                    EXPECT_THROW(part.peerAddress(index, whole, 0, 0), std::invalid_argument) << "memory of the run";
                    EXPECT_THROW(s.peerAddress(rank, x, 0), std::invalid_argument) << "memory of the team";
                    EXPECT_THROW(part.peerAddress(index, x, 2, 0), std::invalid_argument);
                    auto kernel =
                        std::make_shared<HostKernel>("shift", [=](Address context, std::vector<uint64_t> arguments) {
                          const auto& c = *reinterpret_cast<const tandem_dist_context*>(context);
                          EXPECT_EQ(c.rank, index);
                          EXPECT_EQ(c.rank_count, 2);
                          EXPECT_GE(arguments[0], c.heap_base);
                          words(arguments[0] + Address(int64_t(1 - 2 * index)) * uint64_t(c.stride))[0] =
                              uint64_t(10 + rank);
                        });
                    KernelLaunch launch;
                    launch.code.kernel = kernel;
                    launch.arguments = {&x, 1};
                    part.launch(index, 0, launch);
                    part.barrierOnStream(index, 0, 0);
                    part.synchronize(index);
                    EXPECT_EQ(words(x)[0], uint64_t(10 + members[size_t(1 - index)]));
                    EXPECT_EQ(words(part.peerAddress(index, x, 1 - index, 0))[0], uint64_t(10 + rank));
                    // Rows have other operators than one another.
                    int row = &members == &axes[0] ? rank / 2 : 0;
                    uint64_t op = part.openOperator(index, {"`sum` of " + std::to_string(row), {"elements"}}, 0);
                    int64_t size = 8 + row;
                    part.callOperator(index, op, 0, {&size, 1});
                    EXPECT_THROW(part.callOperator(index, op + 1, 0, {&size, 1}), std::out_of_range);
                    part.callOperator(index, op, 0, {});
                    part.release(index, x, kPlace);
                    EXPECT_EQ(part.gather(index, 0, std::to_string(rank))[size_t(index)], std::to_string(rank));
                  }
                }),
            none(4));
}

TEST_F(RanksSession, CallsOfATeamThatDifferNameTheRunsRanks) {
  std::vector<std::string> errors = run(threads(4), [](Session& s, int rank) {
    if (rank == 2) return;
    PartSession part(s, rank, s.createTeam(rank, {3, 1, 0}));
    int index = rank == 3 ? 0 : rank == 1 ? 1 : 2;
    Address signal = part.allocate(index, 8, true, true, "signal", kPlace, 0);
    uint64_t op = part.openOperator(index, {"`sum`", {"elements"}}, 0);
    int64_t size = rank == 1 ? 8 : 16;
    part.callOperator(index, op, 0, {&size, 1});
    signalWait(s, rank, 0, signal, 1, Compare::Eq, 1, 8);
    s.synchronize(rank);
  });
  // Of ranks 0 and 1 or of 3 and 1, whichever is heard of first.
  EXPECT_NE(errors[0].find("rank 1's "), std::string::npos) << errors[0];
  EXPECT_NE(errors[0].find("`sum` with elements 8"), std::string::npos) << errors[0];
}

TEST_F(RanksSession, MembersThatDifferAreNamed) {
  std::vector<std::string> errors = run(threads(2), [](Session& s, int rank) {
    s.createTeam(rank, rank ? std::vector<int>{1, 0} : std::vector<int>{0, 1});
  });
  EXPECT_EQ(errors[0], "rank 0 makes a team of `members` 0, 1, rank 1 one of 1, 0: the same on both, in one order");
}

TEST_F(RanksSession, ATracedRunShowsItsStreams) {
  RanksOptions options = threads(2);
  options.trace = true;
  EXPECT_EQ(run(options,
                [](Session& s, int rank) {
                  EXPECT_EQ(s.target(rank), "host+trace+met");
                  Address x = s.allocate(rank, 64, true, true, "x", kPlace);
                  s.copy(rank, 0, s.peerAddress(rank, x, 1 - rank), x, 32);
                  s.barrierOnStream(rank, 0, 0);
                }),
            none(2));
  auto trace = session_->trace();
  ASSERT_TRUE(trace);
  ASSERT_EQ(trace->spans.size(), 4u);
  for (const interpreter::Span& span : trace->spans) {
    EXPECT_GE(span.beginNs, 0);
    EXPECT_LT(span.endNs, 60000000000);
    if (span.kind == interpreter::SpanKind::Copy) EXPECT_EQ(span.peer, 1 - span.rank);
  }
}

TEST_F(RanksSession, RefusesOptionsThatDoNotFit) {
  auto refused = [](const RanksOptions& o) {
    EXPECT_THROW(makeSession(o, std::make_shared<HostPlatform>(2)), std::invalid_argument);
  };
  refused(threads(0));
  RanksOptions o = threads(3);
  o.devices = {0, 1};
  refused(o);
  o.devices = {0, 1, 2};
  refused(o);
  o = threads(2);
  o.rank = 1;
  refused(o);
}

}  // namespace
}  // namespace tandem::runtime::ranks
