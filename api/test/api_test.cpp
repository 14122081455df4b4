// The C++ API as a program outside sees it: this test links the shared library only.
#include "tandem/ops.h"
#include "tandem/tandem.h"
#include <algorithm>
#include <cerrno>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <limits>
#include <pthread.h>
#include <set>
#include <stdexcept>

namespace {
int threadsLeft = -1;  // that may still be made; -1: any number
}

// The sanitizers' own, which must know of every thread.
extern "C" __attribute__((weak)) int __interceptor_pthread_create(pthread_t*, const pthread_attr_t*, void* (*)(void*),
                                                                  void*);

extern "C" __attribute__((visibility("default"))) int pthread_create(pthread_t* thread,
                                                                     const pthread_attr_t* attributes,
                                                                     void* (*body)(void*), void* argument) {
  static const auto create = __interceptor_pthread_create
                                 ? __interceptor_pthread_create
                                 : reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  if (threadsLeft == 0) return EAGAIN;
  threadsLeft -= threadsLeft > 0;
  return create(thread, attributes, body, argument);
}

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

TEST(Launch, SaysWhenThereAreTooFewThreads) {
  for (int left : {0, 1, 2}) {
    threadsLeft = left;
    std::string why = thrownBy<Error>([](Team& team) { team.barrier(); }, 3).what();
    threadsLeft = -1;
    EXPECT_TRUE(why.starts_with("cannot start a thread for rank " + std::to_string(left) + ": ")) << why;
  }
}

TEST(Launch, RefusesRankCounts) {
  EXPECT_THROW(launch([](Team&) {}, {.ranks = 0}), Error);
  EXPECT_THROW(launch([](Team&) {}, {.ranks = 100000}), Error);
  EXPECT_THROW(launch([](Team&) {}, {.ranks = 1, .slotsPerRank = 0}), Error);
}

TEST(Launch, EndsWhatGoesOnForEver) {
  auto polls = [](Team& team) {
    for (;;) team.synchronize();
  };
  for (const RunOptions& limit :
       {RunOptions{.ranks = 2, .maxSteps = 1000}, RunOptions{.ranks = 2, .timeoutSeconds = 0.1}}) {
    try {
      launch(polls, limit);
      ADD_FAILURE() << "it ended by itself";
    } catch (const SimulationError& error) {
      EXPECT_EQ(error.kinds.front(), "limit-exceeded");
    }
  }
}

TEST(Launch, SameSeedSameCounters) {
  auto run = [] {
    return launch(
               [](Team& team) {
                 Tensor x = team.zeros({4}, DType::Int32);
                 for (int i = 0; i < 5; ++i) team.launch(addOne(), {.grid = {1, 1, 1}}, {x});
               },
               {.ranks = 3, .seed = 7})
        .counters;
  };
  EXPECT_EQ(run(), run());
}

// One kernel for all of these: each has its own compilation.
TEST(Launch, TellsConstantsAndTypesOfArgumentsApart) {
  Kernel put = kernel("def put(p, n, V: tl.constexpr, W: tl.constexpr):\n    tl.store(p, n * V + W)\n");
  auto main = [&](Team& team) {
    Tensor ints = team.zeros({8}, DType::Int64), floats = team.zeros({1}, DType::Float32);
    int64_t next = 0;
    auto given = [&](Argument n, const Constants& constants) {
      Tensor place{ints.address + uint64_t(8 * next++), {1}, DType::Int64};
      team.launch(put, {}, {place, n}, constants);
    };
    given(2, {{"V", 3}, {"W", 1}});
    given(2, {{"V", 1}, {"W", 3}});
    given(2, {{"W", 1}, {"V", 3}});
    given(int64_t(1) << 40, {{"V", 3}, {"W", 1}});
    given(2, {{"V", true}, {"W", 1}});
    given(2, {{"V", 3}, {"W", 5}});
    team.launch(put, {}, {floats, 2.5}, {{"V", 3}, {"W", .25}});
    team.synchronize();
    const int64_t* seen = ints.data<int64_t>();
    EXPECT_EQ(std::vector<int64_t>(seen, seen + 6), (std::vector<int64_t>{7, 5, 7, (int64_t(3) << 40) + 1, 3, 11}));
    EXPECT_EQ(*floats.data<float>(), 7.75F);
  };
  launch(main, {.ranks = 1});
}

TEST(Launch, ConstantsKeepTheFirstValueUnlessSet) {
  Constants all = {{"V", 1}};
  all.insert({{"V", 2}, {"W", 3}});
  all["W"] = 4;
  all["X"] = true;
  std::vector<std::pair<std::string, Constant>> wanted = {{"V", 1}, {"W", 4}, {"X", true}};
  EXPECT_TRUE(std::ranges::equal(all, wanted));
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
  EXPECT_THROW(Kernel::fromFile("/"), Error);
  auto main = [](Team& team) { team.launch(Kernel::fromText("x = 1\n", "k.py", "f"), {}, {}); };
  EXPECT_NE(std::string(thrownBy<Error>(main).what()).find("f"), std::string::npos);
}

TEST(Errors, SizesThatNoArrayHas) {
  auto words = [](std::vector<int64_t> shape) {
    return std::string(thrownBy<Error>([&](Team& team) { team.zeros(shape, DType::Float32, "x"); }).what());
  };
  EXPECT_EQ(words({4, -2}), "array `x` has the negative size -2");
  EXPECT_EQ(words({int64_t(1) << 40, int64_t(1) << 40}), "array `x` has more bytes than 64 bits can count");
}

TEST(Errors, WrongNumberOfArguments) {
  EXPECT_THROW(launch([](Team& team) { team.launch(addOne(), {}, {}); }, {.ranks = 1}), Error);
}

TEST(Errors, ArgumentsAndConstantsAreTheCalls) {
  Kernel fill =
      kernel("def fill(p, n, BLOCK: tl.constexpr):\n    i = tl.arange(0, BLOCK)\n    tl.store(p + i, 1, mask=i < n)\n");
  auto words = [&](std::vector<Argument> more, Constants constants) {
    return std::string(thrownBy<Error>([&](Team& team) {
                         std::vector<Argument> arguments{team.zeros({4}, DType::Int32)};
                         arguments.insert(arguments.end(), more.begin(), more.end());
                         team.launch(fill, {}, arguments, constants);
                       }).what());
  };
  EXPECT_EQ(words({4}, {}), "error: constexpr parameter `BLOCK` of `fill` has no value; give it in `constants`\n");
  EXPECT_EQ(words({}, {{"BLOCK", 4}}), "error: parameter `n` of `fill` has no argument: 1 argument given\n");
  EXPECT_EQ(words({4, 5}, {{"BLOCK", 4}}), "error: `fill` takes 2 arguments beside its constants, 3 given\n");
  EXPECT_EQ(words({4}, {{"BLOCK", "\xff"}}), "constant `BLOCK` is not UTF-8 text");
  EXPECT_EQ(words({4}, {{"BLOCK", std::numeric_limits<double>::infinity()}}),
            "constant `BLOCK` is inf, a finite number is needed");
  EXPECT_EQ(words({4}, {{"BLOCK", DType(77)}}), "element type number 77 is unknown");
}

TEST(Errors, WhatNoGridHas) {
  auto words = [](std::array<int, 3> grid) {
    auto main = [=](Team& team) { team.launch(addOne(), {.grid = grid}, {team.zeros({1}, DType::Int32)}); };
    return std::string(thrownBy<Error>(main).what());
  };
  EXPECT_EQ(words({1 << 30, 1 << 15, 16}), "a grid of more than 2147483647 programs");
  EXPECT_EQ(words({1, 65536, 1}),
            "kernel `add_one`: the grid has size 65536 in dimension 1, at most 65535 is possible");
  EXPECT_EQ(words({1, 1, -1}), "kernel `add_one`: the grid has a negative size");
}

TEST(Errors, HostCopiesStayWithinTheirArray) {
  auto main = [](bool toHost, Tensor x) {
    return [=](Team& team) mutable {
      if (x.address) x.address = team.zeros({2}, DType::Int32, "x").address;
      std::vector<int32_t> host(4);
      if (toHost)
        team.copyToHost(host.data(), x);
      else
        team.copyFromHost(x, host.data());
      team.synchronize();
    };
  };
  for (bool toHost : {false, true}) {
    EXPECT_EQ(thrownBy<SimulationError>(main(toHost, {1, {4}, DType::Int32})).kinds.front(), "out-of-bounds");
    EXPECT_EQ(thrownBy<SimulationError>(main(toHost, {0, {4}, DType::Int32})).kinds.front(), "out-of-bounds");
    EXPECT_STREQ(thrownBy<Error>(main(toHost, {1, {-4}, DType::Int32})).what(),
                 toHost ? "array `source` has the negative size -4" : "array `dest` has the negative size -4");
  }
  auto unwritten = [](Team& team) {
    int32_t host = 0;
    team.copyToHost(&host, team.empty({1}, DType::Int32, "x"));
    team.synchronize();
  };
  EXPECT_EQ(thrownBy<SimulationError>(unwritten).kinds.front(), "uninitialised-read");
}

TEST(Errors, WhatIsGatheredIsText) {
  auto words = [](const std::string& text) {
    return std::string(thrownBy<Error>([&](Team& team) { team.gather(text); }).what());
  };
  EXPECT_EQ(words("\xff"), "what is gathered is not UTF-8 text");
  EXPECT_EQ(words(std::string("a\0b", 3)), "what is gathered contains a NUL");
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

TEST(Streams, EachHasOneBesideItThatGoesOnMeanwhile) {
  auto main = [](Team& team) {
    int other = team.newStream(), beside = team.streamBeside(0);
    EXPECT_EQ(team.streamBeside(0), beside);
    EXPECT_EQ(std::set({0, other, beside, team.streamBeside(other), team.streamBeside(beside)}).size(), 5u);
    EXPECT_THROW(team.streamBeside(77), Error);
    Tensor flag = team.zeros({1}, DType::Int64);
    team.signalWait(flag, Compare::Eq, 1);
    team.signalWrite(flag, 1, beside);
    team.synchronize();
  };
  launch(main, {.ranks = 2});
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

TEST(Streams, OnlySymmetricMemoryHasPeers) {
  auto words = [](const std::function<Tensor(Team&)>& make) {
    return std::string(thrownBy<Error>([&](Team& team) { team.peer(make(team), 0); }, 1).what());
  };
  EXPECT_EQ(words([](Team& team) { return team.localZeros({1}, DType::Int32, "mine"); }),
            "`mine` of rank 0 is not in rank 0's symmetric memory");
  EXPECT_EQ(words([](Team&) { return Tensor{}; }), "address 0x0 is not in rank 0's symmetric memory");
  auto ofPeer = [](Team& team) { team.peer(team.peer(team.zeros({1}, DType::Int32, "x"), 1 - team.rank()), 0); };
  EXPECT_NE(std::string(thrownBy<Error>(ofPeer).what()).find("'s symmetric memory"), std::string::npos);
}

TEST(Streams, ColumnsWithinTheMatrix) {
  auto main = [](Team& team) {
    Tensor x = team.zeros({4, 4}, DType::Int32);
    team.copyColumns(x, x, 1, std::numeric_limits<int64_t>::max());
  };
  EXPECT_STREQ(thrownBy<Error>(main).what(), "9223372036854775807 columns from column 1 of a matrix of 4");
}

TEST(Streams, SignalsOfAWholeTensor) {
  auto main = [](Team& team) {
    Tensor flags = team.zeros({5}, DType::Int32);
    int next = (team.rank() + 1) % team.size(), writer = team.newStream();
    team.signalWait(flags, Compare::Eq, 9);
    team.signalWrite(team.peer(flags, next), 4, writer);
    team.signalAdd(team.peer(flags, next), 5, writer);
    team.synchronize();
    for (int i = 0; i < 5; ++i) EXPECT_EQ(flags.data<int32_t>()[i], 9);
    team.signalWrite(flags, 0);
  };
  for (uint64_t seed = 0; seed < 10; ++seed) EXPECT_TRUE(launch(main, {.ranks = 3, .seed = seed}).warnings.empty());
}

TEST(Streams, OneSignalOfATensorIsOne) {
  auto main = [](Team& team) {
    Tensor flags = team.zeros({3}, DType::Int64), middle{flags.address + 8, {1}, DType::Int64},
           none{flags.address, {0}, DType::Int64};
    team.signalWrite(middle, 7);
    team.signalWait(none, Compare::Eq, 1);
    team.synchronize();
    EXPECT_EQ(std::vector<int64_t>(flags.data<int64_t>(), flags.data<int64_t>() + 3), (std::vector<int64_t>{0, 7, 0}));
    team.signalWrite(flags, 0);
  };
  launch(main, {.ranks = 1});
}

TEST(Streams, HostCopiesAndFill) {
  auto main = [](Team& team) {
    std::vector<int32_t> in = {1, 2, 3, 4}, out(4), filled(4);
    Tensor x = team.empty({4}, DType::Int32), y = team.empty({4}, DType::Int32);
    team.copyFromHost(x, in.data());
    team.launch(addOne(), {}, {x});
    team.copyToHost(out.data(), x);
    team.fill(y, 0x11);
    team.copyToHost(filled.data(), y);
    team.synchronize();
    EXPECT_EQ(out, (std::vector<int32_t>{2, 2, 3, 4}));
    EXPECT_EQ(filled, std::vector<int32_t>(4, 0x11111111));
  };
  launch(main, {.ranks = 2, .check = true});
}

TEST(Targets, ASimulatedRankSaysSo) {
  launch([](Team& team) { EXPECT_EQ(team.target(), "sim"); }, {.ranks = 2});
}

TEST(Targets, ACooperativeLaunchMustFit) {
  auto main = [](Team& team) {
    team.launch(addOne(), {.grid = {100, 2, 1}, .cooperative = true}, {team.zeros({1}, DType::Int32)});
  };
  EXPECT_STREQ(thrownBy<Error>(main, 1).what(), "a cooperative launch of 200 programs on a rank that has room for 132");
  launch([](Team& team) { team.launch(addOne(), {.cooperative = true}, {team.zeros({1}, DType::Int32)}); },
         {.ranks = 1});
}

TEST(Targets, UnknownOnesAreNamed) {
  try {
    launch([](Team&) {}, {.target = "tpu"});
    FAIL() << "nothing was thrown";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "`target` is `tpu`; it is one of sim, cuda");
  }
}

TEST(Targets, TheSimulatorsCheckerIsNotOfGpus) {
  try {
    launch([](Team&) {}, {.check = true, .target = "cuda"});
    FAIL() << "nothing was thrown";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "`check` is the simulator's: only a simulated run has it");
  }
}

TEST(Ops, ClosedOnesSaySo) {
  constexpr DType kType = DType::Float32;
  auto words = [](const std::function<void(Team&, const Tensor& full, const Tensor& part)>& main) {
    return std::string(thrownBy<Error>([&](Team& team) {
                         main(team, team.localZeros({8, 4}, kType), team.localZeros({4, 4}, kType));
                       }).what());
  };
  auto closed = [](auto& op) {
    op.close();
    op.close();
  };
  EXPECT_EQ(words([&](Team& team, const Tensor& full, const Tensor&) {
              ops::AllReduce op(team, 32, kType);
              closed(op);
              op.run(full, full);
            }),
            "`all_reduce` is closed");
  EXPECT_EQ(words([&](Team& team, const Tensor& full, const Tensor& part) {
              ops::ReduceScatter op(team, 8, 4, kType);
              closed(op);
              op.run(full, part, 8);
            }),
            "`reduce_scatter` is closed");
  EXPECT_EQ(words([&](Team& team, const Tensor& full, const Tensor& part) {
              ops::AllGather op(team, 8, 4, kType);
              closed(op);
              op.run(part, full, 8);
            }),
            "`all_gather` is closed");
  EXPECT_EQ(words([&](Team& team, const Tensor& full, const Tensor& part) {
              ops::GemmAllReduce op(team, 8, 4, 4, kType);
              closed(op);
              op.run(full, part, full, 8);
            }),
            "`gemm_ar` is closed");
  EXPECT_EQ(words([&](Team& team, const Tensor& full, const Tensor& part) {
              ops::AllGatherGemm op(team, 8, 4, 4, kType);
              closed(op);
              op.run(part, part, full, 8);
            }),
            "`ag_gemm` is closed");
  EXPECT_EQ(words([&](Team& team, const Tensor& full, const Tensor& part) {
              ops::GemmReduceScatter op(team, 8, 4, 4, kType);
              closed(op);
              op.run(full, part, part, 8);
            }),
            "`gemm_rs` is closed");
}

TEST(Ops, SizesThatNobodyHas) {
  auto words = [](const std::function<void(Team&)>& main) { return std::string(thrownBy<Error>(main).what()); };
  constexpr int64_t kLarge = int64_t(1) << 40;
  EXPECT_EQ(words([](Team& team) { ops::AllReduce(team, kLarge, DType::Float32); }),
            "`all_reduce`: 1099511627776 times 1 elements of fp32 are more than 2**40 bytes");
  EXPECT_EQ(words([](Team& team) { ops::ReduceScatter(team, kLarge, kLarge, DType::Float16); }),
            "`reduce_scatter`: 1099511627776 times 1099511627776 elements of fp16 are more than 2**40 bytes");
  EXPECT_EQ(words([](Team& team) { ops::AllGather(team, kLarge, kLarge, DType::Int8); }),
            "`all_gather`: 1099511627776 times 1099511627776 elements of i8 are more than 2**40 bytes");
  EXPECT_EQ(words([](Team& team) { ops::GemmAllReduce(team, kLarge, 16, 16, DType::Float32); }),
            "`gemm_ar`: 1099511627776 times 16 elements of fp32 are more than 2**40 bytes");
  EXPECT_EQ(words([](Team& team) { ops::AllReduce(team, 8, DType::Float32, {.way = ops::AllReduceWay(9)}); }),
            "`all_reduce`: there is no way 9");
}

TEST(Ops, WrongShapesNameBothSizes) {
  auto main = [](Team& team) {
    ops::AllGatherGemm op(team, 8, 4, 4, DType::Float32);
    Tensor wrong = team.localZeros({3, 4}, DType::Float32), c = team.localZeros({8, 4}, DType::Float32);
    op.run(wrong, team.localZeros({4, 4}, DType::Float32), c, 8);
  };
  EXPECT_STREQ(thrownBy<Error>(main).what(), "`ag_gemm`: `a` has shape [3, 4], [4, 4] is needed");
}

}  // namespace
}  // namespace tandem
