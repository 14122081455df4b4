// A run that does not end is ended by its limit of steps or seconds, and says where each program stood.
#include "interpreter/test/program_builder.h"
#include <gtest/gtest.h>
#include <regex>

namespace tandem::interpreter::test {
namespace {

bool has(const World& w, const std::string& text) { return renderAll(w).find(text) != std::string::npos; }

// while True: add(word, 1), or a wait for a flag on rank 1.
ProgramPtr endless() {
  ProgramBuilder b("endless");
  Register word = b.pointerArgument("word", Elem::I64), rank = b.uniform(Elem::I32), old = b.uniform(Elem::I64),
           one = b.constant(Elem::I64, 1), first = b.constant(Elem::I32, 0);
  b.add(Op::Rank, Elem::I32, {kNone}, {rank});
  uint32_t waits = b.add(Op::Branch, Elem::I1, {b.compare(CompareOp::Eq, rank, first)}, {}, {0});
  uint32_t head = b.add(Op::AtomicRmw, Elem::I64, {word, one}, {old}, {0, 1, 0}, uint8_t(RmwOp::Add));
  b.add(Op::LoopBack, Elem::I64, {}, {}, {head});
  b.patch(waits, b.pc());
  b.add(Op::Wait, Elem::I64, {word, b.constant(Elem::I32, 1), one}, {b.uniform(Elem::I32)}, {2, 1, 0});
  return b.finish();
}

World::Stop run(World& world) {
  std::vector<std::vector<uint64_t>> words;
  for (int r = 0; r < 2; ++r) words.push_back({world.allocate(r, 8, MemoryKind::Symmetric, true, "word")});
  return launchAll(world, endless(), {2, 1, 1}, words);
}

TEST(Limit, OfStepsNamesWhereEverybodyStands) {
  World world({.rankCount = 2, .maxSteps = 5000});
  ASSERT_EQ(run(world), World::Stop::Limit);
  EXPECT_LT(world.counters().instructions, 6000u);
  EXPECT_TRUE(world.reports().empty());
  world.reportLimit({"the host of rank 0 waits for its streams"});
  ASSERT_TRUE(hasReport(world, "limit-exceeded"));
  EXPECT_TRUE(world.failed());
  EXPECT_TRUE(has(world, "error: limit-exceeded: the run is not over after 5000 steps (`max_steps`)"))
      << renderAll(world);
  EXPECT_TRUE(has(world, "kernel `endless` expects `word` + 0 of rank 1 == 1, sees 0; never written"))
      << renderAll(world);
  for (const char* who :
       {"2 programs of rank 0 are here; the first: rank 0", "2 programs of rank 1 are here; the first: rank 1"})
    EXPECT_TRUE(has(world, who)) << renderAll(world);
  EXPECT_TRUE(std::regex_search(renderAll(world), std::regex("in round [0-9]{3,} of a loop"))) << renderAll(world);
  EXPECT_TRUE(has(world, "the loop reads `word` + 0 of rank 0, sees ")) << renderAll(world);
  EXPECT_TRUE(has(world, "the host of rank 0 waits for its streams"));
}

TEST(Limit, OfTime) {
  World world({.rankCount = 2, .maxSeconds = 0.2});
  ASSERT_EQ(run(world), World::Stop::Limit);
  world.reportLimit({});
  EXPECT_TRUE(has(world, "the run is not over after 0.2 s (`timeout`)")) << renderAll(world);
}

TEST(Limit, CountsHostsThatPoll) {
  World world({.rankCount = 1, .maxSteps = 10});
  int polls = 0;
  while (world.hostStep()) ++polls;
  EXPECT_EQ(polls, 9);
}

TEST(Limit, IsNoneUnlessAskedFor) {
  World world({.rankCount = 1});
  for (int k = 0; k < 100; ++k) EXPECT_TRUE(world.hostStep());
}

}  // namespace
}  // namespace tandem::interpreter::test
