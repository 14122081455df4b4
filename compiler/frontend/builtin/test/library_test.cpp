// Kernels that use the functions written in our language: they emit verified ops of the right kind and type.
#include "compiler/frontend/emit/test/emit_text.h"
#include <gtest/gtest.h>

namespace tandem::frontend::test {

// A kernel that computes `body` from a tile `x` of 32 float32 and stores the result into `y`.
static Result store(const std::string& body) {
  return emitText(
      "import triton\nfrom triton_dist.language.extra import language_extra as le\n@triton.jit\ndef k(p, h, i, l, f):\n"
      "  o = tl.arange(0, 32)\n  x = tl.load(p + o)\n" +
      body + "\n");
}

#define EXPECT_EMITS(result, what) \
  do {                             \
    EXPECT_EQ((result).error, ""); \
    EXPECT_HAS((result).ir, what); \
  } while (0)

TEST(Library, ScalarArithmetic) {
  EXPECT_EMITS(store("  tl.store(p, tl.cdiv(i, 32))"), "arith.divsi");
  EXPECT_EMITS(store("  tl.static_assert(tl.cdiv(65, 32) == 3)\n  tl.static_assert(triton.cdiv(64, 32) == 2)"), "func");
  EXPECT_EMITS(
      store(
          "  tl.static_assert(triton.next_power_of_2(33) == 64)\n  tl.static_assert(triton.next_power_of_2(64) == 64)"),
      "func");
  EXPECT_EMITS(store("  a, b = tl.swizzle2d(i, i, i, i, 4)\n  tl.store(p, a + b)"), "arith.remsi");
}

TEST(Library, Reductions) {
  EXPECT_EMITS(store("  s = tl.sum(x)\n  tl.static_assert(s.dtype == tl.float32)\n  tl.store(p, s)"), "tile.reduce");
  EXPECT_EMITS(store("  s = o.to(tl.int8).sum(axis=0)\n  tl.static_assert(s.dtype == tl.int32)"), "tile.reduce");
  EXPECT_EMITS(store("  s = tl.sum(x > 0)\n  tl.static_assert(s.dtype == tl.uint32)"), "tile.reduce");
  EXPECT_EMITS(
      store("  m = tl.max(x.to(tl.float16), axis=0, keep_dims=True)\n  tl.static_assert(m.dtype == tl.float32)\n"
            "  tl.static_assert(m.shape[0] == 1)"),
      "tile.reduce");
  EXPECT_EMITS(store("  v, i0 = tl.min(x, 0, return_indices=True)\n  tl.static_assert(i0.dtype == tl.int32)"),
               "tile.reduce");
  EXPECT_EMITS(store("  tl.store(p, tl.argmax(x, 0, tie_break_left=False))\n  tl.store(p, x.argmin(axis=0))"),
               "tile.reduce");
  EXPECT_EMITS(store("  y = tl.reshape(x, [4, 8])\n  z = tl.max(y, 1)\n  tl.static_assert(z.shape == (4,))"),
               "tile.reduce");
  EXPECT_EMITS(store("  tl.store(p, tl.xor_sum(o))\n  tl.store(p, tl.reduce_or(o, 0))"), "tile.reduce");
  EXPECT_HAS(store("  tl.store(p, tl.xor_sum(x))").error, "static-assert");
}

TEST(Library, Scans) {
  EXPECT_EMITS(store("  tl.store(p + o, tl.cumsum(x, 0, reverse=True))"), "tile.scan");
  EXPECT_EMITS(store("  tl.store(p + o, x.cumprod(0))"), "tile.scan");
}

TEST(Library, Shapes) {
  EXPECT_EMITS(store("  y = tl.reshape(x, [4, 8]).ravel()\n  tl.static_assert(y.shape == (32,))"), "tile.reshape");
  EXPECT_EMITS(store("  y = tl.unsqueeze(x, 1)\n  tl.static_assert(y.shape == (32, 1))\n  z = tl.squeeze(y, 1)\n  "
                     "tl.static_assert(z.shape == (32,))"),
               "tile.reshape");
  EXPECT_EMITS(store("  tl.store(p + o, tl.zeros_like(x))"), "tile.store");
}

TEST(Library, Item) {
  EXPECT_EMITS(
      store("  s = tl.load(p + tl.arange(0, 1)).item()\n  tl.static_assert(len(s.shape) == 0)\n  tl.store(p, s)"),
      "tile.reduce");
  EXPECT_HAS(store("  tl.store(p, x.item())").error, "static-assert");
}

TEST(Library, Activations) {
  EXPECT_EMITS(store("  tl.store(p + o, tl.sigmoid(x))"), "math.exp");
  EXPECT_EMITS(store("  tl.store(p + o, tl.softmax(x))"), "tile.reduce");
  EXPECT_EMITS(store("  y = tl.softmax(tl.reshape(x, [4, 8]), dim=1)\n  tl.static_assert(y.shape == (4, 8))"),
               "tile.reduce");
}

TEST(Library, Sorting) {
  Result sorted = store("  tl.store(p + o, tl.sort(x))");
  EXPECT_EMITS(sorted, "tile.split");
  EXPECT_EQ(count(sorted.ir, "tile.split"), 15u);  // 1 + 2 + ... + log2(32) steps
  EXPECT_EQ(count(sorted.ir, "arith.cmpf"), 15u);  // one a step, whichever way its runs go
  EXPECT_EMITS(
      store("  y = tl.sort(tl.reshape(x, [4, 8]), dim=0, descending=True)\n  tl.static_assert(y.shape == (4, 8))"),
      "tile.join");
  EXPECT_EMITS(store("  y = tl.topk(x, 8)\n  tl.static_assert(y.shape == (8,))"), "tile.split");
  EXPECT_HAS(store("  tl.sort(x, dim=1)").error, "`dim` is 1, outside the 1 dimensions");
  EXPECT_HAS(store("  tl.flip(x, dim=-2)").error, "`dim` is -2, outside the 1 dimensions");
  EXPECT_HAS(store("  tl.sort(i)").error, "`dim` is -1, outside the 0 dimensions");
  for (const char* k : {"0", "-1", "3", "64"})
    EXPECT_HAS(store(std::string("  tl.topk(x, ") + k + ")").error, ", a power of two up to 32 is needed");
  EXPECT_EMITS(store("  y = tl.sort_impl(x, 8)\n  tl.static_assert(y.shape == (8,))"), "tile.split");
  EXPECT_EMITS(store("  y = tl.flip(tl.reshape(x, [4, 8]), 0)\n  tl.static_assert(y.shape == (4, 8))"), "tile.join");
  EXPECT_EMITS(store("  tl.store(p + o, tl.bitonic_merge(x))"), "tile.join");
}

TEST(Library, RandomNumbers) {
  Result r = store("  y = tl.rand(i, o)\n  tl.static_assert(y.dtype == tl.float32)\n  tl.store(p + o, y)");
  EXPECT_EMITS(r, "tile.mulhi_ui");
  EXPECT_EQ(count(r.ir, "tile.mulhi_ui"), 20u);  // ten rounds
  EXPECT_EMITS(store("  y = tl.randint(7, o, 4)\n  tl.static_assert(y.dtype == tl.uint32)"), "tile.mulhi_ui");
  EXPECT_EMITS(store("  tl.store(p + o, tl.randn(l, o))"), "math.cos");
  EXPECT_EMITS(store("  a, b, c, d = tl.randn4x(42, o.to(tl.int64))\n  tl.store(p + o, a + b + c + d)"), "math.sin");
  EXPECT_EMITS(store("  a, b, c, d = tl.rand4x(l, i)\n  tl.store(p, a + b + c + d)"), "tile.mulhi_ui");
}

TEST(Library, ThreadFunctions) {
  EXPECT_EMITS(store("  q = p.to(tl.pointer_type(tl.int32))\n  le.wait_eq(q, le.tid(0), i, 'gpu')"),
               "simt.ld  acquire");
  EXPECT_EMITS(store("  q = p.to(tl.pointer_type(tl.int32))\n  le.arrive_inc(q, le.tid(0), 1, 'sys')"),
               "simt.atomic_rmw  add  release  sys");
  EXPECT_EMITS(
      store(
          "  q = p.to(tl.pointer_type(tl.int32))\n  s = le.atomic_add_per_warp(q, 1, 'gpu', 'relaxed')\n  le.st(q, s)"),
      "simt.shuffle  idx");
  EXPECT_EMITS(store("  le.st(p, le.globaltimer_hi().to(tl.float32))"), "simt.special  globaltimer");
}

}  // namespace tandem::frontend::test
