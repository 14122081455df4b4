// These tests cover control flow: statements that become structured ops, and those that are decided at compile time.
#include "compiler/frontend/emit/test/emit_text.h"
#include <gtest/gtest.h>

namespace tandem::frontend::test {
namespace {

std::string irOf(const std::string& text) {
  Result r = emitText(text);
  EXPECT_EQ(r.error, "") << text << r.notes;
  return r.ir;
}

TEST(If, ConstantPicksBranch) {
  std::string ir = irOf(
      "def k(p, N, f=None):\n    if N == 32 and not (N is None):\n        tl.store(p, 1.0)\n    else:\n        "
      "nonsense(p)\n");
  EXPECT_EQ(count(ir, "scf.if"), 0u);
  EXPECT_EQ(count(ir, "tile.store"), 1u);
}
TEST(If, DynamicMergesNames) {
  std::string ir = irOf(
      "def k(p, b, i):\n    x = 1.0\n    y = i\n    if b:\n        x = 2.0\n        z = 1\n    else:\n        z = 2\n  "
      "  tl.store(p + z, x)\n");
  EXPECT_HAS(ir, "-> (f32, i32)");
}
TEST(If, WithoutElseAndWithoutResults) {
  std::string ir = irOf("def k(p, b):\n    if b:\n        tl.store(p, 1.0)\n");
  EXPECT_EQ(count(ir, "scf.if"), 1u);
  EXPECT_LACKS(ir, "else");
}
TEST(If, EarlyReturnMovesTheRest) {
  std::string ir = irOf(
      "def k(p, i):\n    if i > 3:\n        return\n    tl.store(p, 1.0)\n    if i < 0:\n        return\n    "
      "tl.store(p, 2.0)\n");
  EXPECT_EQ(count(ir, "scf.if"), 2u);
  EXPECT_EQ(count(ir, "tile.store"), 2u);
}
TEST(If, EarlyReturnOfValues) {
  std::string ir = irOf(
      "def f(i):\n    if i > 3:\n        return 1.0, i\n    elif i > 2:\n        return 2.0, i + 1\n    return 3.0, i\n"
      "def k(p, i):\n    x, j = f(i)\n    tl.store(p + j, x)\n");
  EXPECT_EQ(count(ir, "-> (f32, i32)"), 2u);
}
TEST(Conditional, Dynamic) {
  EXPECT_HAS(irOf("def k(p, b, f):\n    tl.store(p, f if b else 1.0)\n"), "scf.if");
  EXPECT_LACKS(irOf("def k(p, N, f):\n    tl.store(p, f if N > 3 else nonsense)\n"), "scf.if");
}
TEST(For, CarriesAssignedNames) {
  std::string ir = irOf(
      "def k(p, i):\n    acc = tl.zeros((4,), tl.float32)\n    n = 0\n    for j in range(0, i, 2):\n        acc += "
      "1.0\n        n += j\n    tl.store(p + n, tl.sum(acc, 0))\n");
  EXPECT_HAS(ir, "iter_args");
  EXPECT_HAS(ir, "-> (tensor<4xf32>, i32)");
}
TEST(For, NamesOfABodyEndWithEveryLoop) {
  std::string loop = "    for j in range(i):\n        v = j * 2\n        tl.store(p + v, 1.0)\n";
  EXPECT_LACKS(irOf("def k(p, i):\n" + loop + loop + loop), "iter_args");
}
TEST(For, ContinueMovesTheRestOfTheBody) {
  std::string ir = irOf(
      "def k(p, i):\n    n = 0\n    for j in range(i):\n        t = j\n        if j % 3 == 0:\n            t = 1.0\n"
      "            n += 1\n            continue\n        elif j > 7:\n            if j > 9:\n                continue\n"
      "            n += 2\n        tl.store(p + t, n)\n    tl.store(p, n)\n");
  EXPECT_EQ(count(ir, "scf.if"), 3u);
  EXPECT_EQ(count(ir, "tile.store"), 3u);  // behind each of the two inner `if`s' ways through, and behind the loop
  EXPECT_EQ(count(irOf("def k(p, N, i):\n    while i > 0:\n        i -= 1\n        if N == 32:\n            continue\n"
                       "        tl.store(p, i)\n"),
                  "tile.store"),
            0u);
  EXPECT_EQ(count(irOf("def k(p, i):\n    for j in tl.static_range(3):\n        if i == j:\n            continue\n"
                       "        tl.store(p + j, i)\n"),
                  "tile.store"),
            3u);
  irOf(
      "def f(x):\n    for j in range(x):\n        if j == 2:\n            continue\n    return x\n"
      "def k(p, i):\n    for j in range(i):\n        tl.store(p, f(j))\n");
}
TEST(For, BoundsArePromoted) {
  EXPECT_HAS(irOf("def k(l, i):\n    for j in range(i, l):\n        pass\n"), "arith.extsi");
}
TEST(For, NegativeStepMirrors) {
  std::string ir = irOf("def k(p, i):\n    for j in range(i, 0, -1):\n        tl.store(p + j, 1.0)\n");
  EXPECT_HAS(ir, "arith.subi");
  EXPECT_EQ(count(ir, "scf.for"), 1u);
}
TEST(For, VariableKeepsItsLastValue) {
  std::string loop = "    for j in range(1, i, step=2):\n        pass\n", use = "    tl.store(p + j, 1.0)\n";
  std::string ir = irOf("def k(p, i, b):\n" + loop + "    if b:\n        tl.store(p, 1.0)\n" + use);
  EXPECT_HAS(ir, "arith.divsi");
  EXPECT_LACKS(irOf("def k(p, i):\n" + loop), "arith.divsi");
  ir = irOf(
      "def k(p, i):\n    for a in range(i):\n        for j in range(a):\n            pass\n        tl.store(p + j, 1.0)\n");
  EXPECT_LACKS(ir, "iter_args");
}
TEST(For, HintsBecomeAttributes) {
  std::string ir = irOf(
      "def k(p, i):\n    for j in tl.range(0, i, num_stages=3, warp_specialize=True):\n        tl.store(p + j, 1.0)\n");
  EXPECT_HAS(ir, "tile.num_stages = 3 : i32");
  EXPECT_HAS(ir, "tile.warp_specialize = true");
  ir = irOf("def k(p, i):\n    for j in range(i, flatten=True, num_stages=2):\n        tl.store(p + j, 1.0)\n");
  EXPECT_HAS(ir, "tile.num_stages = 2 : i32");
}
TEST(For, ConstantSequencesUnroll) {
  std::string ir = irOf(
      "def k(p):\n    for j in tl.static_range(3):\n        tl.store(p + j, 1.0)\n    for a, b in zip((1, 2), [3.0, "
      "4.0]):\n        tl.store(p + a, b)\n");
  EXPECT_EQ(count(ir, "scf.for"), 0u);
  EXPECT_EQ(count(ir, "tile.store"), 5u);
}
TEST(For, StepsMayBeDynamic) {
  EXPECT_HAS(irOf("def k(p, i):\n    for j in range(0, 100, i):\n        tl.store(p + j, 1.0)\n"), "step %");
}
TEST(While, CarriesAssignedNames) {
  std::string ir = irOf("def k(p, i):\n    n = i\n    while n > 0:\n        n -= 1\n    tl.store(p + n, 1.0)\n");
  EXPECT_HAS(ir, "scf.while");
  EXPECT_HAS(ir, "scf.condition");
}
TEST(For, BlockPointersAreCarried) {
  std::string ir = irOf(
      "def k(h, i):\n    b = tl.make_block_ptr(h, (i, i), (i, 1), (0, 0), (16, 16), (1, 0))\n    for j in range(i):\n"
      "        tl.store(b, tl.load(b) + 1)\n        b = tl.advance(b, (16, 0))\n"
      "        b = b.advance((0, 16))\n        b.store(b.load())\n");
  EXPECT_HAS(ir, "iter_args");
}
TEST(Assert, DynamicNeedsDebug) {
  const char* text = "def k(i):\n    assert i > 0, 'positive'\n";
  EXPECT_LACKS(emitText(text, false).ir, "tile.assert");
  EXPECT_HAS(emitText(text, true).ir, "tile.assert");
}
TEST(Assert, OfConstantsToo) {
  const char* text = "def k(N):\n    assert N == 64, 'size'\n";
  EXPECT_EQ(emitText(text, false).error, "");
  EXPECT_LACKS(emitText(text, false).ir, "tile.assert");
  EXPECT_HAS(emitText(text, true).ir, "tile.assert");
  EXPECT_LACKS(emitText("def k(N):\n    assert N == 32\n", true).ir, "tile.assert");
  const char* now =
      "@triton.constexpr_function\ndef f(n):\n    assert n == 64, 'size'\n    return n\ndef k(N):\n    f(N)\n";
  EXPECT_HAS(emitText(now, false).error, "static-assert: assertion fails: size");
}

TEST(Control, WhileIsNeverDeadCode) {
  EXPECT_EQ(count(emitText("def k(i):\n    while i > 0:\n        i -= 1\n").ir, "tile.assume"), 1u);
  EXPECT_LACKS(emitText("def k(i):\n    for j in range(i):\n        i -= 1\n").ir, "tile.assume");
}

}  // namespace
}  // namespace tandem::frontend::test
