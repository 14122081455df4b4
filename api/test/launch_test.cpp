// Runs of the C++ API as a program outside sees them: threads, limits, targets, constants.
#include "api/test/program.h"
#include <cerrno>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>

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

}  // namespace
}  // namespace tandem
