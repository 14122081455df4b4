// An op that the simulator cannot run is an error at its line.
#include "compiler/lower/sim/test/lowered.h"

namespace tandem::lower::test {
namespace {

void expectError(const std::string& text, uint32_t line, const std::string& message) {
  Diagnostic error = errorOf(text);
  EXPECT_EQ(error.range.line, line);
  EXPECT_EQ(error.message, message);
}

TEST(Error, TileOfTheThreadIndex) {
  expectError("func.func @f() {\n  %t = simt.tid 0\n  %s = tile.splat %t : i32 -> tensor<4xi32>\n  return\n}", 3,
              "a tile cannot depend on the thread index");
}

TEST(Error, TileMergedOnTheThreadIndex) {
  expectError(R"(func.func @f(%x: i32) {
    %t = simt.tid 0
    %c = arith.cmpi eq, %t, %x : i32
    %a = arith.constant dense<1.0> : tensor<4xf32>
    %r = scf.if %c -> tensor<4xf32> {
      scf.yield %a : tensor<4xf32>
    } else {
      %b = arith.addf %a, %a : tensor<4xf32>
      scf.yield %b : tensor<4xf32>
    }
    return
  })",
              5, "a tile cannot depend on the thread index");
}

TEST(Error, TileStoredUnderAThreadsCondition) {
  expectError(R"(func.func @f(%c: tensor<4x!tile.ptr<f32>>) { return })", 1,
              "argument `arg0` must be a number or a pointer");
  expectError(R"(func.func @f(%p: !tile.ptr<f32>, %x: i32) {
    %t = simt.tid 0
    %c = arith.cmpi eq, %t, %x : i32
    %q = tile.splat %p : !tile.ptr<f32> -> tensor<4x!tile.ptr<f32>>
    %a = arith.constant dense<1.0> : tensor<4xf32>
    scf.if %c {
      tile.store %q, %a : tensor<4x!tile.ptr<f32>>, tensor<4xf32>
    }
    return
  })",
              7, "`tile.store` of a tile cannot stand under a condition that depends on the thread index");
}

TEST(Error, UnknownAssembly) {
  Diagnostic error = errorOf(
      "func.func @f() {\n  %t = tile.inline_asm \"nop;\\nexit;\", \"=r\"() {pure = true, pack = 1 : i32} : () -> i32\n "
      " return\n}");
  EXPECT_EQ(error.kind, "unsupported");
  EXPECT_EQ(error.message, "the simulator cannot run `nop`: it has no `nop`");
  EXPECT_EQ(error.range.line, 2u);
}

TEST(Error, KnownAssemblyIsTheThreadIndex) {
  auto p = lowered(
      "func.func @f() {\n  %t = tile.inline_asm \"mov.u32  $0, %tid.x;\", \"=r\"() {pure = true, pack = 1 : i32} : () "
      "-> i32\n  return\n}");
  EXPECT_EQ(p->code[0].op, interpreter::Op::Tid);
  EXPECT_EQ(resultType(*p, p->code[0]).extent, interpreter::Extent::Lanes);
}

TEST(Error, TypesAndCalls) {
  expectError("func.func @f() {\n  %a = arith.constant 1 : i128\n  return\n}", 2, "the simulator has no type `i128`");
  expectError("func.func @f() {\n  func.call @g() : () -> ()\n  return\n}\nfunc.func private @g()", 2,
              "the simulator cannot run `func.call`");
  expectError("func.func private @g()", 1, "`g` has no body");
}

TEST(Error, CallersAreNotes) {
  Diagnostic error = errorOf(
      "func.func @f() {\n  %a = arith.constant 1 : i128 loc(callsite(\"k.mlir\":7:3 at \"k.mlir\":9:5))\n  return\n}");
  EXPECT_EQ(error.range.line, 7u);
  ASSERT_EQ(error.notes.size(), 1u);
  EXPECT_EQ(error.notes[0].range.line, 9u);
}

}  // namespace
}  // namespace tandem::lower::test
