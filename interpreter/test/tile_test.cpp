// Tiles: elementwise, shapes, reductions, scans, products, debugging.
#include "interpreter/test/program_builder.h"
#include <gtest/gtest.h>
#include <cstring>

namespace tandem::interpreter::test {
namespace {

// Builds a program that leaves a tile of n i32 in `out`, runs it, gives the values.
template <class Body> std::vector<int32_t> tileOf(int64_t n, Body body) {
  World world({.rankCount = 1});
  Address out = world.allocate(0, uint64_t(n) * 4, MemoryKind::Local, false, "out");
  ProgramBuilder b;
  Register o = b.pointerArgument("out", Elem::I32);
  Register value = body(b);
  Register flat = b.tile(Elem::I32, {n});
  b.add(Op::Reshape, Elem::I32, {value}, {flat});
  b.store(b.offset(b.splat(o, {n}), b.range(n), 4), flat);
  EXPECT_EQ(launchAll(world, b.finish(), {1, 1, 1}, {{out}}), World::Stop::Done) << renderAll(world);
  return {at<int32_t>(out), at<int32_t>(out) + n};
}

Register reshaped(ProgramBuilder& b, Register r, std::vector<int64_t> shape) {
  Register t = b.tile(b.program().registers[r].elem, std::move(shape));
  b.add(Op::Reshape, Elem::I32, {r}, {t});
  return t;
}

TEST(Tile, ShapesMoveElements) {
  auto got = tileOf(12, [](ProgramBuilder& b) {
    Register t = b.tile(Elem::I32, {4, 3});
    b.add(Op::Permute, Elem::I32, {reshaped(b, b.range(12), {3, 4})}, {t}, {1, 0});
    return t;
  });
  EXPECT_EQ(got, (std::vector<int32_t>{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}));
  got = tileOf(6, [](ProgramBuilder& b) {
    Register t = b.tile(Elem::I32, {2, 3});
    b.add(Op::Broadcast, Elem::I32, {reshaped(b, b.range(2), {2, 1})}, {t});
    return t;
  });
  EXPECT_EQ(got, (std::vector<int32_t>{0, 0, 0, 1, 1, 1}));
  got = tileOf(8, [](ProgramBuilder& b) {
    Register r = b.range(4), joined = b.tile(Elem::I32, {4, 2}), first = b.tile(Elem::I32, {4}),
             second = b.tile(Elem::I32, {4}), t = b.tile(Elem::I32, {8});
    b.add(Op::Join, Elem::I32, {r, b.binary(BinaryOp::MulI, r, r)}, {joined});
    b.add(Op::Split, Elem::I32, {joined}, {first, second});
    b.add(Op::Cat, Elem::I32, {second | kLastUse, first | kLastUse}, {t});
    return t;
  });
  EXPECT_EQ(got, (std::vector<int32_t>{0, 1, 4, 9, 0, 1, 2, 3}));
}

TEST(Tile, LastUseReusesWithoutChangingOthers) {
  auto got = tileOf(16, [](ProgramBuilder& b) {
    Register r = b.range(16), shared = b.tile(Elem::I32, {16}), sum = b.tile(Elem::I32, {16}),
             result = b.tile(Elem::I32, {16});
    b.add(Op::Copy, Elem::I32, {r}, {shared});
    b.add(Op::Binary, Elem::I32, {r | kLastUse, r | kLastUse}, {sum}, {}, uint8_t(BinaryOp::AddI));
    b.add(Op::Binary, Elem::I32, {sum | kLastUse, shared | kLastUse}, {result}, {}, uint8_t(BinaryOp::AddI));
    return result;
  });
  for (int k = 0; k < 16; ++k) EXPECT_EQ(got[size_t(k)], 3 * k);
}

TEST(Tile, SelectWithAUniformCondition) {
  for (int64_t condition : {0, 1}) {
    auto got = tileOf(4, [&](ProgramBuilder& b) {
      Register t = b.tile(Elem::I32, {4});
      b.add(Op::Select, Elem::I32, {b.constant(Elem::I1, condition), b.range(4), b.constantTile(Elem::I32, {4}, 7)},
            {t});
      return t;
    });
    EXPECT_EQ(got[3], condition ? 3 : 7);
  }
}

// A region that adds two i32: as instructions, and as the fast path.
int64_t addRegion(ProgramBuilder& b, bool fast) {
  Register x = b.lanes(Elem::I32), y = b.lanes(Elem::I32), sum = b.lanes(Elem::I32);
  b.program().perThread = false;
  uint32_t skip = b.add(Op::Jump, Elem::I32, {}, {}, {0});
  uint32_t begin = b.add(Op::Binary, Elem::I32, {x, y}, {sum}, {}, uint8_t(BinaryOp::AddI));
  b.patch(skip, b.pc());
  return b.region({begin, begin + 1, {x, y}, {sum}, fast ? uint8_t(BinaryOp::AddI) : kNoBinary});
}

TEST(Tile, ReducesAlongEachAxis) {
  for (bool fast : {false, true})
    for (int64_t axis : {0, 1, 2}) {
      std::vector<int64_t> shape{4, 5, 6}, rest = shape;
      rest.erase(rest.begin() + axis);
      int64_t n = rest[0] * rest[1];
      auto got = tileOf(n, [&](ProgramBuilder& b) {
        int64_t region = addRegion(b, fast);
        Register t = b.tile(Elem::I32, rest);
        b.add(Op::Reduce, Elem::I32, {reshaped(b, b.range(120), shape)}, {t}, {axis, region});
        return t;
      });
      std::vector<int32_t> expected(size_t(n), 0);
      for (int x = 0; x < 4; ++x)
        for (int y = 0; y < 5; ++y)
          for (int z = 0; z < 6; ++z)
            expected[size_t(axis == 0 ? y * 6 + z : axis == 1 ? x * 6 + z : x * 5 + y)] += x * 30 + y * 6 + z;
      EXPECT_EQ(got, expected) << axis << fast;
    }
}

TEST(Tile, ScansBothWays) {
  for (int64_t reverse : {0, 1}) {
    auto got = tileOf(12, [&](ProgramBuilder& b) {
      int64_t region = addRegion(b, false);
      Register t = b.tile(Elem::I32, {3, 4});
      b.add(Op::Scan, Elem::I32, {reshaped(b, b.range(12), {3, 4})}, {t}, {1, region, reverse});
      return t;
    });
    EXPECT_EQ(got, reverse ? (std::vector<int32_t>{6, 6, 5, 3, 22, 18, 13, 7, 38, 30, 21, 11})
                           : (std::vector<int32_t>{0, 1, 3, 6, 4, 9, 15, 22, 8, 17, 27, 38}));
  }
}

TEST(Tile, MapsPairs) {
  auto got = tileOf(8, [](ProgramBuilder& b) {
    Register x = b.lanes(Elem::I32), y = b.lanes(Elem::I32), sum = b.lanes(Elem::I32);
    b.program().perThread = false;
    uint32_t skip = b.add(Op::Jump, Elem::I32, {}, {}, {0});
    uint32_t begin = b.add(Op::Binary, Elem::I32, {x, y}, {sum}, {}, uint8_t(BinaryOp::AddI));
    b.patch(skip, b.pc());
    int64_t region = b.region({begin, begin + 1, {x, y}, {y, sum}, kNoBinary});
    Register t = b.tile(Elem::I32, {8});
    b.add(Op::MapElementwise, Elem::I32, {b.range(8)}, {t}, {2, region});
    return t;
  });
  EXPECT_EQ(got, (std::vector<int32_t>{1, 1, 3, 5, 5, 9, 7, 13}));
}

TEST(Tile, DotAccumulatesInALoop) {
  auto got = tileOf(16 * 16, [](ProgramBuilder& b) {
    Register ones = b.constantTile(Elem::F32, {16, 16}, 0x3f800000), acc = b.tile(Elem::F32, {16, 16}),
             result = b.tile(Elem::I32, {16, 16});
    b.add(Op::Constant, Elem::F32, {}, {acc}, {0, 0});
    b.forLoop(b.constant(Elem::I32, 0), b.constant(Elem::I32, 3),
              [&](Register) { b.add(Op::Dot, Elem::F32, {ones, ones, acc | kLastUse}, {acc}, {2}); });
    b.add(Op::Convert, Elem::F32, {acc}, {result}, {}, uint8_t(ConvertOp::FToS));
    return result;
  });
  for (int32_t v : got) EXPECT_EQ(v, 48);
}

TEST(Tile, GatherAndHistogram) {
  auto got = tileOf(4, [](ProgramBuilder& b) {
    Register t = b.tile(Elem::I32, {4}),
             reversed = b.binary(BinaryOp::SubI, b.constantTile(Elem::I32, {4}, 3), b.range(4));
    b.add(Op::Gather, Elem::I32, {b.binary(BinaryOp::MulI, b.range(4), b.range(4)), reversed}, {t}, {0});
    return t;
  });
  EXPECT_EQ(got, (std::vector<int32_t>{9, 4, 1, 0}));
  got = tileOf(4, [](ProgramBuilder& b) {
    Register t = b.tile(Elem::I32, {4});
    b.add(Op::Histogram, Elem::I32, {b.binary(BinaryOp::And, b.range(10), b.constantTile(Elem::I32, {10}, 3)), kNone},
          {t});
    return t;
  });
  EXPECT_EQ(got, (std::vector<int32_t>{3, 3, 2, 2}));
}

TEST(Tile, GatherOutsideIsReported) {
  World world({.rankCount = 1});
  ProgramBuilder b;
  Register t = b.tile(Elem::I32, {4});
  b.add(Op::Gather, Elem::I32, {b.range(4), b.constantTile(Elem::I32, {4}, 4)}, {t}, {0});
  EXPECT_EQ(launchAll(world, b.finish(), {1, 1, 1}, {{}}), World::Stop::Error);
  EXPECT_TRUE(hasReport(world, "index-out-of-range")) << renderAll(world);
}

TEST(Tile, WholeConstantsExternAndMulExtended) {
  auto got = tileOf(4, [](ProgramBuilder& b) {
    int32_t values[4] = {3, -7, 1 << 30, 5};
    b.program().constantBytes.resize(16);
    memcpy(b.program().constantBytes.data(), values, 16);
    Register t = b.tile(Elem::I32, {4}), low = b.tile(Elem::I32, {4}), high = b.tile(Elem::I32, {4});
    b.add(Op::Constant, Elem::I32, {}, {t}, {0, 1});
    b.add(Op::MulExtended, Elem::I32, {t, b.constantTile(Elem::I32, {4}, 8)}, {low, high}, {}, 1);
    Register sum = b.binary(BinaryOp::AddI, low, high), result = b.tile(Elem::I32, {4});
    b.add(Op::Extern, Elem::I32, {sum}, {result}, {b.string("__nv_abs")});
    return result;
  });
  EXPECT_EQ(got, (std::vector<int32_t>{24, 57, 2, 40}));
}

TEST(Tile, AnUndefinedOperationIsReportedNotRun) {
  World world({.rankCount = 1});
  ProgramBuilder b;
  Register t = b.tile(Elem::F32, {4});
  b.add(Op::Binary, Elem::F32, {b.constantTile(Elem::F32, {4}, 0), b.constantTile(Elem::F32, {4}, 0)}, {t}, {},
        uint8_t(BinaryOp::Xor));
  EXPECT_EQ(launchAll(world, b.finish(), {1, 1, 1}, {{}}), World::Stop::Error);
  EXPECT_TRUE(hasReport(world, "unsupported")) << renderAll(world);
}

TEST(Tile, PrintAssertAssume) {
  World world({.rankCount = 1});
  std::string printed;
  world.setPrinter([&](const std::string& text) { printed += text; });
  ProgramBuilder b;
  Register r = b.range(4);
  b.add(Op::Print, Elem::I32, {r, b.constant(Elem::I32, -2)}, {}, {b.string(" x: "), 0, 1, 1});
  b.add(Op::Assume, Elem::I1, {b.constant(Elem::I1, 1)});
  Register small = b.compare(CompareOp::SLt, r, b.constantTile(Elem::I32, {4}, 3));
  b.add(Op::Assert, Elem::I1, {small, kNone}, {}, {b.string("too big")});
  EXPECT_EQ(launchAll(world, b.finish(), {1, 1, 1}, {{}}), World::Stop::Error);
  EXPECT_EQ(printed,
            "pid (0, 0, 0) idx (0) x: (operand 0) 0\npid (0, 0, 0) idx (1) x: (operand 0) 1\n"
            "pid (0, 0, 0) idx (2) x: (operand 0) 2\npid (0, 0, 0) idx (3) x: (operand 0) 3\n"
            "pid (0, 0, 0) idx () x: (operand 1) -2\n");
  ASSERT_TRUE(hasReport(world, "assertion"));
  EXPECT_EQ(world.reports()[0].message, "assertion failed: too big (element 3 of 4)");
}

}  // namespace
}  // namespace tandem::interpreter::test
