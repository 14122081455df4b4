// Names, constants, calls, aggregates, thread regions: whole kernels.
#include "compiler/frontend/emit/test/emit_text.h"
#include <gtest/gtest.h>

namespace tandem::frontend::test {
namespace {

std::string irOf(const std::string& text) {
  Result r = emitText(text);
  EXPECT_EQ(r.error, "") << text << r.notes;
  return r.ir;
}

TEST(Module, ConstantsImportsAndHostCode) {
  std::string ir = irOf(R"(import os, torch
from triton.language import load as fetch
from triton.language import *
try:
    import fancy
    HAS = True
except ImportError:
    HAS = False
A = 4
B = tl.constexpr(A * 2)
C, D = (A, B)
if HAS:
    E = 5
LIMIT = os.environ.get("LIMIT", 3)
def helper():
    with open("x") as f:
        return [line async for line in f]
def k(p):
    assert B == 8 and C == 4 and D == 8 and E == 5
    store(p + A, fetch(p))
)");
  EXPECT_EQ(count(ir, "tile.load"), 1u);
}
TEST(Assign, NumbersBecomeTensors) {
  std::string ir = irOf(
      "def k(p):\n    x = 3\n    y: tl.constexpr = 3\n    tl.static_assert(y == 3)\n    assert not isinstance(x, "
      "tl.constexpr)\n    assert isinstance(y, tl.constexpr)\n    tl.store(p + x, 1.0)\n");
  EXPECT_HAS(ir, "arith.constant 3 : i32");
}
TEST(Assign, UnpackingAndAugmented) {
  irOf(
      "def k(p, i):\n    a, (b, *c) = i, (1, 2, 3)\n    a += b\n    assert len(c) == 2\n    tl.store(p + a + c[1], 1.0)\n");
}
TEST(Call, InlinesWithDefaultsKeywordsAndRest) {
  std::string ir = irOf(
      "def f(a, b=2, *rest, c: tl.constexpr = 7):\n    assert c == 7 or c == 9\n    assert len(rest) < 2\n    return a "
      "+ b\n"
      "def k(p, i):\n    tl.store(p + f(i), 1.0)\n    tl.store(p + f(i, 1, 2, c=9), 1.0)\n    tl.store(p + f(b=i, "
      "a=i), 1.0)\n");
  EXPECT_EQ(count(ir, "func.func"), 1u);
  EXPECT_EQ(count(ir, "tile.store"), 3u);
}
TEST(Call, ConstexprFunctionsRunAtCompileTime) {
  std::string ir = irOf(R"(@triton.constexpr_function
def log2(n):
    r = 0
    while n > 1:
        n //= 2
        r += 1
        if r > 100:
            break
    total = 0
    for i in range(10):
        if i == 3:
            continue
        total += i
    assert total == 42
    return r
def k(p, N):
    x: tl.constexpr = log2(N)
    assert x == 5
    tl.store(p + x, 1.0)
)");
  EXPECT_LACKS(ir, "scf.");
}
TEST(Expression, ConstantsOfCompileTime) {
  irOf(R"(def k(p, N):
    a: tl.constexpr = f"{N}-{'x'}-{N * 2}"
    assert a == "32-x-64"
    b: tl.constexpr = [i * i for i in range(4) if i != 2]
    assert len(b) == 3 and b[2] == 9
    assert 1 < N <= 32
    assert (N if N > 3 else nonsense) == 32
    assert 0x10 == 16 and 0b11 == 3 and 1_000 == 1000
    assert min(3, N) == 3 and max((1, N)) == 32 and abs(-3) == 3 and int(2.7) == 2
    assert float("inf") > 1e30
    assert N in (31, 32) and "a" not in "bc"
    assert tl.float16.primitive_bitwidth == 16 and tl.float16.is_floating()
    assert None is None and N is not None
    if (n := N) > 3:
        tl.store(p + n, 1.0)
)");
}
TEST(Expression, TensorAttributes) {
  irOf(R"(def k(h, N):
    x = tl.load(h + tl.arange(0, N))
    assert x.dtype == tl.float16 and x.shape[0] == 32 and x.numel == 32
    assert h.dtype.is_ptr() and h.dtype.element_ty == tl.float16 and h.type.element_ty == tl.float16
    assert x.type.is_block() and x.type.scalar == tl.float16
    y = x[:, None] + x[None, :].T
    tl.store(h, y.to(tl.float32).sum(1).max(0).to(h.dtype.element_ty))
)");
}
TEST(Expression, LambdasCombine) {
  EXPECT_HAS(irOf("def k(p, N):\n    x = tl.load(p + tl.arange(0, N))\n    tl.store(p, tl.reduce(x, 0, lambda a, b: a "
                  "+ b * 2))\n"),
             "tile.reduce");
}
TEST(Expression, RecursionThatConstantsEnd) {
  EXPECT_HAS(irOf(R"(def power(x, n: tl.constexpr):
    if n == 0:
        return 1.0
    half = power(x, n // 2)
    return half * half if n % 2 == 0 else half * half * x
def k(p, f):
    tl.store(p, power(f, 3))
)"),
             "arith.mulf");
}
TEST(Expression, NamedTuples) {
  irOf(R"(class Pair(typing.NamedTuple):
    first: tl.tensor
    second: tl.constexpr = 5
def swapped(pair):
    return Pair(second=pair.first, first=pair.second)
def k(p, i):
    assert Pair(1).second == 5 and Pair(1, 3) == (1, 3) and len(Pair(1)) == 2
    pair = swapped(Pair(i, 7))
    for j in range(i):
        pair = Pair(pair.first + j, pair.second)
    tl.store(p + pair[0], pair.second * 1.0)
)");
}
TEST(Expression, KeysOfDictionariesStayConstant) {
  EXPECT_HAS(irOf("def k(p, i):\n    table = {1: i, 'two': 3.0}\n    tl.store(p + table[1], table['two'])\n"),
             "tile.store");
}
TEST(Aggregate, FieldsMethodsAndLoops) {
  std::string ir = irOf(R"(@aggregate
class State:
    index: tl.tensor
    size: tl.constexpr
    def __init__(self, index, size):
        self.index = index
        self.size = size
    def advance(self):
        self.index = self.index + 1
        if self.index == self.size:
            self.index = 0
    def next(self):
        return State(self.index + 1, self.size)
def k(p, i):
    s = State(0, 4)
    for j in range(i):
        s.advance()
        s = s.next()
    assert s.size == 4
    tl.store(p + s.index, 1.0)
)");
  EXPECT_HAS(ir, "iter_args");
  EXPECT_HAS(ir, "scf.if");
}
TEST(Aggregate, MethodMutatesCallersObjectInBranch) {
  std::string ir = irOf(R"(@aggregate
class C:
    v: tl.tensor
def bump(c, b):
    if b:
        c.v += 5
def k(p, b):
    c = C(1)
    bump(c, b)
    tl.store(p + c.v, 1.0)
)");
  EXPECT_HAS(ir, "tile.addptr %arg0, %");
  size_t result = ir.find("= scf.if");
  ASSERT_NE(result, std::string::npos) << ir;
  std::string name = ir.substr(ir.rfind('%', result), result - ir.rfind('%', result) - 1);
  EXPECT_HAS(ir, "tile.addptr %arg0, " + name);
}
TEST(Aggregate, EarlyReturnKeepsChanges) {
  std::string ir = irOf(R"(@aggregate
class C:
    v: tl.tensor
    def bump(self, i):
        if i > 3:
            self.v = i
            return 1
        self.v += 2
        return 2
def k(p, i):
    c = C(1)
    n = c.bump(i)
    tl.store(p + c.v + n, 1.0)
)");
  EXPECT_HAS(ir, "-> (i32, i32)");
}
TEST(Aggregate, OldObjectSurvivesRebindingInLoop) {
  irOf(R"(@aggregate
class C:
    v: tl.tensor
def k(p, i):
    c = C(i)
    old = c
    for j in range(i):
        c = C(c.v + 1)
    tl.store(p + c.v + old.v, 1.0)
)");
}
TEST(SimtRegion, ElementsLieInSharedMemory) {
  std::string ir = irOf(R"(def k(p, N):
    t = tl.load(p + tl.arange(0, N))
    u = tl.load(p + tl.arange(0, N))
    with dl.simt_exec_region() as (tid, n):
        if tid < N:
            t[tid] = t[tid] + u[tid]
    tl.store(p + tl.arange(0, N), t)
)");
  EXPECT_EQ(count(ir, "simt.barrier"), 2u);
  EXPECT_EQ(count(ir, "simt.smem_alloc"), 2u);
  EXPECT_EQ(count(ir, "simt.smem_load"), 2u);
  EXPECT_EQ(count(ir, "simt.smem_store"), 1u);
  EXPECT_EQ(count(ir, "simt.smem_read"), 1u);
}
TEST(SimtRegion, OutsideElementsCannotBeAssigned) {
  EXPECT_HAS(emitText("def k(p, N):\n    t = tl.arange(0, N)\n    t[3] = 1\n").error, "5:5 unsupported-feature: ");
}

TEST(Name, TensorMethodsAreTheTables) {
  EXPECT_EQ(
      emitText(
          "def k(p):\n    x = tl.load(p + tl.arange(0, 32)).unsqueeze(1)\n    tl.static_assert(x.shape == (32, 1))\n"
          "    y = x.squeeze(1)\n    tl.static_assert(y.shape == (32,))\n    z = y.where(y, y).zeros_like()\n")
          .error,
      "");
  Result r = emitText("def k(p):\n    tl.load(p).unsqueze(0)\n");
  EXPECT_HAS(r.notes, "did you mean `unsqueeze`?");
}

}  // namespace
}  // namespace tandem::frontend::test
