// Every kind of error the emitter reports: place, kind and words.
#include "compiler/frontend/emit/test/emit_text.h"
#include <gtest/gtest.h>

namespace tandem::frontend::test {
namespace {

std::string errorOf(const std::string& text) { return emitText(text).error; }

TEST(Error, UnknownName) {
  Result r = emitText("def k(p, offset):\n    tl.store(p + ofset, 1.0)\n");
  EXPECT_EQ(r.error, "4:18 unknown-name: name `ofset` is not defined");
  EXPECT_HAS(r.notes, "4:18 did you mean `offset`?");
}
TEST(Error, UnknownMember) {
  Result r = emitText("def k(p):\n    tl.lod(p)\n");
  EXPECT_EQ(r.error, "4:5 unknown-name: module `tl` has no `lod`");
  EXPECT_HAS(r.notes, "did you mean `load`?");
  for (std::string name : {"float8e4m3", "float8_e4m3fn"})  // PyTorch's words
    EXPECT_HAS(emitText("def k(p):\n    p.to(tl." + name + ")\n").notes, "did you mean `float8e4nv`?");
  EXPECT_EQ(errorOf("def k(p):\n    x = tl.load(p).colour\n"), "4:9 unknown-name: `fp32` tensor has no `colour`");
}
TEST(Error, HostNames) {
  Result r = emitText("import numpy as np\ndef k(p):\n    np.sqrt(p)\n");
  EXPECT_EQ(r.error, "5:5 unknown-name: module `numpy` has no `sqrt`");
  EXPECT_HAS(r.notes, "5:5 use `tl.sqrt`");
  r = emitText("from torch import float16 as half\ndef k(p):\n    tl.load(p).to(half)\n");
  EXPECT_EQ(r.error, "5:19 foreign-value: `half` is `float16` of module `torch`; kernels cannot use it");
  EXPECT_HAS(r.notes, "use `tl.float16`");
}
TEST(Error, ReturnsOfNothingAndOfSomething) {
  Result r = emitText("def f(x):\n    if x > 3:\n        return\n    return x\ndef k(i):\n    f(i)\n");
  EXPECT_EQ(r.error, "4:5 type-mismatch: `f` returns `None` when the condition holds and `int32` when it does not");
  EXPECT_HAS(r.notes, "give every `return` of the function a value, or none");
}
TEST(Error, MathOnConstants) {
  const std::string k = "import math\ndef k(p, i, N):\n    tl.store(p, ";
  for (std::string call :
       {"math.sqrt(N)", "math.log2(math.e)", "math.log(N, 2)", "math.ceil(N / 3)", "math.pow(2, -N)"})
    EXPECT_EQ(errorOf(k + call + ")\n"), "");
  Result r = emitText(k + "math.sqrt(i))\n");
  EXPECT_EQ(r.error, "5:17 type-error: `math.sqrt` takes constants, but got `int32` tensor");
  EXPECT_HAS(r.notes, "use `tl.sqrt`");
  EXPECT_EQ(errorOf(k + "math.sqrt(-N))\n"), "5:17 type-error: `math.sqrt` has no value there");
  EXPECT_EQ(errorOf(k + "math.atan2(N))\n"), "5:17 type-error: `math.atan2` takes 2 numbers, but got 1");
  EXPECT_EQ(errorOf(k + "math.floor('4'))\n"), "5:17 type-error: `math.floor` takes numbers, but got constexpr '4'");
}
TEST(Error, ResultsThatMustBeUsed) {
  const std::string block = "    b = tl.make_block_ptr(p, (8,), (1,), (0,), (8,), (0,))\n";
  const std::string message = "unused-result: the result of `advance` is not used, and the call does no more";
  EXPECT_EQ(errorOf("def k(p):\n" + block + "    tl.advance(b, (8,))\n"), "5:5 " + message);
  EXPECT_EQ(errorOf("def k(p):\n" + block + "    b.advance((8,))\n"), "5:5 " + message);
  EXPECT_EQ(errorOf("def k(p):\n" + block + "    b = b.advance((8,))\n"), "");
  const std::string marked = "@must_use_result\ndef f(x):\n    return x\n";
  EXPECT_EQ(errorOf(marked + "def k(i):\n    f(i)\n"),
            "7:5 unused-result: the result of `f` is not used, and the call does no more");
  EXPECT_EQ(errorOf(marked + "def k(i):\n    j = f(i)\n"), "");
}
TEST(Error, MissingConstexprNamesTheParameter) {
  Result r = emitText("def k(i):\n    tl.arange(0, i * 2)\n");
  EXPECT_HAS(r.notes, "`i` is a parameter of the kernel; declare `i: tl.constexpr`");
  r = emitText("def k(i):\n    tl.arange(0, i + tl.program_id(0))\n");
  EXPECT_EQ(r.notes.find("tl.constexpr"), std::string::npos);
}
TEST(Error, Arguments) {
  const std::string f = "def f(a, b, *, c=1):\n    return a\n";
  EXPECT_EQ(errorOf(f + "def k(i):\n    f(i)\n"), "6:5 missing-argument: argument `b` of `f` is missing");
  EXPECT_EQ(errorOf(f + "def k(i):\n    f(i, i, i)\n"),
            "6:5 argument-count: `f` takes 2 positional arguments, but got 3");
  EXPECT_EQ(errorOf(f + "def k(i):\n    f(i, i, d=i)\n"), "6:13 unknown-argument: `f` has no parameter `d`");
  EXPECT_EQ(errorOf(f + "def k(i):\n    f(i, i, a=i)\n"), "6:5 argument-count: argument `a` of `f` is given twice");
  EXPECT_EQ(errorOf(f + "def k(i):\n    f(i, b=i, b=i)\n"), "6:15 argument-count: keyword argument `b` is given twice");
}
TEST(Error, UnknownKeyword) {
  Result r = emitText("def k(p, b):\n    tl.load(p, maks=b)\n");
  EXPECT_EQ(r.error.substr(0, 66), "4:16 unknown-argument: `tl.load` has no parameter `maks` (its sign");
  EXPECT_HAS(r.notes, "4:16 did you mean `mask`?");
  r = emitText("def f(scale):\n    return scale\ndef k(i):\n    f(i,\n      scael=2)\n");
  EXPECT_EQ(r.error, "7:7 unknown-argument: `f` has no parameter `scael`");
  EXPECT_HAS(r.notes, "7:7 did you mean `scale`?");
  // The call in the library is not the author's: the line that called the library is.
  r = emitText("def k(p):\n    x = tl.load(p + tl.arange(0, 32))\n    x.sum(axsi=0)\n");
  EXPECT_EQ(r.error, "5:11 unknown-argument: `sum` has no parameter `axsi`");
}
TEST(Error, LoopElse) {
  EXPECT_EQ(errorOf("def k(i):\n    for j in range(i):\n        pass\n    else:\n        pass\n"),
            "6:5 unsupported-feature: `else` of a loop is not supported in kernels");
  EXPECT_EQ(errorOf("def k(i):\n    while i > 0:\n        i -= 1\n    else:\n        pass\n"),
            "6:5 unsupported-feature: `else` of a loop is not supported in kernels");
}
TEST(Error, KeywordDictionaries) {
  EXPECT_EQ(errorOf("def k(p, i):\n    tl.load(p, **i)\n"),
            "4:16 unsupported-feature: `**` in a call is not supported in kernels");
}
TEST(Error, FormatSpecs) {
  EXPECT_EQ(errorOf("def k(N: tl.constexpr):\n    x: tl.constexpr = f\"{N:.2q}\"\n"),
            "4:25 format-spec: format spec `.2q` is not supported for constexpr 32");
  EXPECT_EQ(errorOf("def k(i):\n    x: tl.constexpr = f\"{i:>3}\"\n").substr(0, 22), "4:25 constexpr-needed:");
}
TEST(Error, ConstexprNeeded) {
  // Triton allows a tensor for a constexpr parameter; only its use as a constant is an error. Tandem does the same.
  EXPECT_EQ(errorOf("def f(n: tl.constexpr):\n    return n + 1\ndef k(i):\n    f(i)\n"), "");
  EXPECT_EQ(errorOf("def f(n: tl.constexpr):\n    return tl.arange(0, n)\ndef k(i):\n    f(i)\n").substr(0, 22),
            "4:12 constexpr-needed:");
  EXPECT_EQ(errorOf("def k(i):\n    x: tl.constexpr = i + 1\n    tl.arange(0, x)\n").substr(0, 22),
            "5:5 constexpr-needed: ");
  EXPECT_EQ(
      errorOf(
          "def k(i):\n    p: tl.constexpr = tl.cast(tl.cast(i, tl.int64), tl.pointer_type(tl.int8), bitcast=True)\n"),
      "");
}
TEST(Error, Recursion) {
  Result r = emitText("def f(a):\n    return g(a)\ndef g(a):\n    return f(a)\ndef k(i):\n    f(i)\n");
  EXPECT_EQ(r.error,
            "4:12 recursion: `f` calls itself more than 100 deep; conditions known when the kernel is compiled must "
            "end it sooner");
  EXPECT_HAS(r.notes, "8:5 `f` is called from here");
  EXPECT_HAS(errorOf("def f(a):\n    r = a\n    if a > 3:\n        r = f(a - 1)\n    return r\ndef k(i):\n    f(i)\n"),
             "6:13 recursion: ");
  EXPECT_HAS(errorOf("def f(n: tl.constexpr):\n    f(n + 1)\n    f(n + 2)\ndef k(i):\n    f(0)\n"), "4:5 recursion: ");
}
TEST(Error, NamedTuples) {
  const std::string pair = "class P(NamedTuple):\n    x: object\n    y: object = 2\n";
  EXPECT_EQ(errorOf(pair + "def k(i):\n    P()\n"), "7:5 missing-argument: field `x` of `P` is missing");
  EXPECT_EQ(errorOf(pair + "def k(i):\n    P(1, 2, 3)\n"), "7:5 argument-count: `P` has 2 fields, but got 3 arguments");
  EXPECT_EQ(errorOf(pair + "def k(i):\n    P(1, z=3)\n"), "7:5 unknown-argument: `P` has no field `z`");
  EXPECT_EQ(errorOf(pair + "def k(i):\n    P(1, x=3)\n"), "7:5 argument-count: field `x` of `P` is given twice");
  EXPECT_HAS(errorOf(pair + "def k(i):\n    P(1).z\n"), "has no `z`");
}
TEST(Error, BranchTypes) {
  Result r = emitText("def k(i, b):\n    if b:\n        x = 1.0\n    else:\n        x = i\n");
  EXPECT_EQ(r.error, "7:9 type-mismatch: `x` is `fp32` when the condition holds and `int32` when it does not");
  EXPECT_HAS(r.notes, "5:9 `x` is `fp32` here");
}
TEST(Error, MaybeUndefined) {
  Result r = emitText("def k(p, b):\n    if b:\n        x = 1.0\n    tl.store(p, x)\n");
  EXPECT_EQ(r.error, "6:17 maybe-undefined: `x` may be undefined here");
  EXPECT_HAS(r.notes, "5:9 `x` is assigned only on some paths");
  EXPECT_EQ(errorOf("def k(p, i):\n    for j in range(i):\n        y = 1.0\n    tl.store(p, y)\n"),
            "6:17 maybe-undefined: `y` may be undefined here");
  std::string loop = "    for j in range(i):\n        pass\n",
              reads = "    for a in range(i):\n        tl.store(p + j, 1.0)\n";
  EXPECT_EQ(errorOf("def k(p, i):\n" + loop + reads), "");
  EXPECT_HAS(errorOf("def k(p, i):\n" + loop + reads + "        for j in range(a):\n            pass\n"),
             "`j` may be undefined here");
  EXPECT_HAS(
      errorOf("def k(p, i, b):\n    if b:\n        for j in range(i):\n            pass\n    tl.store(p + j, 1.0)\n"),
      "`j` may be undefined here");
}
TEST(Error, LoopTypes) {
  Result r = emitText("def k(i):\n    x = 0\n    for j in range(i):\n        x = 1.5\n");
  EXPECT_EQ(r.error, "6:9 type-mismatch: `x` is `int32` before the loop and `fp32` after its body");
  EXPECT_HAS(r.notes, "4:5 ");
  EXPECT_EQ(errorOf("def k(i, N: tl.constexpr):\n    for j in range(i):\n        N = N + 1\n"),
            "5:9 constexpr-reassigned: cannot reassign constexpr `N` in the loop");
  EXPECT_EQ(errorOf("def k(i):\n    t = tl.float32\n    for j in range(i):\n        t = tl.float16\n").substr(0, 18),
            "6:9 type-mismatch:");
}
TEST(Error, UnsupportedFeatures) {
  EXPECT_EQ(errorOf("def k(i):\n    for j in range(i):\n        break\n"),
            "5:9 unsupported-feature: `break` is not supported in kernels");
  EXPECT_EQ(errorOf("def k(i):\n    if i > 0:\n        continue\n"),
            "5:9 unsupported-feature: `continue` that leaves more than the body of a loop is not supported in kernels");
  EXPECT_EQ(errorOf("def k(i):\n    for j in range(i):\n        return\n"),
            "5:9 unsupported-feature: `return` inside a `for` loop is not supported in kernels");
  EXPECT_EQ(errorOf("def k(i):\n    while i > 0:\n        if i == 3:\n            return\n"),
            "6:13 unsupported-feature: `return` inside a `while` loop is not supported in kernels");
  EXPECT_HAS(errorOf("def k(i):\n    try:\n        i = 1\n    except ValueError:\n        i = 2\n"),
             "4:5 unsupported-feature: `try`");
  EXPECT_HAS(errorOf("def k(i):\n    yield i\n"), "4:5 unsupported-feature: ");
  EXPECT_EQ(errorOf("def k(i):\n    x = {**i}\n"),
            "4:12 unsupported-feature: `**` in a dictionary is not supported in kernels");
  EXPECT_HAS(errorOf("def k(i):\n    x = {1: 2}[3]\n"), "unknown-name: the dictionary has no key 3");
  EXPECT_EQ(errorOf("def k(i):\n    def g():\n        pass\n").substr(0, 24), "4:5 unsupported-feature:");
  EXPECT_EQ(errorOf("def k(i):\n    with open('x'):\n        pass\n").substr(0, 10), "4:10 unkno");
}
TEST(Error, Values) {
  EXPECT_EQ(errorOf("def k(i):\n    a, b = (1,)\n"), "4:5 unpack-count: cannot unpack 1 values into 2 variables");
  EXPECT_EQ(errorOf("def k(i):\n    a, b = (1, 2, 3)\n    a = a + b + i\n"), "");  // as Triton
  EXPECT_EQ(errorOf("def k(i):\n    a, b = i\n"),
            "4:5 type-error: cannot unpack `int32` tensor into several variables");
  EXPECT_HAS(errorOf("def k(i):\n    i(3)\n"), "4:5 not-callable: ");
  EXPECT_HAS(errorOf("def k(i):\n    for j in i:\n        pass\n"), "4:14 not-iterable: ");
  EXPECT_EQ(errorOf("def k(i):\n    for j in range(0, i, 0):\n        pass\n"),
            "4:14 zero-step: the step of a loop must not be zero");
  EXPECT_HAS(errorOf("def k(f):\n    for j in range(f):\n        pass\n"),
             "4:14 type-mismatch: the end of a loop must be an integer scalar");
  EXPECT_HAS(errorOf("def k(i):\n    return i\n"), "kernel-return");
}
TEST(Error, ForeignValues) {
  EXPECT_EQ(errorOf("table = load_table('x')\ndef k(p):\n    tl.store(p, table)\n"),
            "5:17 foreign-value: `table` is host value `table`, not a constant of compile time; kernels cannot use it");
  EXPECT_HAS(errorOf("import torch\ndef k(p):\n    tl.store(p, torch.pi)\n"),
             "5:17 unknown-name: module `torch` has no `pi`");
}
TEST(Error, EndlessUnrolling) {
  EXPECT_HAS(errorOf("def k(p):\n    for a in tl.static_range(100000000):\n        pass\n"), "too-large");
}
TEST(Error, EndlessValues) {
  auto thirtyTimes = [](const std::string& first, const std::string& again) {
    std::string text = "def k(i):\n    a = " + first + "\n";
    for (int n = 0; n < 30; ++n) text += "    " + again + "\n";
    return errorOf(text);
  };
  EXPECT_HAS(thirtyTimes("(i,)", "a = (a, a)"),
             "too-large: the kernel is too large: unrolled loops, inlined calls and the elements of");
  EXPECT_HAS(thirtyTimes("{'x': i}", "a = {'x': a, 'y': a}"), "too-large");
  EXPECT_HAS(thirtyTimes("(i,)", "a = a + a"), "too-large");
  EXPECT_HAS(thirtyTimes("(i,)", "a += a"), "too-large");
  EXPECT_HAS(thirtyTimes("'text'", "a = a + a"), "too-large");
  EXPECT_HAS(thirtyTimes("'text'", "a = f'{a}{a}'"), "too-large");
  EXPECT_EQ(errorOf("def k(i):\n    a = (i,)\n    for n in tl.static_range(100000):\n        a = (a,)\n"),
            "6:13 too-large: tuples are nested more than 100 deep");
}
TEST(Error, ConditionalSides) {
  EXPECT_EQ(errorOf("def k(i, b):\n    x = 1.0 if b else i\n"),
            "4:23 type-mismatch: the sides of a conditional expression have types `fp32` and `int32`");
}
TEST(Error, CalleeErrorNamesCaller) {
  Result r = emitText("def f(a):\n    return a + zzz\ndef k(i):\n    f(i)\n");
  EXPECT_EQ(r.error, "4:16 unknown-name: name `zzz` is not defined");
  EXPECT_HAS(r.notes, "6:5 ");
}

}  // namespace
}  // namespace tandem::frontend::test
