// The search over computations of a few tasks that read, write and await variables: every outcome of all orders is met,
// few orders are run.
#include "interpreter/schedule/search.h"
#include <array>
#include <gtest/gtest.h>
#include <random>

namespace tandem::interpreter {
namespace {

struct Act {
  enum class Kind : uint8_t { Read, Write, Add, Await } kind{};
  int variable = 0;
  int value = 0;
};
using Task = std::vector<Act>;

struct Result {
  size_t runs = 0, redundant = 0;
  std::set<std::string>
      outcomes;  // each task's reads, and the last content: equal orders of dependent steps give equal ones
  bool complete = true;
};

SyncAccess accessOf(const Act& act) {
  SyncKind kind = act.kind == Act::Kind::Write ? SyncKind::Write
                  : act.kind == Act::Kind::Add ? SyncKind::Update
                                               : SyncKind::Read;
  return {uint64_t(act.variable) * 8, uint64_t(act.variable) * 8 + 8, kind};
}

// One run; gives the outcome, or nothing when the chooser ended it.
std::optional<std::string> run(const std::vector<Task>& tasks, Chooser& chooser) {
  std::array<int, 4> memory{};
  std::vector<size_t> next(tasks.size());
  std::vector<std::string> seen(tasks.size());
  auto at = [](size_t t) { return Transition{Transition::Kind::Program, int(t)}; };
  auto holds = [&](const Act& act) {
    return act.kind != Act::Kind::Await || memory[size_t(act.variable)] == act.value;
  };
  auto tellLeft = [&] {
    for (size_t t = 0; t < tasks.size(); ++t)
      if (next[t] < tasks[t].size() && !holds(tasks[t][next[t]])) chooser.leaves(at(t), accessOf(tasks[t][next[t]]));
  };
  while (true) {
    std::vector<Transition> enabled;
    for (size_t t = 0; t < tasks.size(); ++t)
      if (next[t] < tasks[t].size() && holds(tasks[t][next[t]])) enabled.push_back(at(t));
    if (enabled.empty()) break;
    std::optional<size_t> choice = chooser.choose(enabled);
    if (!choice) return tellLeft(), std::nullopt;
    auto t = size_t(enabled[*choice].rank);
    const Act& act = tasks[t][next[t]++];
    int& variable = memory[size_t(act.variable)];
    if (act.kind == Act::Kind::Write)
      variable = act.value;
    else if (act.kind == Act::Kind::Add)
      variable += act.value;
    else
      seen[t] += std::to_string(variable) + ",";
    chooser.did(accessOf(act));
  }
  std::string outcome;
  for (size_t t = 0; t < tasks.size(); ++t) outcome += seen[t] + (next[t] == tasks[t].size() ? ";" : "stuck;");
  tellLeft();
  for (int value : memory) outcome += std::to_string(value) + " ";
  return outcome;
}

Result runAll(const std::vector<Task>& tasks, bool reduction, size_t limit = 200000) {
  ScheduleSearch search(reduction);
  Result result;
  do {
    if (auto outcome = run(tasks, search)) {
      ++result.runs;
      result.outcomes.insert(*outcome);
      ForcedSchedule again(search.schedule());
      EXPECT_EQ(run(tasks, again), outcome) << search.schedule();
    } else {
      ++result.redundant;
      EXPECT_TRUE(search.redundant());
    }
    if (result.runs == limit) return result.complete = false, result;
  } while (search.next());
  return result;
}

constexpr Act read(int v) { return {Act::Kind::Read, v, 0}; }
constexpr Act write(int v, int x) { return {Act::Kind::Write, v, x}; }
constexpr Act add(int v) { return {Act::Kind::Add, v, 1}; }
constexpr Act await(int v, int x) { return {Act::Kind::Await, v, x}; }

// Orders of all steps, and of dependent ones, counted by hand.
TEST(Search, Counts) {
  struct Case {
    std::vector<Task> tasks;
    size_t all, reduced;
  };
  const Case cases[] = {
      {{{write(0, 1)}}, 1, 1},
      {{{write(0, 1)}, {write(1, 1)}}, 2, 1},                            // apart
      {{{write(0, 1)}, {write(0, 2)}}, 2, 2},                            // together
      {{{read(0)}, {read(0)}, {read(0)}}, 6, 1},                         // reads commute
      {{{add(0)}, {add(0)}, {add(0)}}, 6, 1},                            // so do updates
      {{{write(0, 1), write(1, 1)}, {write(2, 1), write(3, 1)}}, 6, 1},  // 4! / (2! 2!)
      {{{write(0, 1), write(0, 2)}, {write(0, 3), write(0, 4)}}, 6, 6},
      {{{write(0, 1)}, {read(0)}, {read(0)}}, 6, 4},  // each read before or after the write
      {{{write(0, 1), await(1, 1)}, {write(1, 1), await(0, 1)}},
       4,
       1},                                                       // both writes first, in 2 orders; then both waits
      {{{write(0, 1), read(1)}, {write(1, 1), read(0)}}, 6, 3},  // not both reads before both writes
      {{{add(0), await(0, 3)}, {add(0)}, {add(0)}}, 6, 1},
      {{{await(0, 1)}, {write(0, 1), write(0, 0), write(0, 1)}}, 2, 2},  // between the first two writes, or last
      {{{await(0, 1)}, {write(0, 1)}, {write(0, 0)}}, 3, 3},             // 1 W 0, 1 0 stuck, 0 1 W
  };
  for (const Case& c : cases) {
    size_t number = size_t(&c - cases);
    EXPECT_EQ(runAll(c.tasks, false).runs, c.all) << number;
    EXPECT_EQ(runAll(c.tasks, true).runs, c.reduced) << number;
    EXPECT_EQ(runAll(c.tasks, true).outcomes, runAll(c.tasks, false).outcomes) << number;
  }
}

TEST(Search, EveryOutcomeOfRandomComputations) {
  std::mt19937 random(5);
  size_t all = 0, reduced = 0, redundant = 0;
  for (int number = 0; number < 3000; ++number) {
    std::vector<Task> tasks(2 + random() % 3);
    for (Task& task : tasks)
      for (size_t k = 1 + random() % (tasks.size() == 2 ? 5 : tasks.size() == 3 ? 3 : 2); k; --k)
        task.push_back({Act::Kind(random() % 4), int(random() % 3), int(random() % 3)});
    Result every = runAll(tasks, false), few = runAll(tasks, true);
    ASSERT_TRUE(every.complete);
    ASSERT_EQ(few.outcomes, every.outcomes) << "computation " << number;
    ASSERT_LE(few.runs, every.runs);
    all += every.runs;
    reduced += few.runs;
    redundant += few.redundant;
  }
  EXPECT_LT(3 * (reduced + redundant), all);
  RecordProperty("all", int(all));
  RecordProperty("reduced", int(reduced));
  RecordProperty("redundant", int(redundant));
}

TEST(Search, TextOfASchedule) {
  for (const char* wrong : {"", ".", "1.", "a", "1..2", "-1"})
    EXPECT_THROW(ForcedSchedule{wrong}, std::runtime_error) << wrong;
  ForcedSchedule schedule("1.0.2");
  Transition a{Transition::Kind::Program, 0}, b{Transition::Kind::Program, 1}, c{Transition::Kind::Program, 2};
  EXPECT_EQ(schedule.choose({a, b}), 1u);
  EXPECT_EQ(schedule.choose({a}), 0u);  // no choice
  EXPECT_EQ(schedule.choose({a, b}), 0u);
  EXPECT_EQ(schedule.choose({a, b, c}), 2u);
  EXPECT_EQ(schedule.choose({a, b, c}), 0u);  // the text is over
}

TEST(Search, AComputationThatDoesNotRepeat) {
  ScheduleSearch search(true);
  run({{write(0, 1)}, {write(0, 2)}}, search);
  ASSERT_TRUE(search.next());
  EXPECT_EQ(run({{write(0, 1)}, {write(0, 2)}, {write(0, 3)}}, search), std::nullopt);
  EXPECT_TRUE(search.diverged());
}

}  // namespace
}  // namespace tandem::interpreter
