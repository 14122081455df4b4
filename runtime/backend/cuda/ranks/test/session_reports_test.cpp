// How sessions on the fake driver end when something is wrong: one error for all ranks, which says where.
#include "abi/dist_context.h"
#include "runtime/backend/cuda/context_registry.h"
#include "runtime/backend/cuda/ranks/test/session_fixture.h"
#include "runtime/ranks/test/one_signal.h"
#include <barrier>

namespace tandem::runtime::cuda {
namespace {

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

}  // namespace
}  // namespace tandem::runtime::cuda
