// Shapes, addresses, and how many elements one access may move.
#include "compiler/analysis/test/axis_check.h"

namespace tandem::analysis::test {

static const char* const kRows = "%rows = tile.expand_dims %offs at 1 : tensor<128xi32> -> tensor<128x1xi32>\n";

TEST(AxisShape, ExpandAndBroadcast) {
  EXPECT_EQ(known(R"(%r = tile.expand_dims %offs at 1 {name = "r"} : tensor<128xi32> -> tensor<128x1xi32>)"),
            "c128 d128 k1; c1 d1 k1");
  EXPECT_EQ(known(R"(%r = tile.expand_dims %ms at 0 {name = "r"} : tensor<128xi32> -> tensor<1x128xi32>)"),
            "c1 d16 k1; c1 d16 k128");
  EXPECT_EQ(
      known(kRows + std::string(R"(%r = tile.broadcast %rows {name = "r"} : tensor<128x1xi32> -> tensor<128x64xi32>)")),
      "c128 d128 k1; c1 d1 k64");
  EXPECT_EQ(known(kRows + std::string(R"(%scale = arith.constant dense<32> : tensor<128x1xi32>
                                         %r = arith.muli %rows, %scale {name = "r"} : tensor<128x1xi32>)")),
            "c1 d32 k1; c1 d32 k1");
}

TEST(AxisShape, PermuteJoinSplit) {
  EXPECT_EQ(
      known(kRows +
            std::string(R"(%r = tile.permute %rows [1, 0] {name = "r"} : tensor<128x1xi32> -> tensor<1x128xi32>)")),
      "c1 d1 k1; c128 d128 k1");
  const std::string joined = "tile.join %offs, %range";
  EXPECT_EQ(known("%r = " + joined + R"( {name = "r"} : tensor<128xi32> -> tensor<128x2xi32>)"),
            "c128 d128 k1; c1 d1 k1");
  EXPECT_EQ(known(R"(%r = tile.join %m, %c128 {name = "r"} : i32 -> tensor<2xi32>)"), "c1 d16 k1");
  EXPECT_EQ(known("%j = " + joined + R"( : tensor<128xi32> -> tensor<128x2xi32>
                     %r, %odd = tile.split %j {name = "r"} : tensor<128x2xi32> -> tensor<128xi32>)"),
            "c128 d128 k1");
}

TEST(AxisShape, Reshape) {
  EXPECT_EQ(known(R"(%r = tile.reshape %offs {name = "r"} : tensor<128xi32> -> tensor<8x16xi32>)"),
            "c1 d1 k1; c16 d16 k1");
  EXPECT_EQ(known(R"(%r = tile.reshape %offs {reorder, name = "r"} : tensor<128xi32> -> tensor<8x16xi32>)"),
            "c1 d1 k1; c1 d1 k1");
  EXPECT_EQ(known(R"(%r = tile.reshape %ms {name = "r"} : tensor<128xi32> -> tensor<8x16xi32>)"),
            "c1 d16 k1; c1 d16 k16");
  EXPECT_EQ(known(kRows + std::string(R"(%box = tile.broadcast %rows : tensor<128x1xi32> -> tensor<128x4xi32>
                                         %r = tile.reshape %box {name = "r"} : tensor<128x4xi32> -> tensor<64x8xi32>)")),
            "c1 d1 k1; c1 d1 k4");
  EXPECT_EQ(known(R"(%box = tile.splat %x : i32 -> tensor<4x8xi32>
                     %r = tile.reshape %box {name = "r"} : tensor<4x8xi32> -> tensor<2x16xi32>)"),
            "c1 d1 k1; c1 d1 k16");
}

TEST(AxisShape, LayoutsDoNotMatter) {
  EXPECT_EQ(known(R"(%r = tgpu.convert_layout %offs {name = "r"} : tensor<128xi32>)"), "c128 d128 k1");
}

static std::string address(const std::string& pointer, const std::string& offset, const std::string& rest = "") {
  return known("%ps = tile.splat " + pointer + " : !tile.ptr<f16> -> tensor<128x!tile.ptr<f16>>\n" + rest +
               "%r = tile.addptr %ps, " + offset + " {name = \"r\"} : tensor<128x!tile.ptr<f16>>, tensor<128xi32>");
}

TEST(AxisShape, AddressesCountBytes) {
  EXPECT_EQ(address("%p", "%offs"), "c128 d16 k1");
  EXPECT_EQ(address("%raw", "%offs"), "c128 d1 k1");
  EXPECT_EQ(address("%p", "%ms"), "c1 d16 k128");
  EXPECT_EQ(address("%p", "%xs"), "c1 d2 k128");
  EXPECT_EQ(address("%p", "%wrapped", "%wrapped = arith.remsi %offs, %ms : tensor<128xi32>\n"), "c16 d16 k1");
}

TEST(AxisShape, LoadsThroughEqualAddresses) {
  const std::string addresses = R"(%q = tile.bitcast %p : !tile.ptr<f16> -> !tile.ptr<i16>
    %qs = tile.splat %q : !tile.ptr<i16> -> tensor<128x!tile.ptr<i16>>
    %rows = arith.divui %offs, %c16s : tensor<128xi32>
    %at = tile.addptr %qs, %rows : tensor<128x!tile.ptr<i16>>, tensor<128xi32>
    %few = arith.constant dense<8> : tensor<128xi32>
    %first = arith.remui %offs, %few : tensor<128xi32>
    %odd = arith.cmpi eq, %first, %range : tensor<128xi32>
    %zero = arith.constant dense<0> : tensor<128xi16>
    %whole = arith.cmpi slt, %offs, %ms : tensor<128xi32>
  )";
  const std::string type = R"( : tensor<128x!tile.ptr<i16>> -> tensor<128xi16>)";
  EXPECT_EQ(known(addresses + R"(%r = tile.load %at {name = "r"})" + type), "c1 d1 k16");
  EXPECT_EQ(
      known(addresses +
            R"(%r = tile.load %at mask %whole : tensor<128xi1> other %zero : tensor<128xi16> {name = "r"})" + type),
      "c1 d1 k16");
  EXPECT_EQ(known(addresses + R"(%r = tile.load %at mask %odd : tensor<128xi1> {name = "r"})" + type), "c1 d1 k1");
  EXPECT_EQ(known(addresses + R"(%r = tile.load %at {isVolatile, name = "r"})" + type), "c1 d1 k1");
}

TEST(AxisShape, PointersAsOtherTypes) {
  const std::string tile = R"(%ps = tile.splat %p : !tile.ptr<f16> -> tensor<128x!tile.ptr<f16>>
    %at = tile.addptr %ps, %offs : tensor<128x!tile.ptr<f16>>, tensor<128xi32>
  )";
  EXPECT_EQ(
      known(tile + R"(%r = tile.bitcast %at {name = "r"} : tensor<128x!tile.ptr<f16>> -> tensor<128x!tile.ptr<i16>>)"),
      "c128 d16 k1");
  EXPECT_EQ(
      known(tile + R"(%r = tile.bitcast %at {name = "r"} : tensor<128x!tile.ptr<f16>> -> tensor<128x!tile.ptr<i32>>)"),
      "c1 d2 k1");
  EXPECT_EQ(known(tile + R"(%r = tile.ptr_to_int %at {name = "r"} : tensor<128x!tile.ptr<f16>> -> tensor<128xi64>)"),
            "c1 d2 k1");
  EXPECT_EQ(known(R"(%c = arith.constant 4096 : i64
                     %r = tile.int_to_ptr %c {name = "r"} : i64 -> !tile.ptr<f32>)"),
            "c1 d4096 k1");
}

TEST(AxisShape, AddressesOnOtherRanks) {
  EXPECT_EQ(known(R"(%r = dist.symm_at %p, %x {name = "r"} : !tile.ptr<f16>)"), "c1 d16 k1");
  EXPECT_EQ(known(R"(%r = dist.consume_token %p, %x {name = "r"} : !tile.ptr<f16>)"), "c1 d16 k1");
}

// The vector length of a load named "r", whose mask is `mask` where that is not empty.
static int64_t vectorOf(const std::string& pointer, const std::string& offset, const std::string& mask) {
  Kernel kernel(wrapped("%ps = tile.splat " + pointer + R"( : !tile.ptr<f16> -> tensor<128x!tile.ptr<f16>>
      %wrapped = arith.remsi %offs, %ms : tensor<128xi32>
      %inside = arith.cmpi slt, %offs, %ms {name = "inside"} : tensor<128xi32>
      %far = arith.cmpi slt, %offs, %xs {name = "far"} : tensor<128xi32>
      %r = tile.addptr %ps, )" +
                        offset + " {name = \"r\"} : tensor<128x!tile.ptr<f16>>, tensor<128xi32>"));
  AxisInfoAnalysis axes(kernel.function());
  return axes.maxVectorElements(kernel.value("r"), mask.empty() ? mlir::Value() : kernel.value(mask), 0);
}

TEST(AxisShape, VectorLength) {
  EXPECT_EQ(vectorOf("%p", "%offs", ""), 8);
  EXPECT_EQ(vectorOf("%p", "%offs", "inside"), 8);
  EXPECT_EQ(vectorOf("%p", "%offs", "far"), 1);
  EXPECT_EQ(vectorOf("%p", "%ms", ""), 1);
  EXPECT_EQ(vectorOf("%raw", "%offs", ""), 1);
  EXPECT_EQ(vectorOf("%p", "%wrapped", ""), 8);
}

TEST(AxisShape, ScalarsAndOtherAxesAreOneElement) {
  Kernel kernel(wrapped(""));
  AxisInfoAnalysis axes(kernel.function());
  EXPECT_EQ(axes.maxVectorElements(kernel.argument(2), nullptr, 0), 1);
  EXPECT_EQ(axes.maxVectorElements(kernel.argument(2), nullptr, 3), 1);
}

}  // namespace tandem::analysis::test
