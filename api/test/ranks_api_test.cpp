// The C++ API and the C ABI with ranks on GPUs, on the fake driver, whose device memory is memory of this process.
#include "tandem/tandem.h"
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tandem {
namespace {

class RanksApi : public testing::Test {
 protected:
  RanksApi() { setenv("TANDEM_CUDA_DRIVER", TANDEM_FAKE_CUDA, 1); }

  static std::string refusal(const std::function<void()>& body) {
    try {
      body();
    } catch (const Error& e) {
      return e.what();
    }
    return "nothing was thrown";
  }
  static std::string lastErrorOf(int status) { return status ? td_last_error() : "it worked"; }
};

RunOptions onOneGpu() { return {.ranks = 1, .target = "cuda", .devices = {0}}; }

td_program* simulated() {
  nlohmann::json request = {
      {"kernel", "one"},
      {"module", {{"file", "k.py"}, {"source", "@tandem.jit\ndef one(p):\n    tl.store(p, 1)\n"}}},
      {"arguments", {{{"name", "p"}, {"type", "*i32"}}}},
      {"options", {{"num_warps", 4}}}};
  request["module"]["source"] =
      "import tandem\nimport tandem.language as tl\n\n" + request["module"]["source"].get<std::string>();
  td_program* program = nullptr;
  if (td_compile(request.dump().c_str(), &program)) throw Error(td_last_error());
  return program;
}

TEST_F(RanksApi, RethrowsTheExceptionOfARank) {
  auto main = [](Team& team) {
    if (team.rank() == 1) throw std::out_of_range("mine");
    team.barrier();
  };
  try {
    launch(main, {.ranks = 2, .target = "cuda", .waitTimeoutMs = 20000});
    FAIL() << "nothing was thrown";
  } catch (const std::out_of_range& e) {
    EXPECT_STREQ(e.what(), "mine");
  }
  auto leaves = [](Team& team) {
    if (team.rank() == 1) team.barrier();
  };
  EXPECT_THROW(launch(leaves, {.ranks = 2, .target = "cuda", .waitTimeoutMs = 20000}), SimulationError);
}

TEST_F(RanksApi, CopiesFillsAndSignals) {
  std::vector<int32_t> out(4), filled(2);
  std::string target;
  RunReport report = launch(
      [&](Team& team) {
        target = team.target();
        EXPECT_EQ(team.residentPrograms(), 132);
        std::vector<int32_t> in = {1, 2, 3, 4};
        Tensor x = team.empty({4}, DType::Int32), y = team.zeros({4}, DType::Int32),
               flags = team.zeros({3}, DType::Int64);
        team.copyFromHost(x, in.data());
        team.copy(y, x);
        team.copyToHost(out.data(), y);
        team.signalWrite(flags, 5);
        team.signalWait(flags, Compare::Eq, 5);
        team.fill(y, 0x22);
        Tensor half{y.address, {2}, DType::Int32};
        team.copyToHost(filled.data(), half);
        team.synchronize();
        team.barrier();
      },
      onOneGpu());
  EXPECT_EQ(target, "sm_90a");
  EXPECT_EQ(out, (std::vector<int32_t>{1, 2, 3, 4}));
  EXPECT_EQ(filled, std::vector<int32_t>(2, 0x22222222));
  EXPECT_EQ(report.counters, "");
  EXPECT_TRUE(report.warnings.empty());
}

TEST_F(RanksApi, CodeOfTheSimulatorIsRefusedWithBothNames) {
  std::unique_ptr<td_program, void (*)(td_program*)> program(simulated(), td_program_release);
  auto main = [&](Team& team) {
    uint64_t address = team.zeros({4}, DType::Int32).address;
    EXPECT_EQ(lastErrorOf(td_launch(team.session(), 0, 0, program.get(), 1, 1, 1, 4, 0, &address, 1, "", 0)),
              "kernel `one` is compiled for `sim`, but rank 0 runs code for `sm_90a`");
  };
  launch(main, onOneGpu());
}

TEST_F(RanksApi, WhatOnlySimulatedRunsHave) {
  auto main = [&](Team& team) {
    td_session* s = team.session();
    char* text = nullptr;
    EXPECT_EQ(lastErrorOf(td_counters(s, &text)), "only a simulated run has counters");
    EXPECT_EQ(lastErrorOf(td_first_difference(s, s, &text)), "only a simulated run has logged stores");
    EXPECT_EQ(text, nullptr);
    uint64_t address = team.zeros({4}, DType::Int32).address;
    EXPECT_EQ(td_mark_initialised(s, address, 16), 0);
    EXPECT_EQ(td_host_place(s, 0, "main.c", 12), 0);
    EXPECT_NE(td_host_place(s, 7, "main.c", 12), 0);
    EXPECT_EQ(td_host_access(s, 0, address, 16, 1), 0);
    EXPECT_NE(td_host_access(s, 7, address, 16, 1), 0);
  };
  launch(main, onOneGpu());
}

TEST_F(RanksApi, TracesAreMeasured) {
  RunOptions options = onOneGpu();
  auto main = [](Team& team) {
    Tensor x = team.zeros({16}, DType::Int32), y = team.zeros({16}, DType::Int32);
    team.copy(y, x);
  };
  char* text = nullptr;
  auto untraced = [&](Team& team) {
    const std::string why = "the run was not traced: its session is made without `trace`";
    EXPECT_EQ(lastErrorOf(td_chrome_trace(team.session(), &text)), why);
    EXPECT_EQ(lastErrorOf(td_timeline(team.session(), 80, &text)), why);
    EXPECT_EQ(lastErrorOf(td_trace_summary(team.session(), &text)), why);
  };
  RunReport without = launch(untraced, options);
  EXPECT_EQ(without.chromeTrace + without.timeline, "");

  options.trace = true;
  RunReport with = launch(main, options);
  nlohmann::json trace = nlohmann::json::parse(with.chromeTrace);
  EXPECT_EQ(trace["otherData"]["clock"], "measured");
  EXPECT_NE(with.chromeTrace.find("\"name\":\"copy on the device\""), std::string::npos);
  EXPECT_NE(with.timeline.find("rank 0  compute"), std::string::npos);
  EXPECT_EQ(with.timeline.find("modelled"), std::string::npos);

  std::string file = testing::TempDir() + "tandem_trace.json";
  setenv("TANDEM_TRACE", file.c_str(), 1);
  launch(main, onOneGpu());
  unsetenv("TANDEM_TRACE");
  std::ifstream in(file);
  std::string written{std::istreambuf_iterator<char>(in), {}};
  std::filesystem::remove(file);
  char* read = nullptr;
  ASSERT_EQ(td_read_trace(written.c_str(), 60, &read), 0) << td_last_error();
  nlohmann::json described = nlohmann::json::parse(read);
  td_free(read);
  EXPECT_EQ(described["summary"]["ranks"][0]["bytes"], 64);
  EXPECT_EQ(lastErrorOf(td_read_trace("{}", 60, &text)).find("not a trace that Tandem wrote"), 0u);
  EXPECT_EQ(lastErrorOf(td_read_trace(written.c_str(), 0, &text)), "`width` is 0; it is 1 to 10000");
  EXPECT_EQ(text, nullptr);

  setenv("TANDEM_TRACE", "/no/such/folder/t.json", 1);
  EXPECT_EQ(refusal([&] { launch(main, onOneGpu()); }),
            "cannot write `/no/such/folder/t.json`: No such file or directory");
  unsetenv("TANDEM_TRACE");
}

// The image in a cache folder of its own, whatever the fake driver says to it.
std::string compiledBy(const std::function<void(Team&)>& launchOnce) {
  std::string folder = testing::TempDir() + "tandem-XXXXXX";
  if (!mkdtemp(folder.data())) throw std::runtime_error("no folder for the cache");
  setenv("TANDEM_CACHE_DIR", folder.c_str(), 1);
  std::string why, images;
  try {
    launch(launchOnce, onOneGpu());
  } catch (const Error& e) {
    why = e.what();
  }
  unsetenv("TANDEM_CACHE_DIR");
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder))
    if (file.is_regular_file()) {
      std::ifstream in(file.path(), std::ios::binary);
      images.append(std::istreambuf_iterator<char>(in), {});
    }
  std::filesystem::remove_all(folder);
  return images.empty() ? why : images;
}

TEST_F(RanksApi, MultiplesOf16ArePromised) {
  const std::string text =
      "import tandem\nimport tandem.language as tl\n\n@tandem.jit\ndef copy(to, source, first, N: tl.constexpr):\n"
      "    at = first + tl.arange(0, N)\n    tl.store(to + at, tl.load(source + at))\n";
  auto compiled = [&](uint64_t shift, int64_t first) {
    return compiledBy([&](Team& team) {
      Tensor to = team.zeros({2048}, DType::Float32), source = team.zeros({2048}, DType::Float32);
      source.address += shift;
      team.launch(Kernel::fromText(text, "k.py"), {}, {to, source, first}, {{"N", int64_t(1024)}});
    });
  };
  std::string promised = compiled(0, 32);
  EXPECT_NE(promised.find("ld.global.v4"), std::string::npos) << promised;
  EXPECT_NE(promised.find("st.global.v4"), std::string::npos);
  EXPECT_EQ(compiled(4, 32).find("ld.global.v4"), std::string::npos);
  EXPECT_EQ(compiled(0, 33).find("st.global.v4"), std::string::npos);
}

TEST_F(RanksApi, AStreamIsAdoptedOnce) {
  auto main = [](Team& team) {
    int one = -1, again = -1, other = -1;
    ASSERT_EQ(td_adopt_stream(team.session(), 0, 0x70, &one), 0);
    ASSERT_EQ(td_adopt_stream(team.session(), 0, 0x80, &other), 0);
    ASSERT_EQ(td_adopt_stream(team.session(), 0, 0x70, &again), 0);
    EXPECT_EQ(one, again);
    EXPECT_NE(one, other);
  };
  launch(main, onOneGpu());
}

TEST_F(RanksApi, AProcessByItselfJoinsAlone) {
  for (const char* name : {"RANK", "WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}) unsetenv(name);
  JoinedRank rank = joinFromEnvironment();
  EXPECT_EQ(rank.team().rank(), 0);
  EXPECT_EQ(rank.team().size(), 1);
  EXPECT_EQ(rank.team().target(), "sm_90a");
  JoinedRank moved = std::move(rank);
  moved.leave();
  moved.leave();
}

TEST_F(RanksApi, AWrongEnvironmentIsAnError) {
  setenv("RANK", "3", 1);
  setenv("WORLD_SIZE", "2", 1);
  EXPECT_EQ(refusal([] { joinFromEnvironment(); }), "`RANK` is 3, but there are 2 ranks");
  unsetenv("RANK");
  unsetenv("WORLD_SIZE");
}

}  // namespace
}  // namespace tandem
