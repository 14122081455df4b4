#include "compiler/analysis/written_parameters.h"
#include "compiler/analysis/test/kernel.h"

namespace tandem::analysis::test {

using Numbers = std::optional<llvm::SmallVector<unsigned>>;

static Numbers written(const std::string& ops) {
  Kernel k(
      "func.func @k(%a: !tile.ptr<f32>, %b: !tile.ptr<f32>, %c: !tile.ptr<f32>, %n: i32, %x: f32, %t: "
      "!tile.ptr<!tile.ptr<f32>>) {\n"
      "%c0 = arith.constant 0 : i32\n%c1 = arith.constant 1 : i32\n%is = arith.cmpi slt, %n, %c1 : i32\n" +
      ops + "\nreturn }");
  return writtenParameters(k.function());
}

TEST(WrittenParameters, StoresAndUpdates) {
  EXPECT_EQ(written(""), Numbers(llvm::SmallVector<unsigned>()));
  EXPECT_EQ(written("tile.store %b, %x : !tile.ptr<f32>, f32"), Numbers({1}));
  EXPECT_EQ(written("%v = tile.load %a : !tile.ptr<f32> -> f32\n%p = tile.addptr %c, %n : !tile.ptr<f32>, i32\n"
                    "tile.store %p, %v : !tile.ptr<f32>, f32"),
            Numbers({2}));
}

TEST(WrittenParameters, PointersThroughControlFlow) {
  std::string loop =
      "%r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%p = %a, %q = %b) -> (!tile.ptr<f32>, !tile.ptr<f32>) : i32 {\n"
      "  %next = tile.addptr %p, %c1 : !tile.ptr<f32>, i32\n"
      "  scf.yield %next, %q : !tile.ptr<f32>, !tile.ptr<f32>\n}\n";
  EXPECT_EQ(written(loop + "tile.store %r#0, %x : !tile.ptr<f32>, f32"), Numbers({0}));
  EXPECT_EQ(written(loop + "tile.store %r#1, %x : !tile.ptr<f32>, f32"), Numbers({1}));
  EXPECT_EQ(written("%r = scf.if %is -> (!tile.ptr<f32>) {\n  scf.yield %a : !tile.ptr<f32>\n} else {\n"
                    "  scf.yield %c : !tile.ptr<f32>\n}\ntile.store %r, %x : !tile.ptr<f32>, f32"),
            Numbers({0, 2}));
  EXPECT_EQ(written("%r = arith.select %is, %b, %c : !tile.ptr<f32>\ntile.store %r, %x : !tile.ptr<f32>, f32"),
            Numbers({1, 2}));
}

TEST(WrittenParameters, PointersFromElsewhere) {
  EXPECT_EQ(written("%p = tile.load %t : !tile.ptr<!tile.ptr<f32>> -> !tile.ptr<f32>\n"
                    "tile.store %p, %x : !tile.ptr<f32>, f32"),
            std::nullopt);
  EXPECT_EQ(written("%l = arith.constant 4096 : i64\n%p = tile.int_to_ptr %l : i64 -> !tile.ptr<f32>\n"
                    "tile.store %p, %x : !tile.ptr<f32>, f32"),
            std::nullopt);
}

}  // namespace tandem::analysis::test
