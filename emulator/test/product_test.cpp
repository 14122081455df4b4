// Products of tensor cores against naive ones in double precision, by the fragments as the PTX ISA words them.
#include "emulator/units/product.h"
#include "interpreter/kernels/narrow.h"
#include <gtest/gtest.h>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <memory>
#include <random>

namespace tandem::emulator {
namespace {
using interpreter::BFloat16, interpreter::Float16, interpreter::Float8E4M3FN, interpreter::Float8E5M2,
    interpreter::Rounding;

struct Registers {
  explicit Registers(size_t count) : bits(count) {
    for (auto& r : bits) pointers.push_back(r.data());
  }
  Registers(Registers&&) = default;
  std::vector<std::array<uint64_t, kLanes>> bits;
  Fragment pointers;
};

uint64_t encode(Type type, double value) {
  switch (type) {
    case Type::F16: return Float16::encode<Rounding::NearestEven>(float(value));
    case Type::BF16: return BFloat16::encode<Rounding::NearestEven>(float(value));
    case Type::E4M3: return Float8E4M3FN::encode<Rounding::NearestEven>(float(value));
    case Type::E5M2: return Float8E5M2::encode<Rounding::NearestEven>(float(value));
    case Type::TF32:
    case Type::F32: return std::bit_cast<uint32_t>(float(value));
    case Type::F64: return std::bit_cast<uint64_t>(value);
    case Type::S8: return uint8_t(int8_t(value));
    case Type::U8: return uint8_t(value);
    default: return uint32_t(int32_t(value));
  }
}

double decode(Type type, uint64_t bits) {
  switch (type) {
    case Type::F16: return Float16::decode(uint16_t(bits));
    case Type::BF16: return BFloat16::decode(uint16_t(bits));
    case Type::E4M3: return Float8E4M3FN::decode(uint8_t(bits));
    case Type::E5M2: return Float8E5M2::decode(uint8_t(bits));
    case Type::TF32: return std::bit_cast<float>(uint32_t(bits) & ~uint32_t(0x1fff));
    case Type::F32: return std::bit_cast<float>(uint32_t(bits));
    case Type::F64: return std::bit_cast<double>(bits);
    case Type::S8: return int8_t(bits);
    case Type::U8: return uint8_t(bits);
    default: return int32_t(bits);
  }
}

unsigned bits(Type type) {
  switch (type) {
    case Type::F64: return 64;
    case Type::TF32:
    case Type::F32:
    case Type::S32: return 32;
    case Type::F16:
    case Type::BF16: return 16;
    default: return 8;
  }
}

using Position = std::array<unsigned, 2>;                                           // row, column
using Rule = std::function<Position(unsigned group, unsigned thread, unsigned i)>;  // of the i-th element of a lane

struct Shape {
  unsigned m, k;
  unsigned elementBits;
  Rule left, right;
};

// groupID = lane / 4, threadID_in_group = lane % 4; the rules are those of the PTX ISA, shape by shape.
std::vector<Shape> shapes() {
  return {
      {8, 4, 64, [](auto g, auto t, auto) { return Position{g, t}; },
       [](auto g, auto t, auto) { return Position{t, g}; }},
      {16, 4, 64, [](auto g, auto t, auto i) { return Position{i == 0 ? g : g + 8, t}; },
       [](auto g, auto t, auto) { return Position{t, g}; }},
      {16, 8, 64, [](auto g, auto t, auto i) { return Position{i == 0 || i == 2 ? g : g + 8, i < 2 ? t : t + 4}; },
       [](auto g, auto t, auto i) { return Position{i == 0 ? t : t + 4, g}; }},
      {16, 16, 64, [](auto g, auto t, auto i) { return Position{i % 2 == 0 ? g : g + 8, i / 2 * 4 + t}; },
       [](auto g, auto t, auto i) { return Position{i * 4 + t, g}; }},
      {16, 4, 32, [](auto g, auto t, auto i) { return Position{i == 0 ? g : g + 8, t}; },
       [](auto g, auto t, auto) { return Position{t, g}; }},
      {16, 8, 32, [](auto g, auto t, auto i) { return Position{i == 0 || i == 2 ? g : g + 8, i < 2 ? t : t + 4}; },
       [](auto g, auto t, auto i) { return Position{i == 0 ? t : t + 4, g}; }},
      {16, 8, 16, [](auto g, auto t, auto i) { return Position{i < 2 ? g : g + 8, t * 2 + (i & 1)}; },
       [](auto g, auto t, auto i) { return Position{t * 2 + i, g}; }},
      {16, 16, 16,
       [](auto g, auto t, auto i) {
         return Position{i < 2 || (i >= 4 && i < 6) ? g : g + 8, i < 4 ? t * 2 + (i & 1) : t * 2 + (i & 1) + 8};
       },
       [](auto g, auto t, auto i) { return Position{i < 2 ? t * 2 + (i & 1) : t * 2 + (i & 1) + 8, g}; }},
      {8, 16, 8, [](auto g, auto t, auto i) { return Position{g, t * 4 + i}; },
       [](auto g, auto t, auto i) { return Position{t * 4 + i, g}; }},
      {16, 16, 8, [](auto g, auto t, auto i) { return Position{i < 4 ? g : g + 8, t * 4 + (i & 3)}; },
       [](auto g, auto t, auto i) { return Position{t * 4 + i, g}; }},
      {16, 32, 8,
       [](auto g, auto t, auto i) {
         return Position{i < 4 || (i >= 8 && i < 12) ? g : g + 8, i < 8 ? t * 4 + (i & 3) : t * 4 + (i & 3) + 16};
       },
       [](auto g, auto t, auto i) { return Position{i < 4 ? t * 4 + (i & 3) : t * 4 + (i & 3) + 16, g}; }},
  };
}

Position placeOfSum(unsigned m, unsigned g, unsigned t, unsigned i) {
  return {m == 8 || i < 2 ? g : g + 8, t * 2 + (i & 1)};
}

using Matrix = std::vector<std::vector<double>>;

class Random {
 public:
  Matrix matrix(unsigned rows, unsigned columns, Type type) {
    Matrix made(rows, std::vector<double>(columns));
    for (auto& row : made)
      for (double& value : row) value = decode(type, encode(type, number(type)));
    return made;
  }

 private:
  double number(Type type) {
    if (type == Type::S8) return int(engine_() % 256) - 128;
    if (type == Type::U8) return engine_() % 256;
    if (type == Type::S32) return int(engine_() % 100000) - 50000;
    return std::normal_distribution<double>()(engine_);
  }
  std::mt19937 engine_{7};
};

Registers registersOf(const Matrix& matrix, Type type, size_t count, const Rule& rule) {
  Registers made(count);
  unsigned width = bits(type), parts = std::max(1u, 32 / width);
  for (unsigned lane = 0; lane < kLanes; ++lane)
    for (unsigned i = 0; i < count * parts; ++i) {
      auto [row, column] = rule(lane / 4, lane % 4, i);
      made.bits[i / parts][lane] |= encode(type, matrix[row][column]) << i % parts * width;
    }
  return made;
}

void checkProduct(const Shape& shape, Type left, Type right, Type sum) {
  SCOPED_TRACE("m" + std::to_string(shape.m) + "k" + std::to_string(shape.k) + " " + std::to_string(int(left)));
  Random random;
  Product p{shape.m, 8, shape.k, left, right, sum};
  Matrix a = random.matrix(p.m, p.k, left), b = random.matrix(p.k, p.n, right), c = random.matrix(p.m, p.n, sum);
  Registers ra = registersOf(a, left, p.leftRegisters(), shape.left);
  Registers rb = registersOf(b, right, p.rightRegisters(), shape.right);
  auto sumRule = [&](unsigned g, unsigned t, unsigned i) { return placeOfSum(p.m, g, t, i); };
  Registers rc = registersOf(c, sum, p.sumRegisters(), sumRule), rd(p.sumRegisters());
  multiply(p, leftFromRegisters(p, ra.pointers), false, rightFromRegisters(p, rb.pointers), false, true, rc.pointers,
           rd.pointers);
  for (unsigned i = 0; i < p.m; ++i)
    for (unsigned j = 0; j < p.n; ++j)
      for (unsigned k = 0; k < p.k; ++k) c[i][j] += a[i][k] * b[k][j];
  unsigned parts = sum == Type::F16 ? 2 : 1;
  double bound = sum == Type::F64 ? 1e-13 : sum == Type::S32 ? 0 : sum == Type::F16 ? 2e-3 : 1e-5;
  for (unsigned lane = 0; lane < kLanes; ++lane)
    for (unsigned i = 0; i < p.sumRegisters() * parts; ++i) {
      auto [row, column] = sumRule(lane / 4, lane % 4, i);
      uint64_t word = rd.bits[i / parts][lane] >> (parts == 2 ? i % 2 * 16 : 0);
      EXPECT_NEAR(decode(sum, word), c[row][column], bound * (1 + std::abs(c[row][column])));
    }
}

TEST(Product, AllShapes) {
  struct Types {
    Type left, right, sum;
  };
  using T = Type;
  const Types rows[] = {{T::F64, T::F64, T::F64},  {T::TF32, T::TF32, T::F32}, {T::F16, T::F16, T::F32},
                        {T::F16, T::F16, T::F16},  {T::BF16, T::BF16, T::F32}, {T::S8, T::S8, T::S32},
                        {T::U8, T::S8, T::S32},    {T::E4M3, T::E4M3, T::F32}, {T::E5M2, T::E4M3, T::F32},
                        {T::E5M2, T::E5M2, T::F16}};
  for (const Shape& shape : shapes())
    for (const Types& types : rows)
      if (bits(types.left) == shape.elementBits) checkProduct(shape, types.left, types.right, types.sum);
}

// The rows of a warp in a product of a warpgroup: sums go on to the right, four elements for eight columns.
TEST(Product, WideSums) {
  Random random;
  Product p{16, 24, 16, Type::F16, Type::F16, Type::F32};
  Matrix a = random.matrix(16, 16, Type::F16), b = random.matrix(16, 24, Type::F16);
  auto bytesOf = [](const Matrix& m) {
    Elements bytes;
    for (auto& row : m)
      for (double value : row) {
        auto code = uint16_t(encode(Type::F16, value));
        bytes.push_back(std::byte(code & 0xff));
        bytes.push_back(std::byte(code >> 8));
      }
    return bytes;
  };
  Matrix at(16, std::vector<double>(16)), bt(24, std::vector<double>(16));
  for (unsigned k = 0; k < 16; ++k) {
    for (unsigned i = 0; i < 16; ++i) at[k][i] = a[i][k];
    for (unsigned j = 0; j < 24; ++j) bt[j][k] = b[k][j];
  }
  for (bool turned : {false, true}) {
    Registers sums(p.sumRegisters());
    ASSERT_EQ(sums.bits.size(), 12u);
    for (auto& r : sums.bits) r.fill(encode(Type::F32, 1e9));  // not kept
    multiply(p, bytesOf(turned ? at : a), turned, bytesOf(turned ? bt : b), turned, false, sums.pointers,
             sums.pointers);
    for (unsigned lane = 0; lane < kLanes; ++lane)
      for (unsigned i = 0; i < 12; ++i) {
        unsigned row = lane / 4 + (i / 2 % 2) * 8, column = 8 * (i / 4) + lane % 4 * 2 + i % 2;
        double wanted = 0;
        for (unsigned k = 0; k < 16; ++k) wanted += a[row][k] * b[k][column];
        EXPECT_NEAR(decode(Type::F32, sums.bits[i][lane]), wanted, 1e-5 * (1 + std::abs(wanted)));
      }
  }
}

TEST(Product, IntegersWrapAroundOrStop) {
  Product p{16, 8, 32, Type::S8, Type::S8, Type::S32};
  Elements ones(16 * 32, std::byte{1});
  Registers sums(4), results(4);
  for (auto& r : sums.bits) r.fill(0x7ffffff0);
  multiply(p, ones, false, ones, false, true, sums.pointers, results.pointers);
  EXPECT_EQ(uint32_t(results.bits[0][0]), 0x80000010u);
  p.saturates = true;
  multiply(p, ones, false, ones, false, true, sums.pointers, results.pointers);
  EXPECT_EQ(uint32_t(results.bits[0][0]), 0x7fffffffu);
}

}  // namespace
}  // namespace tandem::emulator
