// The answers of each target, and the refusal of unknown names.
#include "compiler/target/target_info.h"
#include "compiler/target/occupancy.h"
#include "base/diagnostic.h"
#include <gtest/gtest.h>

namespace tandem::target {
namespace {

TEST(TargetInfo, Ampere) {
  const TargetInfo& t = TargetInfo::named("sm_80");
  EXPECT_EQ(t.maxSharedBytes(), 166912);
  EXPECT_FALSE(t.hasFp8Mma());
  EXPECT_FALSE(t.hasWgmma());
  EXPECT_FALSE(t.hasClusters());
  EXPECT_EQ(t.maxClusterSize(), 1);
}

TEST(TargetInfo, AdaHasFp8ButNoTma) {
  const TargetInfo& t = TargetInfo::named("sm_89");
  EXPECT_EQ(t.maxSharedBytes(), 101376);
  EXPECT_TRUE(t.hasFp8Mma());
  EXPECT_FALSE(t.emulatesFp8Mma());
  EXPECT_TRUE(t.hasFp8Convert());
  EXPECT_FALSE(t.hasTma());
  EXPECT_FALSE(t.hasStmatrix());
}

TEST(TargetInfo, Hopper) {
  const TargetInfo& t = TargetInfo::named("sm_90a");
  EXPECT_EQ(t.maxSharedBytes(), 232448);
  EXPECT_EQ(t.maxClusterSize(), 8);
  EXPECT_TRUE(t.hasWgmma());
  EXPECT_TRUE(t.hasTma());
  EXPECT_TRUE(t.hasSetMaxRegister());
}

TEST(TargetInfo, ThroughNvshmemIsTheSameGpu) {
  const TargetInfo& t = TargetInfo::named("sm_90a+nvshmem");
  EXPECT_EQ(t.name(), "sm_90a+nvshmem");
  EXPECT_EQ(t.architecture(), "sm_90a");
  EXPECT_TRUE(t.usesNvshmem());
  EXPECT_EQ(t.maxSharedBytes(), TargetInfo::named("sm_90a").maxSharedBytes());
  EXPECT_FALSE(TargetInfo::named("sm_90a").usesNvshmem());
  EXPECT_EQ(TargetInfo::named("sm_80").architecture(), "sm_80");
  EXPECT_THROW(TargetInfo::named("sm_90a+rocshmem"), CompileError);
}

TEST(TargetInfo, TracedCodeIsForTheSameGpu) {
  const TargetInfo &plain = TargetInfo::named("sm_90a"), &traced = TargetInfo::named("sm_90a+trace");
  EXPECT_FALSE(plain.recordsTrace());
  EXPECT_TRUE(traced.recordsTrace());
  EXPECT_FALSE(traced.usesNvshmem());
  EXPECT_EQ(traced.architecture(), plain.name());
  EXPECT_EQ(traced.name(), "sm_90a+trace");
  EXPECT_EQ(traced.maxSharedBytes(), plain.maxSharedBytes());
  const TargetInfo& both = TargetInfo::named("sm_90a+trace+nvshmem");
  EXPECT_TRUE(both.usesNvshmem() && both.recordsTrace());
  EXPECT_EQ(both.architecture(), "sm_90a");
  EXPECT_THROW(TargetInfo::named("sm_90a+nvshmem+trace"), CompileError);
}

TEST(TargetInfo, UnknownNameListsTheKnownOnes) {
  try {
    TargetInfo::named("sm_70");
    FAIL() << "accepted";
  } catch (const CompileError& e) {
    EXPECT_EQ(e.diagnostic.kind, "unknown-target");
    EXPECT_EQ(e.diagnostic.message, "target `sm_70` is unknown; known are `sm_80`, `sm_89`, `sm_90a`");
  }
}

TEST(Occupancy, NamesWhatLimitsIt) {
  const TargetInfo& hopper = TargetInfo::named("sm_90a");
  auto expect = [&](const TargetInfo& target, int threads, int registers, int shared, int blocks,
                    std::string_view limit) {
    Occupancy found = occupancyOf(target, threads, registers, shared);
    EXPECT_EQ(found.blocks, blocks);
    EXPECT_EQ(found.limit, limit);
  };
  expect(hopper, 384, 168, 200 * 1024, 1, "registers");
  expect(hopper, 128, 32, 0, 16, "threads");
  expect(hopper, 32, 32, 0, 32, "blocks");
  expect(hopper, 128, 40, 100 * 1024, 2, "shared memory");
  expect(hopper, 128, 0, 113 * 1024, 2, "shared memory");
  expect(TargetInfo::named("sm_89"), 256, 40, 0, 6, "threads");
}

}  // namespace
}  // namespace tandem::target
