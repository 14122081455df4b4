// These tests cover host expressions, tensor maps that are refused, and the calls by which the driver is asked for
// maps.
#include "runtime/backend/cuda/tensor_map.h"
#include "runtime/backend/cuda/test/fake_driver.h"
#include <limits>

namespace tandem::runtime::cuda {
namespace {
using abi::HostExpr;
using abi::ParamType;
using Op = HostExpr::Op;

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

int64_t of(Op op, int64_t a, int64_t b) {
  return evaluate(HostExpr{{{Op::Constant, a}, {Op::Constant, b}, {op}}}, {}, {});
}

TEST(HostExpr, Arithmetic) {
  EXPECT_EQ(of(Op::Add, std::numeric_limits<int64_t>::max(), 1), kLeast);
  EXPECT_EQ(of(Op::Sub, 3, 5), -2);
  EXPECT_EQ(of(Op::Mul, int64_t(1) << 62, 4), 0);
  EXPECT_EQ(of(Op::Div, -7, 2), -3);
  EXPECT_EQ(of(Op::Div, 7, 0), -1);
  EXPECT_EQ(of(Op::Div, kLeast, -1), kLeast);
  EXPECT_EQ(of(Op::Rem, -7, 2), -1);
  EXPECT_EQ(of(Op::Rem, 7, 0), 7);
  EXPECT_EQ(of(Op::Rem, kLeast, -1), 0);
  EXPECT_EQ(of(Op::Min, -1, 1), -1);
  EXPECT_EQ(of(Op::Max, -1, 1), 1);
  EXPECT_EQ(of(Op::And, 12, 10), 8);
}

TEST(HostExpr, ArgumentsAreSignExtendedByTheirType) {
  const uint64_t arguments[] = {0xffffffff, 0xffffffff, 0xff, 0xffff, 0xffffffffffffffff, 3};
  const ParamType types[] = {ParamType::I32, ParamType::Pointer, ParamType::I8,
                             ParamType::I16, ParamType::I64,     ParamType::I1};
  const int64_t wanted[] = {-1, 0xffffffff, -1, -1, -1, 1};
  for (int i = 0; i < 6; ++i) EXPECT_EQ(evaluate(HostExpr{{{Op::Argument, i}}}, types, arguments), wanted[i]) << i;
}

class TensorMaps : public FakeDriver {
 protected:
  abi::TensorMapRecipe recipe_;
  TensorMapValues values_;

  TensorMaps() {
    recipe_.element = abi::TensorMapRecipe::Element::BF16;
    recipe_.box = {1, 128, 64};
    recipe_.swizzleBytes = 128;
    values_ = {4096, {7, 300, 500}, {300 * 504, 504, 1}};
  }
  std::string refusal() {
    return errorOf<std::invalid_argument>([&] { encode(recipe_, values_, "tensor map 0 of kernel `k`"); });
  }
};

TEST_F(TensorMaps, TheDriverGetsTheInnermostDimensionFirst) {
  EXPECT_EQ(encode(recipe_, values_, "").words[0], 4096u);
  EXPECT_EQ(log(), "encode 9 sizes 500,300,7 strides 1008,302400 box 64,128,1 steps 1,1,1 swizzle 3 fill 0\n");
  clear();
  recipe_.nanFill = true;
  recipe_.swizzleBytes = 0;
  recipe_.element = abi::TensorMapRecipe::Element::F32;
  recipe_.box = {256};
  values_ = {16, {99}, {1}};
  encode(recipe_, values_, "");
  EXPECT_EQ(log(), "encode 7 sizes 99 strides  box 256 steps 1 swizzle 0 fill 1\n");
}

TEST_F(TensorMaps, RefusesAnUnalignedBase) {
  values_.base = 4104;
  EXPECT_EQ(refusal(), "tensor map 0 of kernel `k`: the base address 0x1008 is not a multiple of 16 bytes");
}
TEST_F(TensorMaps, RefusesAStrideThatIsNoMultipleOf16Bytes) {
  values_.strides[1] = 500;
  EXPECT_EQ(
      refusal(),
      "tensor map 0 of kernel `k`: the stride of dimension 1 is 500 elements of 2 bytes, not a multiple of 16 bytes below 2**40");
  values_.strides[1] = -8;
  EXPECT_NE(refusal().find("dimension 1 is -8 elements"), std::string::npos);
  values_.strides[1] = kLeast;
  EXPECT_NE(refusal().find("not a multiple of 16 bytes below"), std::string::npos);
}
TEST_F(TensorMaps, RefusesBoxesAndSizesTmaDoesNotHave) {
  recipe_.box[1] = 257;
  EXPECT_EQ(refusal(), "tensor map 0 of kernel `k`: dimension 1 of the box has size 257, not 1 to 256");
  recipe_.box = {1, 128, 4};
  EXPECT_EQ(refusal(), "tensor map 0 of kernel `k`: a row of the box has 8 bytes, not a multiple of 16");
  recipe_.box = {1, 128, 128};
  EXPECT_EQ(refusal(), "tensor map 0 of kernel `k`: a row of the box has 256 bytes, more than the swizzle's 128");
  values_.shape[0] = 0;
  EXPECT_EQ(refusal(), "tensor map 0 of kernel `k`: dimension 0 has size 0, not 1 to 2**32");
  values_.strides[2] = 2;
  EXPECT_EQ(refusal(), "tensor map 0 of kernel `k`: the last stride is 2, not 1");
}

TEST(TensorMapCache, KeepsTheLastEight) {
  TensorMapCache cache;
  auto values = [](uint64_t base) { return TensorMapValues{base, {1}, {1}}; };
  for (uint64_t base = 0; base < 9; ++base) cache.keep(values(base), TensorMap{{base + 100}});
  TensorMap map;
  EXPECT_FALSE(cache.find(values(0), map));
  for (uint64_t base = 1; base < 9; ++base) {
    ASSERT_TRUE(cache.find(values(base), map));
    EXPECT_EQ(map.words[0], base + 100);
  }
  TensorMapValues other = values(5);
  other.strides[4] = 1;
  EXPECT_FALSE(cache.find(other, map));
}

}  // namespace
}  // namespace tandem::runtime::cuda
