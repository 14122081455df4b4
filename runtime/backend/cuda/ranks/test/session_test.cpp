// Sessions on the fake driver: ranks as threads on one or two devices, and as processes. Streams that wait really wait,
// memory is really shared.
#include "runtime/ranks/test/one_signal.h"
#include "runtime/backend/cuda/ranks/session.h"
#include "abi/dist_context.h"
#include "runtime/backend/cuda/context_registry.h"
#include "runtime/backend/cuda/kernel.h"
#include "runtime/backend/cuda/test/fake_driver.h"
#include <atomic>
#include <barrier>
#include <cstring>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace tandem::runtime::cuda {
namespace {

using Word = uint64_t;
const HostPlace kPlace;

Word* words(uint64_t address) { return reinterpret_cast<Word*>(address); }

class SessionTest : public FakeDriver {
 protected:
  static RanksOptions threads(int ranks) {
    RanksOptions o;
    o.ranks = ranks;
    o.devices.assign(size_t(ranks), 0);
    o.heapStride = uint64_t(256) << 20;
    return o;
  }

  // Runs `body` on a thread for each rank, between enter and leave; returns the exception of each, or nothing.
  std::vector<std::string> run(const RanksOptions& options, const std::function<void(Session&, int)>& body) {
    session_ = makeSession(options);
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

TEST_F(SessionTest, SymmetricMemoryIsOnePlaceForAll) {
  EXPECT_EQ(run(threads(4),
                [](Session& s, int rank) {
                  EXPECT_EQ(s.rankCount(), 4);
                  EXPECT_EQ(s.target(rank), "sm_90a");
                  EXPECT_EQ(s.residentPrograms(rank), 132);
                  uint64_t a = s.allocate(rank, 4096, true, true, "a", kPlace),
                           b = s.allocate(rank, 100, true, true, "b", kPlace);
                  EXPECT_EQ(b - a, 4096u);
                  for (int i = 0; i < 512; ++i) ASSERT_EQ(words(a)[i], 0u);
                  s.barrier(rank, 0);
                  for (int peer = 0; peer < 4; ++peer) words(s.peerAddress(rank, a, peer))[rank] = Word(rank + 1);
                  s.barrier(rank, 0);
                  for (int i = 0; i < 4; ++i) EXPECT_EQ(words(a)[i], Word(i + 1));
                  EXPECT_EQ(s.peerAddress(rank, a, rank), a);
                  EXPECT_THROW(s.peerAddress(rank, a, 4), std::invalid_argument);
                  EXPECT_THROW(s.peerAddress(rank, 64, 1), std::invalid_argument);
                  s.barrier(rank, 0);
                  s.release(rank, a, kPlace);
                  EXPECT_THROW(s.release(rank, a, kPlace), std::invalid_argument);
                  uint64_t again = s.allocate(rank, 4000, true, true, "again", kPlace);
                  EXPECT_EQ(again, a);
                  EXPECT_EQ(words(again)[1], 0u) << "zeros again";
                  uint64_t large = s.allocate(rank, uint64_t(100) << 20, true, false, "another piece", kPlace);
                  words(s.peerAddress(rank, large + (uint64_t(99) << 20), (rank + 1) % 4))[0] = Word(rank);
                  s.barrier(rank, 0);
                  EXPECT_EQ(words(large + (uint64_t(99) << 20))[0], Word((rank + 3) % 4));
                  EXPECT_NE(s.allocate(rank, 0, true, false, "nothing", kPlace),
                            s.allocate(rank, 0, true, false, "nothing", kPlace));
                }),
            none(4));
}

TEST_F(SessionTest, DifferentSizesAreAnErrorOnAllAndTheSessionGoesOn) {
  EXPECT_EQ(
      run(threads(3),
          [](Session& s, int rank) {
            std::string error;
            try {
              s.allocate(rank, rank == 2 ? 2048 : 1024, true, true, "x", kPlace);
            } catch (const std::invalid_argument& e) {
              error = e.what();
            }
            EXPECT_EQ(
                error,
                "symmetric memory has one size on all ranks: rank 0 asks for 1024 bytes, rank 2 for 2048 bytes (`x`)");
            try {
              s.allocate(rank, uint64_t(1) << 40, true, true, "huge", kPlace);
            } catch (const std::runtime_error& e) {
              error = e.what();
            }
            EXPECT_EQ(error.find("the symmetric heap has no room for 1099511627776 bytes"), 0u) << error;
            words(s.allocate(rank, 1024, true, true, "x", kPlace))[127] = 1;
          }),
      none(3));
}

TEST_F(SessionTest, WhatFailsOnOneRankFailsOnAll) {
  EXPECT_EQ(
      run(threads(3),
          [this](Session& s, int rank) {
            s.barrier(rank, 0);
            if (rank == 1) failNext("cuMemCreate", kOutOfMemory);
            s.barrier(rank, 0);
            std::string error;
            try {
              s.allocate(rank, uint64_t(100) << 20, true, false, "x", kPlace);
            } catch (const std::runtime_error& e) {
              error = e.what();
            }
            EXPECT_NE(
                error.find("a piece of 67108864 bytes of the heap on device 0: `cuMemCreate` failed: out of memory"),
                std::string::npos)
                << error;
            EXPECT_EQ(error.find("symmetric memory: rank "), 0u);
            s.barrier(rank, 0);
            s.allocate(rank, uint64_t(100) << 20, true, false, "x", kPlace);
          }),
      none(3));
}

TEST_F(SessionTest, TheContextSaysWhoIsWhere) {
  EXPECT_EQ(run(threads(4),
                [](Session& s, int rank) {
                  uint64_t heap = s.allocate(rank, 8, true, true, "x", kPlace);
                  auto* context = reinterpret_cast<const tandem_dist_context*>(rankContextOn(0));
                  EXPECT_EQ(context->rank, rank);
                  EXPECT_EQ(context->rank_count, 4);
                  EXPECT_EQ(context->stride, int64_t(256) << 20);
                  EXPECT_GE(heap, context->heap_base);
                  EXPECT_EQ(s.peerAddress(rank, heap, 3), heap + uint64_t((3 - rank) * context->stride));
                  ASSERT_EQ(context->team_count, 6);
                  EXPECT_EQ(context->teams[2].size, 4);  // the node
                  EXPECT_EQ(context->teams[4].size, 1);  // who shares the GPU
                  EXPECT_EQ(context->teams[0].size, 4);
                  EXPECT_NE(context->watch, nullptr);
                  std::vector<int> members = rank % 2 ? std::vector{3, 1} : std::vector{0, 2};
                  ASSERT_EQ(s.createTeam(rank, members), 6);
                  if (rank < 3) ASSERT_EQ(s.createTeam(rank, {2, 1, 0}), 7);
                  const tandem_dist_team& mine = context->teams[6];
                  EXPECT_EQ(mine.rank, rank == 3 || rank == 0 ? 0 : 1);
                  EXPECT_EQ(mine.size, 2);
                  for (int i = 0; i < 2; ++i) EXPECT_EQ(mine.members[i], members[size_t(i)]);
                  for (int r = 0; r < 4; ++r)
                    EXPECT_EQ(mine.indices[r], members[0] == r ? 0 : members[1] == r ? 1 : -1);
                  EXPECT_EQ(*mine.epoch, 0u);
                  if (rank < 3) EXPECT_EQ(context->teams[7].rank, 2 - rank);
                  // A member's slot is the same word on all: rank 0 writes it on 2.
                  uint64_t slot = reinterpret_cast<uint64_t>(mine.signals + mine.rank);
                  words(s.peerAddress(rank, slot, members[size_t(1 - mine.rank)]))[0] = Word(40 + rank);
                  s.barrier(rank, 0);
                  EXPECT_EQ(mine.signals[1 - mine.rank], Word(40 + members[size_t(1 - mine.rank)]));
                  EXPECT_THROW(s.createTeam(rank, {rank, rank}), std::invalid_argument);
                  EXPECT_THROW(s.createTeam(rank, {(rank + 1) % 4}), std::invalid_argument);
                  EXPECT_THROW(s.barrier(rank, 99), std::invalid_argument);
                }),
            none(4));
  EXPECT_NE(rankContextOn(0), 0u) << "a world of one after the session";
  EXPECT_EQ(reinterpret_cast<const tandem_dist_context*>(rankContextOn(0))->rank_count, 1);
}

TEST_F(SessionTest, LaunchesUseTheirRanksContext) {
  abi::KernelImage image;
  image.name = "k";
  image.target = "sm_90a";
  image.cubin = "FAKE k 8,8 40 0";
  image.params = {abi::ParamType::Pointer};
  image.usesRanks = true;
  Code code{nullptr, std::make_shared<Kernel>(std::make_shared<abi::KernelImage>(image))};
  std::atomic<Address> contexts[2];
  RanksOptions options = threads(2);
  options.devices = {0, 1};
  EXPECT_EQ(
      run(options,
          [&](Session& s, int rank) {
            uint64_t argument = 5;
            contexts[rank] = rankContextOn(rank);
            std::thread([&] { EXPECT_EQ(rankContextOn(rank), contexts[rank]) << "the device's only rank"; }).join();
            KernelLaunch launch;
            launch.code = code;
            launch.arguments = {&argument, 1};
            s.launch(rank, 0, launch);
            launch.code = {};
            EXPECT_THROW(s.launch(rank, 0, launch), std::invalid_argument);
            EXPECT_THROW(s.launch(rank, 9, launch), std::invalid_argument);
          }),
      none(2));
  for (int rank = 0; rank < 2; ++rank) {
    char text[64];
    std::snprintf(text, sizeof text, " 0500000000000000 %016llx",
                  static_cast<unsigned long long>(__builtin_bswap64(contexts[rank])));
    EXPECT_NE(log().find("launch k on " + std::to_string(rank)), std::string::npos);
    EXPECT_NE(log().find(text), std::string::npos) << log();
  }
}

TEST_F(SessionTest, SignalsBetweenStreams) {
  EXPECT_EQ(run(threads(2),
                [](Session& s, int rank) {
                  uint64_t signals = s.allocate(rank, 256, true, true, "signals", kPlace),
                           data = s.allocate(rank, 256, true, true, "data", kPlace);
                  StreamId other = s.createStream(rank);
                  int peer = 1 - rank;
                  uint64_t local = s.allocate(rank, 64, false, true, "local", kPlace);
                  signalWait(s, rank, other, signals, 3, Compare::Ge, 5, 8);
                  s.copy(rank, other, local, data, 8);
                  uint64_t got = 0;
                  s.copyToHost(rank, other, &got, local, 8);
                  s.set(rank, 0, s.peerAddress(rank, data, peer), uint8_t(rank + 1), 8);
                  signalWrite(s, rank, 0, s.peerAddress(rank, signals, peer), 3, 4, 8, SignalKind::Set);
                  signalWrite(s, rank, 0, s.peerAddress(rank, signals, peer), 3, 1, 8, SignalKind::Add);
                  signalWrite(s, rank, 0, s.peerAddress(rank, signals, peer) + 128, 1, 9, 4, SignalKind::Add);
                  s.synchronize(rank);
                  EXPECT_EQ(got, 0x0101010101010101u * Word(peer + 1));
                  s.barrier(rank, 0);
                  EXPECT_EQ(words(signals)[16], 9u);
                  EXPECT_THROW(signalWait(s, rank, 0, signals + 4, 1, Compare::Eq, 1, 8), std::invalid_argument);
                  EXPECT_THROW(signalWait(s, rank, 0, signals, 1, Compare::Eq, 1, 2), std::invalid_argument);
                  EXPECT_THROW(signalWait(s, rank, 0, signals, 1, Compare::Ne, 3, 8), std::invalid_argument);
                }),
            none(2));
}

TEST_F(SessionTest, BarriersOnStreamsHoldAgainAndAgain) {
  constexpr int rounds = 200;
  EXPECT_EQ(run(threads(4),
                [](Session& s, int rank) {
                  uint64_t counts = s.allocate(rank, 64, true, true, "counts", kPlace),
                           seen = s.allocate(rank, 64, false, true, "seen", kPlace);
                  int pair = s.createTeam(rank, {rank & ~1, rank | 1});
                  for (int round = 1; round <= rounds; ++round) {
                    for (int peer = 0; peer < 4; ++peer)
                      signalWrite(s, rank, 0, s.peerAddress(rank, counts, peer) + uint64_t(rank) * 8, 1, Word(round), 8,
                                  SignalKind::Set);
                    s.barrierOnStream(rank, 0, 0);
                    s.copy(rank, 0, seen, counts, 32);
                    s.barrierOnStream(rank, 0, 0);
                    if (round % 3 == rank % 3) std::this_thread::sleep_for(std::chrono::microseconds(100));
                    if (round % 7 == 0) s.barrierOnStream(rank, 0, pair);
                    s.synchronize(rank, 0);
                    for (int i = 0; i < 4; ++i)
                      ASSERT_EQ(words(seen)[i], Word(round)) << "rank " << rank << " of " << i;
                  }
                }),
            none(4));
}

TEST_F(SessionTest, AStreamsWaitThatNobodyEndsIsOneErrorForAll) {
  RanksOptions options = threads(3);
  options.waitTimeoutMs = 150;
  std::vector<std::string> errors = run(options, [](Session& s, int rank) {
    uint64_t signals = s.allocate(rank, 64, true, true, "signals", kPlace);
    signalWrite(s, rank, 0, signals, 1, 3, 8, SignalKind::Set);
    if (rank == 1) signalWait(s, rank, 0, signals, 1, Compare::Ge, 5, 8);
    s.barrier(rank, 0);
  });
  EXPECT_EQ(errors[0].find("rank 1: stream 0 gave up waiting for the signal at offset 0x"), 0u) << errors[0];
  EXPECT_NE(errors[0].find(" to be ge 5 after 150 ms; it is 3"), std::string::npos) << errors[0];
  EXPECT_EQ(errors[1], errors[0]);
  EXPECT_EQ(errors[2], errors[0]);
  std::vector<RunReport> reports = session_->reports();
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].kind, "wait-timeout");
  EXPECT_EQ(reports[0].rank, 1);
}

TEST_F(SessionTest, RanksThatCallAnOperatorUnlikeOneAnotherEndWithOneError) {
  RanksOptions options = threads(3);
  options.waitTimeoutMs = 2000;
  std::vector<std::string> errors = run(options, [](Session& s, int rank) {
    uint64_t signals = s.allocate(rank, 64, true, true, "signals", kPlace);
    uint64_t op = s.openOperator(rank, {"`sum` of up to 64 fp16", {"elements"}});
    for (int64_t call = 0; call < 5; ++call)
      s.callOperator(rank, op, 0, std::array<int64_t, 1>{call == 3 && rank == 2 ? 32 : 64});
    if (rank != 2) signalWait(s, rank, 0, signals, 1, Compare::Ge, 1, 8);  // as the operators of the others do
    s.barrier(rank, 0);
  });
  // the report names either of the two ranks that agree: the one that was heard of first
  auto unlike = [](const char* other) {
    return std::string("rank 2's call 4 of an operator is `sum` of up to 64 fp16 with elements 32, where rank ") +
           other +
           "'s is `sum` of up to 64 fp16 with elements 64: all ranks make the same operators in one order and call them alike";
  };
  EXPECT_TRUE(errors[0] == unlike("0") || errors[0] == unlike("1")) << errors[0];
  EXPECT_EQ(errors[1], errors[0]);
  EXPECT_EQ(errors[2], errors[0]);
  EXPECT_EQ(session_->reports().at(0).kind, "collective-mismatch");
}

TEST_F(SessionTest, ABarrierOnStreamsThatOneRankDoesNotReachNamesThatRank) {
  RanksOptions options = threads(3);
  options.waitTimeoutMs = 150;
  std::vector<std::string> errors = run(options, [](Session& s, int rank) {
    if (rank != 1) s.barrierOnStream(rank, 0, 0);
    s.synchronize(rank);
    if (rank == 1) s.barrier(rank, 0);
  });
  EXPECT_NE(errors[0].find(": stream 0 gave up waiting for rank 1's flag of a barrier of team 0 on streams to be eq 1"),
            std::string::npos)
      << errors[0];
  EXPECT_EQ(errors[2], errors[0]);
}

// Writes the note that a kernel leaves when it gives up waiting.
void giveUp(const tandem_dist_context& context, const char* place, uint64_t signal) {
  tandem_dist_watch& w = *context.watch;
  w.place = place;
  w.program[0] = 3;
  w.compare = 5;
  w.signal = signal;
  w.expected = 7;
  w.seen = 2;
  __atomic_store_n(&w.found, 2u, __ATOMIC_RELEASE);
}

TEST_F(SessionTest, AKernelsWaitThatGaveUpIsReportedWithItsPlace) {
  static const char place[] = "dir/k.py:12:5\0ring_kernel";
  std::vector<std::string> errors = run(threads(3), [](Session& s, int rank) {
    uint64_t signal = s.allocate(rank, 64, true, true, "signals", kPlace);
    if (rank == 2) {
      giveUp(*reinterpret_cast<const tandem_dist_context*>(rankContextOn(0)), place, signal);
      s.synchronize(rank);
      ADD_FAILURE() << "wrong results were handed out";
    }
    s.barrier(rank, 0);
  });
  EXPECT_EQ(errors[0].find("rank 2, program (3, 0, 0) of `ring_kernel`: gave up waiting for the signal at offset "), 0u)
      << errors[0];
  EXPECT_NE(errors[0].find(" to be ge 7; it is 2"), std::string::npos);
  EXPECT_EQ(errors[1], errors[0]);
  EXPECT_EQ(errors[2], errors[0]);
  RunReport report = session_->reports().at(0);
  EXPECT_EQ(report.kind, "wait-timeout");
  EXPECT_EQ(report.file, "dir/k.py");
  EXPECT_EQ(report.line, 12u);
  EXPECT_EQ(report.column, 5u);
  EXPECT_EQ(report.kernel, "ring_kernel");
  EXPECT_EQ(report.program, (std::array<int32_t, 3>{3, 0, 0}));
  EXPECT_EQ(report.text.find("dir/k.py:12:5: error: rank 2, program"), 0u) << report.text;
}

TEST_F(SessionTest, ACollectiveThatAKernelFoundCalledUnlikeIsReportedByBothSides) {
  static const char place[] = "dir/k.py:12:5\0gather";
  std::barrier written(2);
  std::vector<std::string> errors = run(threads(2), [&](Session& s, int rank) {
    const auto& context = *reinterpret_cast<const tandem_dist_context*>(rankContextOn(0));
    s.barrier(rank, 0);
    giveUp(context, place, reinterpret_cast<uint64_t>(context.teams[0].signals + (1 - rank)));
    context.watch->compare = TANDEM_DIST_UNLIKE + (rank ? TANDEM_DIST_BARRIER : TANDEM_DIST_FCOLLECT);
    context.watch->expected = 256;
    context.watch->seen = uint64_t(3) << TANDEM_DIST_MARK_BITS | (rank ? TANDEM_DIST_FCOLLECT : TANDEM_DIST_BARRIER);
    written.arrive_and_wait();
    s.synchronize(rank);
  });
  std::vector<RunReport> reports = session_->reports();
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(errors[1], errors[0]);
  EXPECT_EQ(reports[0].message, errors[0]);
  EXPECT_EQ(reports[0].kind, "collective-mismatch");
  EXPECT_EQ(reports[1].severity, Severity::Note);
  int first = reports[0].rank;  // whichever was noticed first
  const char* said[] = {
      "rank 0, program (3, 0, 0) of `gather`: calls an fcollect of 256 bytes of team 0, where rank 1 calls a barrier: all members make "
      "the same calls in one order (M12)",
      "rank 1, program (3, 0, 0) of `gather`: calls a barrier of team 0, where rank 0 calls an fcollect: all members make the same calls "
      "in one order (M12)"};
  EXPECT_EQ(reports[0].message, said[first]);
  EXPECT_EQ(reports[1].message, said[1 - first]);
}

TEST_F(SessionTest, AFailedMainEndsTheOthersWaits) {
  std::vector<std::string> errors = run(threads(3), [](Session& s, int rank) {
    uint64_t signals = s.allocate(rank, 64, true, true, "signals", kPlace);
    if (rank == 1) throw std::runtime_error("no luck");
    for (int i = 1; i < 5; ++i) {
      signalWait(s, rank, 0, signals, 2, Compare::Eq, Word(i), 8);
      signalWrite(s, rank, 0, signals, 2, 0, 8, SignalKind::Set);
    }
    s.barrierOnStream(rank, 0, 0);
    s.synchronize(rank);
  });
  EXPECT_EQ(errors[0], "rank 1 failed: no luck");
  EXPECT_EQ(errors[1], "no luck");
  EXPECT_EQ(errors[2], errors[0]);
}

TEST_F(SessionTest, AnInterruptEndsAll) {
  std::vector<std::string> errors = run(threads(2), [](Session& s, int rank) {
    uint64_t signals = s.allocate(rank, 64, true, true, "signals", kPlace);
    if (rank == 0)
      signalWait(s, rank, 0, signals, 1, Compare::Eq, 1, 8);
    else
      s.interrupt();
    s.synchronize(rank);
    s.barrier(rank, 0);
  });
  EXPECT_EQ(errors, std::vector<std::string>(2, "interrupted"));
}

TEST_F(SessionTest, AStreamBesideAnotherIsTheSameEachTimeAndGoesOnWhileItWaits) {
  EXPECT_EQ(run(threads(2),
                [](Session& s, int rank) {
                  StreamId other = s.createStream(rank), beside = s.streamBeside(rank, other);
                  EXPECT_EQ(s.streamBeside(rank, other), beside);
                  EXPECT_NE(s.streamBeside(rank, 0), beside);
                  EXPECT_THROW(s.streamBeside(rank, 77), std::invalid_argument);
                  uint64_t word = s.allocate(rank, 64, false, true, "w", kPlace);
                  signalWait(s, rank, other, word, 1, Compare::Eq, 1, 8);
                  signalWrite(s, rank, beside, word, 1, 1, 8, SignalKind::Set);
                  s.synchronize(rank);
                }),
            none(2));
}

TEST_F(SessionTest, EventsStayValidAndWorkInACapture) {
  Stream own = nullptr;  // outlives the session that adopts it
  EXPECT_EQ(run(threads(1),
                [&](Session& s, int rank) {
                  StreamId a = s.createStream(rank), b = s.createStream(rank);
                  EXPECT_THROW(s.waitEvent(rank, a, 0), std::invalid_argument);
                  EXPECT_THROW(s.waitEvent(rank, a, 1), std::invalid_argument);
                  EventId first = s.recordEvent(rank, a);
                  for (int i = 0; i < 300; ++i) s.recordEvent(rank, a);
                  s.waitEvent(rank, b, first);
                  uint64_t word = s.allocate(rank, 64, false, true, "w", kPlace);
                  signalWait(s, rank, a, word, 1, Compare::Eq, 1, 8);
                  EventId held = s.recordEvent(rank, a);
                  s.waitEvent(rank, b, held);
                  s.set(rank, b, word + 8, 1, 1);
                  EXPECT_EQ(words(word)[1], 0u);
                  signalWrite(s, rank, 0, word, 1, 1, 8, SignalKind::Set);
                  s.synchronize(rank);
                  EXPECT_EQ(words(word)[1], 1u);

                  StreamId adopted = s.adoptStream(rank, 0);
                  EXPECT_EQ(s.adoptStream(rank, 0), adopted);
                  EXPECT_TRUE(s.hasStream(rank, adopted));
                  EXPECT_FALSE(s.hasStream(rank, adopted + 1));
                  EXPECT_EQ(driver().streamCreate(&own, 1), kSuccess);
                  StreamId captured = s.adoptStream(rank, reinterpret_cast<uint64_t>(own));
                  capture(own, true);
                  EventId inside = s.recordEvent(rank, captured);
                  s.waitEvent(rank, captured, inside);
                  for (int i = 0; i < 10; ++i) s.recordEvent(rank, captured);
                  s.releaseAsync(rank, captured, word);
                  EXPECT_THROW(s.synchronize(rank, captured), std::invalid_argument);
                  capture(own, false);
                  EXPECT_NE(s.allocate(rank, 64, false, false, "v", kPlace), word) << "a graph may still use it";
                }),
            none(1));
  EXPECT_EQ(driver().streamDestroy(own), kSuccess);
}

TEST_F(SessionTest, MemoryComesBackInStreamOrder) {
  EXPECT_EQ(run(threads(1),
                [](Session& s, int rank) {
                  uint64_t flag = s.allocate(rank, 64, false, true, "flag", kPlace),
                           a = s.allocate(rank, 4096, false, false, "a", kPlace);
                  StreamId stream = s.createStream(rank);
                  signalWait(s, rank, stream, flag, 1, Compare::Eq, 1, 8);
                  s.releaseAsync(rank, stream, a);
                  uint64_t b = s.allocate(rank, 4096, false, false, "b", kPlace);
                  EXPECT_NE(a, b) << "the stream has not come to the release";
                  signalWrite(s, rank, 0, flag, 1, 1, 8, SignalKind::Set);
                  s.synchronize(rank);
                  EXPECT_EQ(s.allocate(rank, 4096, false, false, "c", kPlace), a);
                  EXPECT_THROW(s.releaseAsync(rank, stream, 64), std::invalid_argument);
                  uint64_t symmetric = s.allocate(rank, 64, true, false, "s", kPlace);
                  EXPECT_THROW(s.releaseAsync(rank, stream, symmetric), std::invalid_argument);
                  s.release(rank, b, kPlace);
                }),
            none(1));
  EXPECT_EQ(session_->reports().size(), 0u);
}

TEST_F(SessionTest, RefusesOptionsThatDoNotFit) {
  auto error = [&](RanksOptions o) { return errorOf<std::exception>([&] { makeSession(o); }); };
  EXPECT_EQ(error({{.ranks = 0}}), "a run has at least 1 rank, not 0");
  EXPECT_EQ(error({{.ranks = 2, .rank = 2}}), "rank 2 is not one of 2");
  EXPECT_EQ(error({{.ranks = 2, .rank = 1}}), "ranks in processes of their own need the name of a rendezvous");
  EXPECT_EQ(error({{.ranks = 2, .devices = {0}}}), "1 devices are named for 2 ranks");
  EXPECT_EQ(error({{.ranks = 2, .devices = {0, 7}}}), "device 7 is not one of the 2");
  RanksOptions odd = threads(2);
  odd.heapStride = 12345;
  for (const std::string& e : run(odd, [](Session&, int) {}))
    EXPECT_NE(e.find("the heap stride 12345 is not a multiple of 2097152 bytes"), std::string::npos) << e;
}

class ProcessTest : public SessionTest {
 protected:
  // Runs a rank in a process of its own, which exits with the value of `body`, or with 90 after an error.
  pid_t rankProcess(int rank, int ranks, const std::function<int(Session&)>& body) {
    pid_t child = fork();
    if (child) return child;
    RanksOptions o;
    o.ranks = ranks;
    o.rank = rank;
    o.rendezvous = "session-test-" + std::to_string(getppid());
    o.devices = {rank % 2};
    o.heapStride = uint64_t(256) << 20;
    try {
      std::unique_ptr<Session> session = makeSession(o);
      session->enter(rank);
      int code = body(*session);
      session->leave(rank);
      _exit(code);
    } catch (const std::exception& e) {
      std::fprintf(stderr, "rank %d: %s\n", rank, e.what());
      _exit(90);
    }
  }
  int exitCode(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
};

TEST_F(ProcessTest, ProcessesShareTheHeap) {
  std::vector<pid_t> children;
  for (int rank = 0; rank < 3; ++rank)
    children.push_back(rankProcess(rank, 3, [rank](Session& s) {
      uint64_t a = s.allocate(rank, 4096, true, true, "a", kPlace);
      int next = (rank + 1) % 3;
      for (int round = 1; round <= 20; ++round) {
        signalWrite(s, rank, 0, s.peerAddress(rank, a, next), 1, Word(round), 8, SignalKind::Set);
        signalWait(s, rank, 0, a, 1, Compare::Ge, Word(round), 8);
        s.barrierOnStream(rank, 0, 0);
      }
      s.synchronize(rank);
      s.barrier(rank, 0);
      return words(a)[0] == 20 ? 10 + rank : 1;
    }));
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(exitCode(children[size_t(rank)]), 10 + rank);
}

TEST_F(ProcessTest, ADeadProcessEndsTheOthersWaits) {
  std::vector<pid_t> children;
  for (int rank = 0; rank < 3; ++rank)
    children.push_back(rankProcess(rank, 3, [rank](Session& s) {
      try {
        uint64_t a = s.allocate(rank, 64, true, true, "a", kPlace);
        if (rank == 2) raise(SIGKILL);
        signalWait(s, rank, 0, a, 1, Compare::Eq, 1, 8);
        s.synchronize(rank);
      } catch (const RunStopped& e) {
        return std::strncmp(e.what(), "rank 2 is gone", 14) ? 2 : s.reports().at(0).kind == "rank-gone" ? 20 : 3;
      }
      return 1;
    }));
  EXPECT_EQ(exitCode(children[2]), 128 + SIGKILL);
  EXPECT_EQ(exitCode(children[0]), 20);
  EXPECT_EQ(exitCode(children[1]), 20);
}

}  // namespace
}  // namespace tandem::runtime::cuda
