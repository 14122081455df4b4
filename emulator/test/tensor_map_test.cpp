// Tensor maps and the boxes that they copy, against a naive walk over all elements; and reductions.
#include "emulator/units/reduction.h"
#include "emulator/units/swizzle.h"
#include "emulator/units/tensor_map.h"
#include "interpreter/kernels/narrow.h"
#include <gtest/gtest.h>
#include <cstring>

namespace tandem::emulator {
namespace {

TensorMap mapOf(TensorMap::Element element, std::vector<uint64_t> sizes, std::vector<uint64_t> strides,
                std::vector<uint16_t> box, std::vector<uint8_t> steps = {}) {
  TensorMap map;
  map.address = 0x10000;
  map.element = element;
  map.lastDimension = uint8_t(sizes.size() - 1);
  std::copy(sizes.begin(), sizes.end(), map.sizes.begin());
  std::copy(strides.begin(), strides.end(), map.strides.begin());
  std::copy(box.begin(), box.end(), map.box.begin());
  map.steps.fill(1);
  std::copy(steps.begin(), steps.end(), map.steps.begin());
  return map;
}

// The address of each element of the box; 0: it is outside.
std::vector<uint64_t> addresses(const TensorMap& map, std::vector<int32_t> at) {
  std::vector<uint64_t> found(map.boxBytes() / map.elementBytes(), ~uint64_t(0));
  for (const BoxPiece& piece : piecesOf(map, at))
    for (uint32_t i = 0; i < piece.bytes; i += map.elementBytes()) {
      uint64_t& place = found[(piece.offset + i) / map.elementBytes()];
      EXPECT_EQ(place, ~uint64_t(0)) << "an element is there twice";
      place = piece.isInside ? piece.address + i : 0;
    }
  return found;
}

std::vector<uint64_t> naive(const TensorMap& map, std::vector<int32_t> at) {
  std::vector<uint64_t> wanted;
  std::vector<unsigned> i(map.rank());
  while (true) {
    bool inside = true;
    uint64_t address = map.address;
    for (unsigned d = 0; d < map.rank(); ++d) {
      int64_t index = at[d] + int64_t(i[d]) * map.steps[d];
      inside &= index >= 0 && index < int64_t(map.sizes[d]);
      address += uint64_t(index) * (d ? map.strides[d - 1] : map.elementBytes());
    }
    wanted.push_back(inside ? address : 0);
    unsigned d = 0;
    while (d < map.rank() && (i[d] + 1u) * map.steps[d] >= map.box[d]) i[d++] = 0;
    if (d == map.rank()) return wanted;
    ++i[d];
  }
}

TEST(TensorMap, BoxesAnywhere) {
  TensorMap rows = mapOf(TensorMap::F16, {40, 10}, {96}, {16, 4});
  TensorMap cube = mapOf(TensorMap::F32, {7, 5, 3}, {32, 256}, {4, 2, 2});
  TensorMap stepped = mapOf(TensorMap::U32, {30, 9}, {128}, {16, 6}, {2, 3});
  TensorMap line = mapOf(TensorMap::U8, {100}, {}, {64});
  for (const TensorMap& map : {rows, cube, stepped, line})
    for (int32_t x : {-17, -3, 0, 5, 33, 39, 90})
      for (int32_t y : {-2, 0, 3, 8, 20}) {
        std::vector<int32_t> at{x, y, 1, 0, 0};
        at.resize(map.rank());
        EXPECT_NO_THROW(map.check());
        EXPECT_EQ(addresses(map, at), naive(map, at)) << x << " " << y;
      }
  EXPECT_EQ(rows.boxBytes(), 128u);
  EXPECT_EQ(stepped.boxBytes(), 8u * 2 * 4);
}

TEST(TensorMap, ReplacesFieldsAndKeepsThemInMemory) {
  alignas(128) std::byte memory[TensorMap::kBytes] = {};
  TensorMap map = TensorMap::read(memory);
  EXPECT_THROW(map.check(), TensorMapError);
  EXPECT_TRUE(map.replace("rank", 0, 1));
  EXPECT_TRUE(map.replace("elemtype", 0, 10));
  EXPECT_TRUE(map.replace("swizzle_mode", 0, 3));
  EXPECT_TRUE(map.replace("fill_mode", 0, 1));
  EXPECT_TRUE(map.replace("interleave_layout", 0, 0));
  EXPECT_TRUE(map.replace("global_address", 0, 0x4000));
  EXPECT_TRUE(map.replace("global_stride", 0, 256));
  for (unsigned d = 0; d < 2; ++d) {
    EXPECT_TRUE(map.replace("global_dim", d, 100 + d));
    EXPECT_TRUE(map.replace("box_dim", d, 32 + d));
    EXPECT_TRUE(map.replace("element_stride", d, 1));
  }
  EXPECT_FALSE(map.replace("global_stride", 4, 256));
  EXPECT_FALSE(map.replace("colour", 0, 1));
  map.write(memory);
  TensorMap again = TensorMap::read(memory);
  EXPECT_NO_THROW(again.check());
  EXPECT_EQ(again.rank(), 2u);
  EXPECT_EQ(again.type(), Type::BF16);
  EXPECT_EQ(again.swizzleSpan(), 128u);
  EXPECT_EQ(again.boxBytes(), 32u * 33 * 2);
  EXPECT_EQ(again.sizes[1], 101u);
  again.replace("box_dim", 0, 96);
  EXPECT_THROW(again.check(), TensorMapError);  // rows longer than the swizzle's
}

TEST(TensorMap, Fill) {
  TensorMap map = mapOf(TensorMap::F16, {64}, {}, {64});
  std::byte bytes[4];
  fillOutside(map, bytes, 4);
  EXPECT_EQ(bytes[1], std::byte{0});
  map.fill = 1;
  fillOutside(map, bytes, 4);
  EXPECT_EQ(bytes[2], std::byte{0xff});
  EXPECT_EQ(bytes[3], std::byte{0x7f});
}

// The figures of the PTX ISA: the pieces of the rows of each swizzle.
TEST(Swizzle, Rows) {
  for (unsigned row = 0; row < 8; ++row)
    for (unsigned piece = 0; piece < 8; ++piece)
      EXPECT_EQ(swizzled(1024 + row * 128 + piece * 16, 128), 1024 + row * 128 + (piece ^ row) * 16);
  EXPECT_EQ(swizzled(0x40, 64), 0x40u);
  EXPECT_EQ(swizzled(0x80, 64), 0x90u);  // rows of 64 bytes: pieces move in rows 2 and 3 first
  EXPECT_EQ(swizzled(0x180, 64), 0x1b0u);
  EXPECT_EQ(swizzled(0x80, 32), 0x90u);
  EXPECT_EQ(swizzled(0x100, 32), 0x100u);
  EXPECT_EQ(swizzled(0x7f8, 16), 0x7f8u);
}

template <class T> std::vector<T> reduced(Reduction op, Type type, std::vector<T> to, std::vector<T> from) {
  EXPECT_TRUE(reduceInto(op, type, reinterpret_cast<std::byte*>(to.data()),
                         reinterpret_cast<const std::byte*>(from.data()), to.size() * sizeof(T)));
  return to;
}

TEST(Reduction, Types) {
  using V = std::vector<uint32_t>;
  EXPECT_EQ(reduced<uint32_t>(Reduction::Add, Type::U32, {1, ~0u}, {2, 1}), (V{3, 0}));
  EXPECT_EQ(reduced<uint32_t>(Reduction::Max, Type::S32, {1, ~0u}, {2, 1}), (V{2, 1}));
  EXPECT_EQ(reduced<uint32_t>(Reduction::Max, Type::U32, {1, ~0u}, {2, 1}), (V{2, ~0u}));
  EXPECT_EQ(reduced<uint32_t>(Reduction::Inc, Type::U32, {1, 5}, {3, 5}), (V{2, 0}));
  EXPECT_EQ(reduced<uint32_t>(Reduction::Dec, Type::U32, {0, 9}, {3, 5}), (V{3, 5}));
  EXPECT_EQ(reduced<uint32_t>(Reduction::Xor, Type::B32, {6, 5}, {3, 5}), (V{5, 0}));
  EXPECT_EQ(reduced<double>(Reduction::Min, Type::F64, {1, -2}, {0, 3}), (std::vector<double>{0, -2}));
  EXPECT_EQ(reduced<uint16_t>(Reduction::Add, Type::F16, {0x3c00}, {0x3c00}), (std::vector<uint16_t>{0x4000}));
  EXPECT_EQ(reduced<uint16_t>(Reduction::Add, Type::BF16, {0x3f80}, {0x3f80}), (std::vector<uint16_t>{0x4000}));
  std::byte word[4] = {};
  EXPECT_FALSE(reduceInto(Reduction::Xor, Type::F32, word, word, 4));
  EXPECT_FALSE(reduceInto(Reduction::Inc, Type::S32, word, word, 4));
  EXPECT_EQ(reductionNamed("dec"), Reduction::Dec);
  EXPECT_FALSE(reductionNamed("exch"));
}

}  // namespace
}  // namespace tandem::emulator
