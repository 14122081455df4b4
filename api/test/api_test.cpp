// The C++ API and the C ABI as a program outside sees them: this test links the shared library only.
#include "tandem/ops.h"
#include "tandem/ops_c_api.h"
#include "tandem/tandem.h"
#include <gtest/gtest.h>
#include <stdexcept>

namespace tandem {
namespace {

constexpr char kHeader[] = "import tandem\nimport tandem.dist as dl\nimport tandem.language as tl\n\n@tandem.jit\n";

Kernel kernel(const std::string& body) { return Kernel::fromText(kHeader + body, "k.py"); }

Kernel addOne() { return kernel("def add_one(p):\n    tl.store(p, tl.load(p) + 1)\n"); }

template <class Exception> Exception thrownBy(const std::function<void(Team&)>& main, int ranks = 2) {
  try {
    launch(main, {.ranks = ranks});
  } catch (const Exception& e) {
    return e;
  }
  throw std::logic_error("nothing was thrown");
}

TEST(Launch, RunsMainOnceOnEachRank) {
  std::vector<int> seen(8);
  launch([&](Team& team) { seen[size_t(team.rank())] += team.size(); }, {.ranks = 8});
  EXPECT_EQ(seen, std::vector<int>(8, 8));
}

TEST(Launch, RethrowsTheExceptionOfARank) {
  auto main = [](Team& team) {
    if (team.rank() == 1) throw std::out_of_range("mine");
    team.barrier();
  };
  EXPECT_STREQ(thrownBy<std::out_of_range>(main).what(), "mine");
}

TEST(Launch, RefusesRankCounts) {
  EXPECT_THROW(launch([](Team&) {}, {.ranks = 0}), Error);
  EXPECT_THROW(launch([](Team&) {}, {.ranks = 100000}), Error);
  EXPECT_THROW(launch([](Team&) {}, {.ranks = 1, .slotsPerRank = 0}), Error);
}

TEST(Launch, SameSeedSameCounters) {
  auto run = [] {
    return launch([](Team& team) {
             Tensor x = team.zeros({4}, DType::Int32);
             for (int i = 0; i < 5; ++i) team.launch(addOne(), {.grid = {1, 1, 1}}, {x});
           }, {.ranks = 3, .seed = 7}).counters;
  };
  EXPECT_EQ(run(), run());
}

TEST(Errors, BadKernelTextShowsItsLine) {
  auto main = [](Team& team) {
    Tensor x = team.zeros({4}, DType::Int32);
    team.launch(kernel("def f(p):\n    tl.store(p, nothing)\n"), {}, {x});
  };
  std::string text = thrownBy<Error>(main, 1).what();
  EXPECT_NE(text.find("k.py:7:"), std::string::npos) << text;
  EXPECT_NE(text.find("`nothing`"), std::string::npos) << text;
  EXPECT_NE(text.find("^"), std::string::npos) << text;
}

TEST(Errors, MissingKernelAndFile) {
  EXPECT_THROW(Kernel::fromFile("/nowhere/k.py"), Error);
  auto main = [](Team& team) { team.launch(Kernel::fromText("x = 1\n", "k.py", "f"), {}, {}); };
  EXPECT_NE(std::string(thrownBy<Error>(main).what()).find("f"), std::string::npos);
}

TEST(Errors, WrongNumberOfArguments) {
  EXPECT_THROW(launch([](Team& team) { team.launch(addOne(), {}, {}); }, {.ranks = 1}), Error);
}

TEST(Errors, DeadlockIsASimulationError) {
  Kernel waits = kernel("def waits(p):\n    dl.wait(p, 1, \"sys\", \"acquire\", waitValue=1)\n");
  auto main = [&](Team& team) { team.launch(waits, {}, {team.zeros({1}, DType::Int64)}); };
  SimulationError e = thrownBy<SimulationError>(main);
  EXPECT_EQ(e.kinds, std::vector<std::string>{"deadlock"});
  EXPECT_NE(std::string(e.what()).find("k.py:7:"), std::string::npos) << e.what();
}

TEST(Errors, OutOfBounds) {
  auto main = [](Team& team) {
    Tensor x = team.zeros({1}, DType::Int32);
    x.address += 4;
    team.launch(addOne(), {}, {x});
    team.synchronize();
  };
  EXPECT_EQ(thrownBy<SimulationError>(main).kinds.front(), "out-of-bounds");
}

TEST(Streams, EventsOrderTwoStreams) {
  auto main = [](Team& team) {
    Tensor x = team.localZeros({1}, DType::Int32), y = team.localZeros({1}, DType::Int32);
    int other = team.newStream();
    team.launch(addOne(), {}, {x});
    team.waitEvent(team.recordEvent(0), other);
    team.copy(y, x, other);
    team.synchronize(other);
    EXPECT_EQ(*y.data<int32_t>(), 1);
  };
  for (uint64_t seed = 0; seed < 10; ++seed) launch(main, {.ranks = 2, .seed = seed});
}

TEST(Streams, SignalsBetweenRanks) {
  auto main = [](Team& team) {
    Tensor data = team.zeros({1000}, DType::Int32), flag = team.zeros({1}, DType::Int64);
    int next = (team.rank() + 1) % team.size();
    for (int i = 0; i < 1000; ++i) data.data<int32_t>()[i] = team.rank();
    Tensor got = team.zeros({1000}, DType::Int32);
    team.copy(team.peer(got, next), data);
    team.signalAdd(team.peer(flag, next), 3);
    team.signalWait(flag, Compare::Ge, 3);
    team.signalWrite(flag, 0);
    team.synchronize();
    EXPECT_EQ(got.data<int32_t>()[999], (team.rank() + team.size() - 1) % team.size());
  };
  for (uint64_t seed = 0; seed < 10; ++seed) EXPECT_TRUE(launch(main, {.ranks = 4, .seed = seed}).warnings.empty());
}

TEST(Streams, WrongNumbersAreErrors) {
  EXPECT_THROW(launch([](Team& t) { t.copy(t.zeros({1}, DType::Int32), t.zeros({2}, DType::Int32)); }, {.ranks = 1}),
               Error);
  EXPECT_THROW(launch([](Team& t) { t.synchronize(7); }, {.ranks = 1}), Error);
  EXPECT_THROW(launch([](Team& t) { t.launch(addOne(), {.stream = 9}, {t.zeros({1}, DType::Int32)}); }, {.ranks = 1}),
               Error);
  EXPECT_THROW(launch([](Team& t) { t.waitEvent(t.recordEvent(5), 0); }, {.ranks = 1}), Error);
  EXPECT_THROW(launch([](Team& t) { t.waitEvent(12345, 0); }, {.ranks = 1}), Error);
  EXPECT_THROW(launch([](Team& t) { t.peer(t.zeros({1}, DType::Int32), 9); }, {.ranks = 1}), Error);
}

TEST(Ops, WrongShapesNameBothSizes) {
  auto main = [](Team& team) {
    ops::AllGatherGemm op(team, 8, 4, 4, DType::Float32);
    Tensor wrong = team.localZeros({3, 4}, DType::Float32), c = team.localZeros({8, 4}, DType::Float32);
    op.run(wrong, team.localZeros({4, 4}, DType::Float32), c, 8);
  };
  EXPECT_STREQ(thrownBy<Error>(main).what(), "`ag_gemm`: `a` has shape [3, 4], [4, 4] is needed");
}

TEST(CApi, GarbageIsRefusedWithAReason) {
  td_session* session = nullptr;
  for (const char* text : {"", "nonsense", "[]", "{\"ranks\": \"four\"}", "{\"ranks\": -1}"}) {
    EXPECT_NE(td_session_create(text, &session), 0) << text;
    EXPECT_STRNE(td_last_error(), "") << text;
  }
  EXPECT_EQ(session, nullptr);
  td_program* program = nullptr;
  for (const char* text : {"", "nonsense", "{}", "[1, 2]", "{\"source\": 3}"})
    EXPECT_NE(td_compile(text, &program), 0) << text;
  char* out = nullptr;
  EXPECT_NE(td_emit("{}", "nowhere", &out), 0);
}

TEST(CApi, NullsAreRefused) {
  td_session* session = nullptr;
  EXPECT_NE(td_session_create(nullptr, &session), 0);
  EXPECT_NE(td_session_create("{}", nullptr), 0);
  td_program* program = nullptr;
  EXPECT_NE(td_compile(nullptr, &program), 0);
  EXPECT_NE(td_compile("{}", nullptr), 0);
  EXPECT_NE(td_enter(nullptr, 0), 0);
  EXPECT_NE(td_launch(nullptr, 0, 0, nullptr, 1, 1, 1, 4, nullptr, 0, nullptr, 0), 0);
  EXPECT_STRNE(td_last_error(), "");
  td_session_destroy(nullptr);
  td_program_release(nullptr);
  td_ag_gemm_destroy(nullptr);
  td_free(nullptr);
}

TEST(CApi, RanksAndStreamsAreChecked) {
  td_session* session = nullptr;
  ASSERT_EQ(td_session_create("{\"ranks\": 1}", &session), 0);
  EXPECT_NE(td_enter(session, 1), 0);
  EXPECT_NE(td_enter(session, -1), 0);
  ASSERT_EQ(td_enter(session, 0), 0);
  uint64_t address = 0;
  EXPECT_NE(td_allocate(session, 5, 16, 0, 1, "x", "", 0, &address), 0);
  EXPECT_EQ(td_allocate(session, 0, 16, 0, 1, nullptr, nullptr, 0, &address), 0);
  EXPECT_NE(td_copy(session, 0, 3, address, address, 4), 0);
  EXPECT_NE(td_launch(session, 0, 0, nullptr, 1, 1, 1, 4, nullptr, 0, "", 0), 0);
  EXPECT_NE(td_signal_write(session, 0, 0, address, 1, 3, 0), 0);
  EXPECT_NE(td_signal_wait(session, 0, 0, address, 99, 1, 8), 0);
  int team = 0, members[] = {0, 4};
  EXPECT_NE(td_create_team(session, 0, members, 2, &team), 0);
  EXPECT_NE(td_wait_event(session, 0, 0, 1), 0);
  EXPECT_EQ(td_leave(session, 0), 0);
  td_session_destroy(session);
}

TEST(CApi, UnknownTeamStopsTheRun) {
  td_session* session = nullptr;
  ASSERT_EQ(td_session_create("{\"ranks\": 1}", &session), 0);
  ASSERT_EQ(td_enter(session, 0), 0);
  EXPECT_NE(td_barrier(session, 0, 42), 0);
  td_abort(session, 0, nullptr);
  td_session_destroy(session);
}

}  // namespace
}  // namespace tandem
