#include "ops/machine.h"
#include <gtest/gtest.h>

namespace tandem::ops {
namespace {

const char* const kProfile = R"({"version": 2, "device": "GPU A", "ranks": 4, "copy_gbps": 100.0, "copy_us": 9.5,
  "store_gbps": {"1": 20, "64": 300.5, "32": 200}, "signal_round_trip_us": 4, "launch_us": 2, "gemm_bf16_tflops": 384,
  "gemm_alone_ratio": 1.5})";

TEST(MachineProfile, IsReadInMicrosecondsAndBytes) {
  Machine machine = machineOf(kProfile, "GPU A");
  EXPECT_DOUBLE_EQ(machine.copyBytes, 100e3);
  EXPECT_DOUBLE_EQ(machine.copyUs, 9.5);
  EXPECT_DOUBLE_EQ(machine.storeBytes, 300.5e3);
  EXPECT_DOUBLE_EQ(machine.roundTripUs, 4);
  EXPECT_DOUBLE_EQ(machine.launchUs, 2);
  EXPECT_DOUBLE_EQ(machine.operations(DType::BFloat16), 384e6);
  EXPECT_DOUBLE_EQ(machine.operations(DType::Float8E5), 717e6) << "half of the defaults', as bf16's";
  EXPECT_DOUBLE_EQ(machine.aloneRatio, 1.5);
}

TEST(MachineProfile, OfAnotherGpuOrNoneIsNotTaken) {
  const Machine defaults;
  for (const char* text : {"", "x", "[1]", "{}", R"({"version": 1, "device": "GPU A", "copy_gbps": 100})",
                           R"({"version": "2", "device": "GPU A", "copy_gbps": 100})"})
    EXPECT_DOUBLE_EQ(machineOf(text, "GPU A").copyBytes, defaults.copyBytes) << text;
  EXPECT_DOUBLE_EQ(machineOf(kProfile, "GPU B").copyBytes, defaults.copyBytes);
}

TEST(MachineProfile, WhatIsNoSpeedKeepsTheDefault) {
  const Machine defaults;
  Machine machine = machineOf(
      R"({"version": 2, "device": "G", "copy_gbps": -1, "copy_us": "fast", "store_gbps": [], "launch_us": 0, "gemm_alone_ratio": 0.5})",
      "G");
  EXPECT_DOUBLE_EQ(machine.copyBytes, defaults.copyBytes);
  EXPECT_DOUBLE_EQ(machine.copyUs, defaults.copyUs);
  EXPECT_DOUBLE_EQ(machine.storeBytes, defaults.storeBytes);
  EXPECT_DOUBLE_EQ(machine.launchUs, defaults.launchUs);
  EXPECT_DOUBLE_EQ(machine.aloneRatio, 1);
}

TEST(MachineProfile, WhatIsBeyondAnyMachineKeepsTheDefault) {
  const Machine defaults;
  Machine machine = machineOf(
      R"({"version": 2, "device": "G", "copy_gbps": 1e-300, "copy_us": 1e300, "store_gbps": {"1": 1e308}, "launch_us": 1e-300})",
      "G");
  EXPECT_EQ(textOf(machine), textOf(defaults));
  EXPECT_DOUBLE_EQ(
      machineOf(R"({"version": 2, "device": "G", "store_gbps": {"1": 1e308, "2": 20, "4": "x"}})", "G").storeBytes,
      20e3);
}

TEST(MachineProfile, SaysWhoseItIs) {
  EXPECT_TRUE(isProfileOf("GPU A", kProfile));
  EXPECT_FALSE(isProfileOf("GPU B", kProfile));
  for (const char* text : {"", "{", "[2]", R"({"device": "GPU A"})", R"({"version": 1, "device": "GPU A"})"})
    EXPECT_FALSE(isProfileOf("GPU A", text)) << text;
}

TEST(MachineText, KeepsEveryBit) {
  Machine machine = machineOf(kProfile, "GPU A");
  machine.copyUs = 1.0 / 3;
  Machine again = machineFromText(textOf(machine));
  EXPECT_EQ(textOf(again), textOf(machine));
  EXPECT_EQ(again.copyUs, 1.0 / 3);
}

}  // namespace
}  // namespace tandem::ops
