#include "model/machine.h"
#include <gtest/gtest.h>

namespace tandem::model {
namespace {

const char* const kProfile = R"({"version": 2, "device": "GPU A", "ranks": 4, "copy_gbps": 100.0, "copy_us": 9.5,
  "store_gbps": {"1": 20, "64": 300.5, "32": 200}, "load_gbps": {}, "signal_round_trip_us": 4, "launch_us": 2,
  "gemm_bf16_tflops": 384, "gemm_alone_ratio": 1.5})";

std::string wrong(const std::string& members) {
  try {
    readMachine(R"({"version": 2, "device": "G", )" + members + "}");
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

TEST(Profile, IsReadAndWhatItLacksIsTheGpus) {
  Machine machine = readMachine(kProfile);
  EXPECT_EQ(machine.device, "GPU A");
  EXPECT_EQ(machine.ranks, 4);
  EXPECT_TRUE(machine.measured);
  EXPECT_DOUBLE_EQ(machine.copyBytes(), 100e3);
  EXPECT_DOUBLE_EQ(machine.copyUs, 9.5);
  EXPECT_DOUBLE_EQ(machine.storeBytes(), 300.5e3);
  EXPECT_DOUBLE_EQ(machine.roundTripUs, 4);
  EXPECT_DOUBLE_EQ(machine.launchUs, 2);
  EXPECT_DOUBLE_EQ(machine.operations(2), 384e6);
  EXPECT_DOUBLE_EQ(machine.operations(1), 717e6) << "half of the H200's, as bf16's";
  EXPECT_DOUBLE_EQ(machine.operations(4), 40e6);
  EXPECT_DOUBLE_EQ(machine.gemmAloneRatio, 1.5);
  EXPECT_EQ(machine.loadGbps, namedMachine("h200").loadGbps) << "one GPU measures no peer";
  EXPECT_EQ(machine.multiprocessors, 132);
  EXPECT_DOUBLE_EQ(readMachine(R"({"version": 2, "device": "G", "gemm_alone_ratio": 0.5})").gemmAloneRatio, 1);
  EXPECT_DOUBLE_EQ(
      readMachine(R"({"version": 2, "device": "G", "gemm_bf16_tflops": 384, "gemm_fp8_tflops": 900})").operations(1),
      900e6);
  EXPECT_EQ(readMachine(R"({"version": 2, "device": "NVIDIA H100 80GB HBM3"})").memoryGbps,
            namedMachine("h100").memoryGbps);
}

TEST(Profile, SaysWhyItIsNone) {
  for (const char* text :
       {"", "x", "[1]", "{", R"({"version": 2, "device": "G", "copy_gbps": NaN})", R"({"version": 2})"})
    EXPECT_THROW(readMachine(text), std::runtime_error) << text;
  try {
    readMachine(R"({"version": 1, "device": "GPU A"})");
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "the profile has version 1, 2 is needed: measure again with `tandem doctor --profile`");
  }
}

TEST(Profile, NamesTheMemberThatIsWrong) {
  EXPECT_EQ(wrong(R"("copy_gbps": -1)"), "the profile has `copy_gbps` -1, a number above 0 is needed");
  EXPECT_EQ(wrong(R"("copy_gbps": 0)"), "the profile has `copy_gbps` 0, a number above 0 is needed");
  EXPECT_EQ(wrong(R"("copy_us": "fast")"), "the profile has `copy_us` \"fast\", a number from 0 is needed");
  EXPECT_EQ(wrong(R"("copy_us": 1e300)"), "the profile has `copy_us` 1e+300, a number from 0 is needed");
  EXPECT_EQ(wrong(R"("launch_us": 0)"), "");
  EXPECT_EQ(wrong(R"("store_gbps": 3)"), "the profile has `store_gbps` 3, rates by numbers of programs are needed");
  EXPECT_EQ(wrong(R"("store_gbps": {"1": 20, "2": 1e308})"),
            "the profile has `store_gbps` 1e+308, a number above 0 is needed");
  for (const char* programs : {"", "0", "-1", "x", "99999999999999999999"})
    EXPECT_EQ(wrong(R"("load_gbps": {")" + std::string(programs) + R"(": 20})"),
              "the profile has `load_gbps` for `" + std::string(programs) + "`, a number of programs is needed");
  EXPECT_EQ(wrong(R"("copy_gpbs": 3)"), "the profile has `copy_gpbs`, which is no speed of a machine");
  EXPECT_EQ(wrong(R"("ranks": -3)"), "the profile has `ranks` -3, a number of GPUs is needed");
  EXPECT_EQ(wrong(R"("source": 3)"), "the profile has `source` 3, a text is needed");
}

TEST(Profile, IsWrittenAsItIsRead) {
  Machine machine = readMachine(kProfile);
  machine.copyUs = 1.0 / 3;
  machine.source = "a test";
  Machine again = readMachine(textOf(machine));
  EXPECT_EQ(textOf(again), textOf(machine));
  EXPECT_EQ(again.copyUs, 1.0 / 3);
  EXPECT_EQ(textOf(readMachine(textOf(namedMachine("nominal")))), textOf(namedMachine("nominal")));
}

TEST(NamedMachine, HasEverySpeed) {
  EXPECT_EQ(machineNames(), (std::vector<std::string>{"h200", "h100", "nominal"}));
  for (const std::string& name : machineNames()) {
    const Machine& machine = namedMachine(name);
    EXPECT_FALSE(machine.measured);
    EXPECT_FALSE(machine.source.empty());
#define TANDEM_SPEED(name, member, what) EXPECT_GE(machine.member, 0) << #name;
#define TANDEM_TABLE(name, member, what) EXPECT_FALSE(machine.member.empty()) << #name;
#include "model/speeds.inc"
    EXPECT_GT(machine.multiprocessors * machine.copyGbps * machine.memoryGbps * machine.gemmFp8Tflops, 0);
    EXPECT_EQ(textOf(machineFrom(name)), textOf(machine));
    EXPECT_EQ(machineFrom(textOf(machine)).copyGbps, machine.copyGbps);
  }
  // A speed that h200.json lacked would be 0, and only times of nominal machines are.
#define TANDEM_SPEED(name, member, what) EXPECT_GT(namedMachine("h200").member, 0) << #name;
#include "model/speeds.inc"
  EXPECT_EQ(&machineOfGpu("NVIDIA H100 PCIe"), &namedMachine("h100"));
  EXPECT_EQ(&machineOfGpu("NVIDIA H200"), &namedMachine("h200"));
  EXPECT_EQ(&machineOfGpu("another"), &namedMachine("h200"));
  EXPECT_EQ(&machineOfGpu(""), &namedMachine("h200"));
  try {
    machineFrom("h300");
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "there is no machine `h300`; there are `h200`, `h100`, `nominal`");
  }
}

}  // namespace
}  // namespace tandem::model
