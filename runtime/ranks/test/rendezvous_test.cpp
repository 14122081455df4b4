// In these tests ranks meet as threads and as processes. They check the exchange of messages, missing and dying ranks,
// and that all ranks end with one reason.
#include "runtime/ranks/rendezvous.h"
#include <gtest/gtest.h>
#include <numeric>
#include <sys/wait.h>
#include <unistd.h>

namespace tandem::runtime::ranks {
namespace {
using namespace std::chrono_literals;

std::string ownName(const char* test) { return std::string(test) + std::to_string(getpid()); }

std::vector<int> world(int count) {
  std::vector<int> out(static_cast<size_t>(count));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

// Runs one thread for each rank; returns the exception of each, or nothing.
std::vector<std::string> onThreads(int count, const std::string& name, std::chrono::milliseconds patience,
                                   const std::function<void(int, Rendezvous&)>& body) {
  std::vector<std::string> errors(static_cast<size_t>(count));
  std::vector<std::thread> threads;
  for (int r = 0; r < count; ++r)
    threads.emplace_back([&, r] {
      try {
        Rendezvous meeting({name, r, count, patience}, {});
        meeting.meet();
        body(r, meeting);
        meeting.leave();
      } catch (const std::exception& e) {
        errors[size_t(r)] = e.what();
      }
    });
  for (std::thread& t : threads) t.join();
  return errors;
}

TEST(Rendezvous, GathersInOrderAndPassesDescriptors) {
  auto errors = onThreads(4, ownName("gather"), 20s, [](int rank, Rendezvous& meeting) {
    for (int round = 0; round < 50; ++round) {
      std::vector<Packet> all = meeting.gather(world(4), "round", std::to_string(rank * 100 + round));
      for (int r = 0; r < 4; ++r) ASSERT_EQ(all[size_t(r)].bytes, std::to_string(r * 100 + round));
    }
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    Descriptor read(ends[0]), write(ends[1]);
    std::vector<Packet> all = meeting.gather(world(4), "pipes", {}, std::span(&ends[1], 1));
    for (int r = 0; r < 4; ++r) {
      if (r == rank) continue;
      ASSERT_EQ(all[size_t(r)].descriptors.size(), 1u);
      ASSERT_EQ(::write(all[size_t(r)].descriptors[0].get(), "x", 1), 1);
    }
    meeting.barrier(world(4), "written");
    char got[8];
    EXPECT_EQ(::read(ends[0], got, sizeof got), 3);
  });
  EXPECT_EQ(errors, std::vector<std::string>(4));
}

TEST(Rendezvous, SubsetsMeetAlone) {
  auto errors = onThreads(4, ownName("subsets"), 20s, [](int rank, Rendezvous& meeting) {
    std::vector<int> pair = rank < 2 ? std::vector{1, 0} : std::vector{2, 3};
    for (int i = 0; i < rank * 3 + 3; ++i)
      if (i < 3) EXPECT_EQ(meeting.gather(pair, "pair", std::to_string(rank))[0].bytes, rank < 2 ? "1" : "2");
    meeting.barrier(world(4), "all");
  });
  EXPECT_EQ(errors, std::vector<std::string>(4));
}

TEST(Rendezvous, NamesWhoDidNotCome) {
  std::string error;
  try {
    Rendezvous meeting({ownName("missing"), 1, 4, 150ms}, {});
    meeting.meet();
  } catch (const RunStopped& e) {
    error = e.what();
  }
  EXPECT_EQ(error, "ranks 0, 2 and 3 did not come to `" + ownName("missing") + "` within 150 ms");
}

TEST(Rendezvous, RefusesASecondOneOfARank) {
  std::string name = ownName("second"), error;
  std::thread first([&] {
    Rendezvous meeting({name, 0, 2, 600ms}, {});
    EXPECT_THROW(meeting.meet(), RunStopped);
  });
  std::this_thread::sleep_for(200ms);
  try {
    Rendezvous meeting({name, 0, 2, 100ms}, {});
    meeting.meet();
  } catch (const RunStopped& e) {
    error = e.what();
  }
  first.join();
  EXPECT_EQ(error, "there is a rank 0 already at `" + name + "`");
}

TEST(Rendezvous, DifferentNumbersOfRanksAreOneErrorForBoth) {
  std::string name = ownName("counts"), errors[2];
  std::thread other([&] {
    try {
      Rendezvous meeting({name, 1, 3, 5s}, {});
      meeting.meet();
    } catch (const RunStopped& e) {
      errors[1] = e.what();
    }
  });
  try {
    Rendezvous meeting({name, 0, 2, 5s}, {});
    meeting.meet();
  } catch (const RunStopped& e) {
    errors[0] = e.what();
  }
  other.join();
  EXPECT_EQ(errors[0], "rank 0 was started for 2 ranks, rank 1 for 3");
  EXPECT_EQ(errors[1], errors[0]);
}

TEST(Rendezvous, OneReasonForAll) {
  auto errors = onThreads(4, ownName("stop"), 20s, [](int rank, Rendezvous& meeting) {
    if (rank >= 2)
      meeting.stop(reportOf(ReportKind::RankFailed, rank, "rank " + std::to_string(rank) + " failed"));  // two at once
    meeting.barrier(world(4), "never");
  });
  for (const std::string& e : errors) EXPECT_EQ(e, errors[0]);
  EXPECT_TRUE(errors[0] == "rank 2 failed" || errors[0] == "rank 3 failed") << errors[0];
}

TEST(Rendezvous, DifferentCallsAreAnError) {
  auto errors = onThreads(3, ownName("calls"), 20s, [](int rank, Rendezvous& meeting) {
    meeting.barrier(world(3), rank == 2 ? "allocate" : "barrier");
  });
  for (const std::string& e : errors) EXPECT_EQ(e, "rank 0 calls `barrier`, rank 2 calls `allocate`");
}

TEST(Rendezvous, CallsOfOperatorsAreComparedBesideThem) {
  auto errors = onThreads(3, ownName("operators"), 20s, [](int rank, Rendezvous& meeting) {
    auto call = [&](int64_t size) { meeting.noteCall({0, 0}, std::span(&size, 1)); };
    meeting.noteOperator(0, {"`sum`", {"elements"}});
    for (int k = 0; k < 100000; ++k) call(k % 2);
    meeting.barrier(world(3), "all alike");
    std::this_thread::sleep_for(200ms);
    ASSERT_FALSE(meeting.stopped());
    call(rank == 1 ? 7 : 8);
    if (rank != 1) meeting.barrier({0, 2}, "without it");
    if (rank != 1) meeting.barrier({0, 2, 1}, "never");
    while (!meeting.stopped()) std::this_thread::sleep_for(1ms);
    meeting.checkRunning();
  });
  std::string want = "call 100001 of an operator is `sum` with elements ";
  std::string first = "rank 1's " + want + "7, where rank 0's is `sum` with elements 8";
  // where rank 0 is heard later
  std::string second = "rank 2's " + want + "8, where rank 1's is `sum` with elements 7";
  for (const std::string& e : errors) EXPECT_TRUE(e.starts_with(first) || e.starts_with(second)) << e;
}

TEST(Rendezvous, LastCallsAreComparedBeforeTheRanksPart) {
  for (int round = 0; round < 20; ++round) {
    auto errors = onThreads(2, ownName("last"), 20s, [round](int rank, Rendezvous& meeting) {
      meeting.noteOperator(0, {"`sum`", {"elements"}});
      int64_t size = round % 2 ? 8 : 7 + rank;
      meeting.noteCall({0, 0}, std::span(&size, 1));
      meeting.compareLastCalls();
      meeting.leave();
    });
    EXPECT_EQ(errors[0].empty() && errors[1].empty(), round % 2 == 1) << errors[0] << errors[1];
  }
}

TEST(Rendezvous, OperatorsOfOneStreamInAnotherOrderEndTheRun) {
  auto errors = onThreads(2, ownName("orders"), 20s, [](int rank, Rendezvous& meeting) {
    for (const char* name : {"`sum`", "`gather`"}) meeting.noteOperator(name[1] == 'g', {name, {}});
    for (uint32_t k = 0; k < 10000; ++k) meeting.noteCall({k % 2, 0}, {});
    meeting.barrier(world(2), "all alike");
    std::this_thread::sleep_for(200ms);
    ASSERT_FALSE(meeting.stopped());
    for (uint32_t k = 0; k < 2; ++k) meeting.noteCall({rank ? 1 - k : k, 0}, {});
    while (!meeting.stopped()) std::this_thread::sleep_for(1ms);
    meeting.checkRunning();
  });
  for (const std::string& e : errors)
    EXPECT_EQ(
        e,
        "rank 1 has call 5001 of `sum` behind call 5001 of `gather` on one stream, and rank 0 has call 5001 of `gather` behind "
        "call 5001 of `sum` on one stream, so they wait for one another: all ranks call the operators of one stream in one order");
}

TEST(Rendezvous, WhoLeavesIsNotGoneButCannotBeWaitedFor) {
  auto errors = onThreads(3, ownName("leave"), 20s, [](int rank, Rendezvous& meeting) {
    meeting.barrier(world(3), "first");
    if (rank == 2) return;
    std::this_thread::sleep_for(50ms);
    meeting.barrier({0, 1}, "without the third");
    EXPECT_FALSE(meeting.stopped());
    meeting.barrier({0, 1}, "both have looked");
    if (rank == 0)
      meeting.barrier({0, 2}, "with it");
    else
      meeting.barrier({0, 1}, "never");
  });
  EXPECT_EQ(errors[0], "rank 2 has left, rank 0 waits for it in `with it`");
  EXPECT_EQ(errors[1], errors[0]);
  EXPECT_EQ(errors[2], "");
}

TEST(Rendezvous, InterruptEndsMeetingAndGathering) {
  Rendezvous alone({ownName("interrupt"), 0, 2, 20s}, {});
  std::thread waker([&] {
    std::this_thread::sleep_for(50ms);
    alone.interrupt();
  });
  EXPECT_THROW(alone.meet(), RunStopped);
  waker.join();
  auto errors = onThreads(2, ownName("interrupt2"), 20s, [](int rank, Rendezvous& meeting) {
    if (rank == 0) meeting.interrupt();
    meeting.barrier({0, 1}, "first");
    meeting.barrier({0, 1}, "second");
    std::this_thread::sleep_for(200ms);
    meeting.checkRunning();
  });
  EXPECT_EQ(errors, std::vector<std::string>(2, "interrupted"));
}

// Runs a rank in a process of its own, which exits with the value of `body`.
pid_t inProcess(const std::function<int()>& body) {
  pid_t child = fork();
  if (child) return child;
  try {
    _exit(body());
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    _exit(99);
  }
}

int exitCode(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST(Rendezvous, ProcessesMeetAndADeadOneIsNoticed) {
  std::string name = ownName("processes");
  std::vector<pid_t> children;
  for (int rank = 0; rank < 3; ++rank)
    children.push_back(inProcess([&] {
      Rendezvous meeting({name, rank, 3, 20s}, {});
      meeting.meet();
      if (rank == 1) {
        meeting.barrier(world(3), "here");
        raise(SIGKILL);
      }
      try {
        meeting.barrier(world(3), "here");
        meeting.barrier(world(3), "never");
      } catch (const RunStopped& e) {
        return std::string(e.what()) == "rank 1 is gone: its process has ended or closed its connection" &&
                       meeting.reason().kind == "rank-gone"
                   ? 3
                   : 4;
      }
      return 5;
    }));
  EXPECT_EQ(exitCode(children[0]), 3);
  EXPECT_EQ(exitCode(children[1]), 128 + SIGKILL);
  EXPECT_EQ(exitCode(children[2]), 3);
}

TEST(Rendezvous, AProcessThatAbortsIsHeardBeforeItIsGone) {
  std::string name = ownName("abort");
  pid_t child = inProcess([&] {
    Rendezvous meeting({name, 1, 2, 20s}, {});
    meeting.meet();
    meeting.stop(reportOf(ReportKind::RankFailed, 1, "rank 1 failed: no luck"));
    return 0;
  });
  std::string error;
  try {
    Rendezvous meeting({name, 0, 2, 20s}, {});
    meeting.meet();
    meeting.barrier({0, 1}, "never");
  } catch (const RunStopped& e) {
    error = e.what();
  }
  EXPECT_EQ(error, "rank 1 failed: no luck");
  EXPECT_EQ(exitCode(child), 0);
}

TEST(UnixSocket, RefusesWhatNoPacketHolds) {
  Descriptor listener = listenAt(ownName("socket")), client = connectTo(ownName("socket")),
             server = acceptFrom(listener);
  ASSERT_TRUE(client && server);
  EXPECT_TRUE(isOfThisUser(server));
  EXPECT_THROW(send(client, std::string(kMaxPacketBytes + 1, 'x')), std::length_error);
  EXPECT_TRUE(send(client, std::string(kMaxPacketBytes, 'x')));
  Packet packet;
  EXPECT_EQ(receive(server, packet), Received::Packet);
  EXPECT_EQ(packet.bytes.size(), kMaxPacketBytes);
  EXPECT_EQ(receive(server, packet), Received::Nothing);
  EXPECT_TRUE(send(server, "unread"));
  EXPECT_TRUE(send(client, "last words"));
  client.close();
  EXPECT_EQ(receive(server, packet), Received::Packet) << "what was sent before the end is still there";
  EXPECT_EQ(packet.bytes, "last words");
  EXPECT_EQ(receive(server, packet), Received::Closed);
  EXPECT_FALSE(send(server, "too late"));
  EXPECT_FALSE(connectTo(ownName("nobody")));
}

}  // namespace
}  // namespace tandem::runtime::ranks
