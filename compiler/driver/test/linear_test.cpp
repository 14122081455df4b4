// The time that straight-line code takes grows with its length, not with its square.
#include "compiler/driver/compile.h"
#include <algorithm>
#include <ctime>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace {
using nlohmann::json;
using namespace tandem::compiler;

// `line` once for each number below `count`, which stands for `#`.
std::string requestOf(const std::string& line, int count, const std::string& target) {
  std::string source = "def k(p, n):\n    v = n\n    r = tl.arange(0, 128)\n";
  for (int i = 0; i < count; ++i) {
    std::string text = "    " + line + "\n";
    for (size_t at; (at = text.find('#')) != text.npos;) text.replace(at, 1, std::to_string(i));
    source += text;
  }
  json globals = {{"tl", {{"module", "triton.language"}}}};
  json function = {{"kind", "jit"}, {"name", "k"}, {"file", "k.py"}, {"source", source}, {"globals", globals}};
  json arguments = {{{"name", "p"}, {"type", "*i32"}}, {{"name", "n"}, {"type", "i32"}}};
  return json{
      {"kernel", "1"}, {"functions", {{"1", function}}}, {"arguments", arguments}, {"options", {{"target", target}}}}
      .dump();
}

// The processor time that this thread needs to compile the request up to a stage.
double seconds(const std::string& request, const char* stage) {
  auto now = [] {
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
  };
  double begin = now();
  EXPECT_EQ(emit(request, stage, false).error, "");
  return now() - begin;
}

// Eight times as much may take 20 times as long; a square takes 64 times.
void expectNearLinear(const std::string& line, const char* stage, const char* target, int few) {
  std::string small = requestOf(line, few, target), large = requestOf(line, 8 * few, target);
  double first = std::min({seconds(small, stage), seconds(small, stage), seconds(small, stage)});
  double second = std::min(seconds(large, stage), seconds(large, stage));
  EXPECT_LT(second, 20 * first) << line << ": " << first << " s, " << second << " s";
}

// A line of which programs have many; `few` is the smaller number of lines.
struct Family {
  const char* line;
  int few;
};
constexpr Family kFamilies[] = {{"tl.store(p + #, n)", 500},
                                {"v = v * n + tl.load(p + #)", 500},
                                {"tl.store(p + # + r, tl.load(p + r))", 500},
                                {"if n > #: tl.store(p, n)", 500},
                                {"if n > #:\n        v += tl.load(p + #)\n    else:\n        v = v * 2", 250},
                                {"tl.store(p + #, tl.sum(tl.load(p + r) * #))", 60},
                                {"for i in range(n): v += tl.load(p + i + #)", 100},
                                {"while v < #: v += tl.load(p + #)", 100},
                                {"v += tl.atomic_add(p + #, v, sem='acq_rel')", 100},
                                {"r = tl.where(r > v, r, r * v + #)", 250},
                                {"tl.debug_barrier()", 500},
                                {"v = tl.sum(tl.cumsum(r + v, 0))", 30}};

TEST(Linear, Simulator) {
  for (const Family& family : kFamilies) expectNearLinear(family.line, "sim", "sim", family.few);
}
TEST(Linear, StagesOfOursForGpus) {
  for (const Family& family : kFamilies) expectNearLinear(family.line, "llvm", "sm_90a", family.few);
}
TEST(Linear, StoresToPtx) { expectNearLinear("tl.store(p + #, n)", "ptx", "sm_90a", 500); }

// The text before each loop is walked once, not twice as often as for the loop around it.
TEST(Linear, NestedLoops) {
  std::string nest;
  for (int depth = 0; depth < 30; ++depth)
    nest += (depth ? "\n" + std::string(4 + 4 * depth, ' ') : "") + "for i in range(n):";
  EXPECT_LT(seconds(requestOf(nest + " tl.store(p + i, tl.load(p))", 1, "sm_90a"), "layouts"), 2);
}

}  // namespace
