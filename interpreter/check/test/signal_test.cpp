// Misused signals: found in runs where they did no harm.
#include "interpreter/test/program_builder.h"
#include <gtest/gtest.h>

namespace tandem::interpreter::test {
namespace {

constexpr int64_t kSys = 2, kRelaxed = 0, kAcquire = 1, kSet = 0, kAdd = 1, kEq = 0, kGe = 5;

struct Kernel {
  ProgramBuilder b;
  Register flag = b.pointerArgument("flag", Elem::I64), rank = b.uniform(Elem::I32), zero = b.constant(Elem::I32, 0);
  std::vector<uint32_t> open;
  Kernel() { b.add(Op::Rank, Elem::I32, {kNone}, {rank}); }
  void onRank(int64_t r) {
    open.push_back(b.add(Op::Branch, Elem::I1, {b.compare(CompareOp::Eq, rank, b.constant(Elem::I32, r))}, {}, {0}));
  }
  void end() {
    b.patch(open.back(), b.pc());
    open.pop_back();
  }
  Register slot(int64_t k) { return k ? b.offsetBy(flag, 8 * k) : flag; }
  void notify(int64_t to, int64_t k, int64_t value, int64_t kind = kSet) {
    b.add(Op::Notify, Elem::I64, {slot(k), b.constant(Elem::I32, to), b.constant(Elem::I64, value)}, {}, {kind, kSys});
  }
  void wait(int64_t k, int64_t value, int64_t compare = kEq, int64_t semantic = kAcquire) {
    b.add(Op::Wait, Elem::I64, {slot(k), b.constant(Elem::I32, 1), b.constant(Elem::I64, value)},
          {b.uniform(Elem::I32)}, {kSys, semantic, compare});
  }
  // The first report of a run on two ranks.
  std::string run(uint64_t seed, uint64_t updatesKept = 1000) {
    World world({.rankCount = 2, .seed = seed, .check = true, .updatesKept = updatesKept});
    std::vector<std::vector<uint64_t>> arguments;
    for (int r = 0; r < 2; ++r) arguments.push_back({world.allocate(r, 64, MemoryKind::Symmetric, true, "flag")});
    launchAll(world, program, {1, 1, 1}, arguments);
    return world.reports().empty() ? "" : wordOf(world.reports()[0].kind) + ": " + world.reports()[0].message;
  }
  ProgramPtr program;
};

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

TEST(SignalMisuse, TwoSetsOfOneSlot) {
  Kernel k;
  k.notify(0, 0, 1);
  k.onRank(0);
  k.wait(0, 1, kGe);
  k.end();
  k.onRank(1);
  k.notify(0, 0, 2);
  k.end();
  k.program = k.b.finish();
  bool found = false;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::string text = k.run(seed);
    EXPECT_TRUE(contains(text, "signal-misuse") && contains(text, "(M11)")) << text;
    found = true;
  }
  EXPECT_TRUE(found);
}

TEST(SignalMisuse, AddsCommute) {
  Kernel k;
  k.notify(0, 0, 1, kAdd);
  k.onRank(0);
  k.wait(0, 2);
  k.end();
  k.program = k.b.finish();
  for (uint64_t seed = 0; seed < 20; ++seed) EXPECT_EQ(k.run(seed), "");
}

TEST(SignalMisuse, ACounterPastAWaitForEquality) {
  Kernel k;
  k.notify(0, 0, 1, kAdd);
  k.onRank(0);
  k.wait(0, 1);
  k.end();
  k.program = k.b.finish();
  size_t overshoots = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::string text = k.run(seed);
    // empty: stuck, the value is past when the wait begins
    EXPECT_TRUE(contains(text, "(M15)") || text.empty()) << text;
    overshoots += contains(text, "signal-misuse");
  }
  EXPECT_GT(overshoots, 5u);
}

// Rank 0 sends twice through one slot, which rank 1 resets; `acknowledged`: and says so.
std::string resetBetween(uint64_t seed, bool acknowledged) {
  Kernel k;
  k.onRank(0);
  k.notify(1, 0, 1);
  if (acknowledged) k.wait(1, 1);
  k.notify(1, 0, 2);
  k.end();
  k.onRank(1);
  k.wait(0, 1, kGe);
  k.notify(1, 0, 0);
  k.notify(0, 1, 1);
  if (acknowledged) k.wait(0, 2);
  k.end();
  k.program = k.b.finish();
  return k.run(seed);
}

TEST(SignalMisuse, AResetThatRacesTheNextUse) {
  size_t found = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    EXPECT_EQ(resetBetween(seed, true), "");
    std::string text = resetBetween(seed, false);  // the waiter may also see the second message only
    EXPECT_TRUE(contains(text, "(M11)") || text.empty()) << text;
    found += !text.empty();
  }
  EXPECT_GT(found, 5u);
}

// Rank 1 counts to 40; rank 0 has seen so and waits, again, for at least `least`.
std::string waitBehindForty(int64_t least, uint64_t updatesKept) {
  Kernel k;
  k.onRank(1);
  for (int i = 0; i < 40; ++i) k.notify(0, 0, 1, kAdd);
  k.notify(0, 1, 1);
  k.end();
  k.onRank(0);
  k.wait(1, 1, kGe, kRelaxed);
  if (least) k.wait(0, least, kGe);
  k.end();
  k.program = k.b.finish();
  return k.run(3, updatesKept);
}

TEST(SignalHistory, AWaitThatMayNeedWhatIsForgottenSaysSo) {
  EXPECT_EQ(waitBehindForty(1, 40), "");
  std::string text = waitBehindForty(1, 39);
  EXPECT_TRUE(contains(text, "history-exceeded: `flag`[0..8) of rank 0: history exceeded")) << text;
  EXPECT_TRUE(contains(text, "a run remembers 39 updates")) << text;
  EXPECT_EQ(waitBehindForty(0, 2), "");  // nobody asks
}

}  // namespace
}  // namespace tandem::interpreter::test
