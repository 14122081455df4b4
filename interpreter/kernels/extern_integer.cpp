// The device library's integer functions and bit casts. Signedness is in the name; both kinds are I32 or I64.
#include "interpreter/kernels/extern_table.h"

namespace tandem::interpreter {
namespace {

uint32_t reverseBits(uint32_t x) {
  x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
  x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
  x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
  x = (x >> 8 & 0x00ff00ffu) | (x & 0x00ff00ffu) << 8;
  return x >> 16 | x << 16;
}

// Each nibble of the selector names a byte of b:a.
uint32_t permuteBytes(uint32_t a, uint32_t b, uint32_t selector) {
  uint64_t bytes = uint64_t{b} << 32 | a;
  uint32_t result = 0;
  for (unsigned i = 0; i < 4; ++i)
    result |= static_cast<uint32_t>(bytes >> (selector >> 4 * i & 7) * 8 & 0xff) << 8 * i;
  return result;
}

int32_t low24(int32_t x) { return static_cast<int32_t>(static_cast<uint32_t>(x) << 8) >> 8; }
uint32_t distance(int32_t x, int32_t y) { return x > y ? uint32_t(x) - uint32_t(y) : uint32_t(y) - uint32_t(x); }

void addBits(ExternTable& t) {
  addExtern(t, "clz", [](uint32_t x) { return int32_t{std::countl_zero(x)}; });
  addExtern(t, "clzll", [](uint64_t x) { return int32_t{std::countl_zero(x)}; });
  addExtern(t, "popc", [](uint32_t x) { return int32_t{std::popcount(x)}; });
  addExtern(t, "popcll", [](uint64_t x) { return int32_t{std::popcount(x)}; });
  addExtern(t, "ffs", [](uint32_t x) { return x == 0 ? 0 : std::countr_zero(x) + 1; });
  addExtern(t, "ffsll", [](uint64_t x) { return x == 0 ? 0 : std::countr_zero(x) + 1; });
  addExtern(t, "brev", [](uint32_t x) { return reverseBits(x); });
  addExtern(t, "brevll", [](uint64_t x) {
    return uint64_t{reverseBits(static_cast<uint32_t>(x))} << 32 | reverseBits(static_cast<uint32_t>(x >> 32));
  });
  addExtern(t, "byte_perm", [](uint32_t a, uint32_t b, uint32_t selector) { return permuteBytes(a, b, selector); });
}

void addMinMax(ExternTable& t) {
  addExtern(t, "min", [](int32_t a, int32_t b) { return std::min(a, b); });
  addExtern(t, "max", [](int32_t a, int32_t b) { return std::max(a, b); });
  addExtern(t, "umin", [](uint32_t a, uint32_t b) { return std::min(a, b); });
  addExtern(t, "umax", [](uint32_t a, uint32_t b) { return std::max(a, b); });
  addExtern(t, "llmin", [](int64_t a, int64_t b) { return std::min(a, b); });
  addExtern(t, "llmax", [](int64_t a, int64_t b) { return std::max(a, b); });
  addExtern(t, "ullmin", [](uint64_t a, uint64_t b) { return std::min(a, b); });
  addExtern(t, "ullmax", [](uint64_t a, uint64_t b) { return std::max(a, b); });
}

void addProducts(ExternTable& t) {
  addExtern(t, "mulhi", [](int32_t a, int32_t b) { return static_cast<int32_t>((int64_t{a} * b) >> 32); });
  addExtern(t, "umulhi", [](uint32_t a, uint32_t b) { return static_cast<uint32_t>((uint64_t{a} * b) >> 32); });
  addExtern(t, "mul64hi",
            [](int64_t a, int64_t b) { return static_cast<int64_t>((static_cast<__int128>(a) * b) >> 64); });
  addExtern(t, "umul64hi", [](uint64_t a, uint64_t b) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(a) * b) >> 64);
  });
  addExtern(t, "mul24",
            [](int32_t a, int32_t b) { return static_cast<uint32_t>(low24(a)) * static_cast<uint32_t>(low24(b)); });
  addExtern(t, "umul24", [](uint32_t a, uint32_t b) { return (a & 0xffffffu) * (b & 0xffffffu); });
}

void addSums(ExternTable& t) {
  addExtern(t, "abs", [](int32_t x) { return x < 0 ? 0u - static_cast<uint32_t>(x) : static_cast<uint32_t>(x); });
  addExtern(t, "llabs",
            [](int64_t x) { return x < 0 ? uint64_t{0} - static_cast<uint64_t>(x) : static_cast<uint64_t>(x); });
  addExtern(t, "sad", [](int32_t x, int32_t y, uint32_t z) { return distance(x, y) + z; });
  addExtern(t, "usad", [](uint32_t x, uint32_t y, uint32_t z) { return (x > y ? x - y : y - x) + z; });
  addExtern(t, "hadd", [](int32_t a, int32_t b) { return static_cast<int32_t>((int64_t{a} + b) >> 1); });
  addExtern(t, "rhadd", [](int32_t a, int32_t b) { return static_cast<int32_t>((int64_t{a} + b + 1) >> 1); });
  addExtern(t, "uhadd", [](uint32_t a, uint32_t b) { return static_cast<uint32_t>((uint64_t{a} + b) >> 1); });
  addExtern(t, "urhadd", [](uint32_t a, uint32_t b) { return static_cast<uint32_t>((uint64_t{a} + b + 1) >> 1); });
}

void addBitCasts(ExternTable& t) {
  for (const char* name : {"int_as_float", "uint_as_float"})
    addExtern(t, name, [](int32_t x) { return std::bit_cast<float>(x); });
  for (const char* name : {"float_as_int", "float_as_uint"})
    addExtern(t, name, [](float x) { return std::bit_cast<int32_t>(x); });
  addExtern(t, "longlong_as_double", [](int64_t x) { return std::bit_cast<double>(x); });
  addExtern(t, "double_as_longlong", [](double x) { return std::bit_cast<int64_t>(x); });
  addExtern(t, "hiloint2double",
            [](uint32_t high, uint32_t low) { return std::bit_cast<double>(uint64_t{high} << 32 | low); });
  addExtern(t, "double2loint", [](double x) { return static_cast<uint32_t>(std::bit_cast<uint64_t>(x)); });
  addExtern(t, "double2hiint", [](double x) { return static_cast<uint32_t>(std::bit_cast<uint64_t>(x) >> 32); });
  addExtern(t, "float2half_rn", [](float x) { return Float16::encode<Rounding::NearestEven>(x); });
  addExtern(t, "half2float", [](uint16_t x) { return Float16::decode(x); });
}

}  // namespace

void addIntegerExterns(ExternTable& t) {
  addBits(t);
  addMinMax(t);
  addProducts(t);
  addSums(t);
  addBitCasts(t);
}

}  // namespace tandem::interpreter
