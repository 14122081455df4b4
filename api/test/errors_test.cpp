// Kernels, sizes and arguments that the C++ API refuses, and errors of kernels that it throws.
#include "api/test/program.h"
#include <gtest/gtest.h>
#include <limits>

namespace tandem {
namespace {

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

}  // namespace
}  // namespace tandem
