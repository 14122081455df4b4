// Lowered programs run on one rank: their memory agrees with the text, before and after canonicalisation.
#include "compiler/lower/sim/test/lowered.h"
#include "interpreter/world.h"
#include <mlir/Pass/PassManager.h>
#include <mlir/Transforms/Passes.h>

namespace tandem::lower::test {
using namespace interpreter;
namespace {

constexpr int warps = 1, threads = 32;

// Runs the program on (pointer to `count` ints that start as 0..count-1, count) and gives the ints.
std::vector<int32_t> runProgram(ProgramPtr program, int count) {
  WorldOptions options;
  World world(options);
  Address memory = world.allocate(0, count * sizeof(int32_t), MemoryKind::Local, true, "p");
  auto* data = reinterpret_cast<int32_t*>(memory);
  for (int i = 0; i < count; ++i) data[i] = i;
  Launch launch;
  launch.program = std::move(program);
  launch.numWarps = warps;
  launch.arguments = {{memory}, {static_cast<uint64_t>(count)}};
  world.launch(0, 0, launch);
  world.run([&] { return world.idle(0); });
  for (const Report& report : world.reports()) ADD_FAILURE() << wordOf(report.kind) << ": " << report.message;
  return {data, data + count};
}

// The result of `body` with %p and %n, which must not change by canonicalisation.
std::vector<int32_t> run(const std::string& body, int count = threads) {
  Source source(
      "func.func @f(%p: !tile.ptr<i32>, %n: i32) {\n  %c0 = arith.constant 0 : i32\n  %c1 = arith.constant 1 : i32\n"
      "  %c2 = arith.constant 2 : i32\n" +
      body + "\n  return\n}");
  if (!source.module) throw std::runtime_error("the test's text does not parse");
  std::vector<int32_t> plain = runProgram(source.lower(), count);
  mlir::PassManager passes(source.module->getContext());
  passes.addPass(mlir::createCanonicalizerPass());
  passes.addPass(mlir::createCSEPass());
  EXPECT_TRUE(mlir::succeeded(passes.run(*source.module)));
  EXPECT_EQ(runProgram(source.lower(), count), plain);
  return plain;
}

template <typename F>
std::vector<int32_t> expected(F f, int count = threads) {
  std::vector<int32_t> values;
  for (int i = 0; i < count; ++i) values.push_back(f(i));
  return values;
}

const std::string tile32 = R"(
  %r = tile.make_range 0 to 32 : tensor<32xi32>
  %b = tile.splat %p : !tile.ptr<i32> -> tensor<32x!tile.ptr<i32>>
  %a = tile.addptr %b, %r : tensor<32x!tile.ptr<i32>>, tensor<32xi32>
  %v = tile.load %a : tensor<32x!tile.ptr<i32>> -> tensor<32xi32>
)";
const std::string store32 = "\n  tile.store %a, %w : tensor<32x!tile.ptr<i32>>, tensor<32xi32>";
const std::string thread = "\n  %t = simt.tid 0\n  %q = tile.addptr %p, %t : !tile.ptr<i32>, i32\n";
const std::string storeThread = "\n  simt.st relaxed gpu %q, %w : !tile.ptr<i32>, i32";

TEST(Run, Elementwise) {
  EXPECT_EQ(run(tile32 + "%w = arith.muli %v, %v : tensor<32xi32>" + store32), expected([](int i) { return i * i; }));
}

TEST(Run, IntegerPower) {
  EXPECT_EQ(
      run(tile32 + "%k = arith.constant dense<3> : tensor<32xi32>\n%w = math.ipowi %v, %k : tensor<32xi32>" + store32),
      expected([](int i) { return i * i * i; }));
}

TEST(Run, LoopWithSwappedCarries) {
  auto fibonacci = [](int n) {
    int a = 0, b = 1;
    for (int i = 0; i < n; ++i) b = std::exchange(a, b) + b;
    return a;
  };
  EXPECT_EQ(run(R"(%r:2 = scf.for %i = %c0 to %n step %c2 iter_args(%a = %c0, %b = %c1) -> (i32, i32) : i32 {
    %s = arith.addi %a, %b : i32
    scf.yield %b, %s : i32, i32
  }
  tile.store %p, %r#0 : !tile.ptr<i32>, i32)",
                8)[0],
            fibonacci(4));
}

TEST(Run, UniformWhile) {
  EXPECT_EQ(run(R"(%r:2 = scf.while (%a = %n, %s = %c0) : (i32, i32) -> (i32, i32) {
    %d = arith.cmpi sgt, %a, %c0 : i32
    scf.condition(%d) %s, %a : i32, i32
  } do {
  ^bb0(%s: i32, %a: i32):
    %e = arith.subi %a, %c1 : i32
    %u = arith.addi %s, %a : i32
    scf.yield %e, %u : i32, i32
  }
  tile.store %p, %r#0 : !tile.ptr<i32>, i32)",
                8)[0],
            36);
}

TEST(Run, MaskedIf) {
  EXPECT_EQ(run(thread + R"(%k = arith.remsi %t, %c2 : i32
  %d = arith.cmpi eq, %k, %c0 : i32
  %w = scf.if %d -> i32 {
    scf.yield %n : i32
  } else {
    %e = arith.muli %t, %c2 : i32
    scf.yield %e : i32
  })" + storeThread),
            expected([](int i) { return i % 2 ? 2 * i : threads; }));
}

TEST(Run, MaskedForWithATripCountOfEachThread) {
  EXPECT_EQ(run(thread + R"(%w = scf.for %i = %c0 to %t step %c1 iter_args(%s = %c2) -> i32 : i32 {
    %e = arith.addi %s, %i : i32
    scf.yield %e : i32
  })" + storeThread),
            expected([](int i) { return 2 + i * (i - 1) / 2; }));
}

TEST(Run, MaskedWhileWithATripCountOfEachThread) {
  EXPECT_EQ(run(thread + R"(%c3 = arith.constant 3 : i32
  %w:2 = scf.while (%x = %t, %k = %c0) : (i32, i32) -> (i32, i32) {
    %d = arith.cmpi sgt, %x, %c0 : i32
    scf.condition(%d) %k, %x : i32, i32
  } do {
  ^bb0(%k: i32, %x: i32):
    %e = arith.subi %x, %c3 : i32
    %u = arith.addi %k, %c1 : i32
    scf.yield %e, %u : i32, i32
  }
  simt.st relaxed gpu %q, %w#0 : !tile.ptr<i32>, i32)"),
            expected([](int i) { return (i + 2) / 3; }));
}

std::string combine(const std::string& op, const std::string& attributes, const std::string& result,
                    const std::string& body) {
  return "%w = \"tile." + op + "\"(%v) <{" + attributes + "}> ({\n^bb0(%x: i32, %y: i32):\n" + body +
         "\n  tile.yield %z : i32\n}) : (tensor<32xi32>) -> " + result + "\n";
}
const std::string storeScalar = "  tile.store %p, %w : !tile.ptr<i32>, i32";

TEST(Run, Reduce) {
  EXPECT_EQ(run(tile32 + combine("reduce", "axis = 0 : i32", "i32", "%z = arith.addi %x, %y : i32") + storeScalar)[0],
            496);
}

TEST(Run, ReduceWithABranchInItsFunction) {
  const std::string largest = R"(%d = arith.cmpi sgt, %x, %y : i32
  %z = scf.if %d -> i32 {
    scf.yield %x : i32
  } else {
    %e = arith.addi %y, %c0 : i32
    scf.yield %e : i32
  })";
  EXPECT_EQ(run(tile32 + combine("reduce", "axis = 0 : i32", "i32", largest) + storeScalar)[0], 31);
}

TEST(Run, ScanBothWays) {
  const std::string sum = "%z = arith.addi %x, %y : i32";
  EXPECT_EQ(run(tile32 + combine("scan", "axis = 0 : i32, reverse = false", "tensor<32xi32>", sum) + store32),
            expected([](int i) { return i * (i + 1) / 2; }));
  EXPECT_EQ(run(tile32 + combine("scan", "axis = 0 : i32, reverse = true", "tensor<32xi32>", sum) + store32),
            expected([](int i) { return 496 - i * (i - 1) / 2; }));
}

TEST(Run, AtomicsOfThreadsCountThem) {
  EXPECT_EQ(run(R"(%o = simt.atomic_rmw add relaxed gpu %p, %c1 : !tile.ptr<i32>, i32 -> i32
  %o2 = tile.atomic_rmw add relaxed gpu %p, %c1 : !tile.ptr<i32>, i32 -> i32)")[0],
            threads + 1);
}

}  // namespace
}  // namespace tandem::lower::test
