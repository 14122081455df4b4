#include "emulator/units/product.h"
#include "emulator/formats.h"
#include "emulator/units/fragment.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace tandem::emulator {
namespace {

unsigned elementBytes(Type type) {
  switch (type) {
    case Type::F64: return 8;
    case Type::TF32:
    case Type::F32:
    case Type::S32: return 4;
    case Type::F16:
    case Type::BF16: return 2;
    default: return 1;
  }
}
unsigned perRegister(Type type) { return std::max(1u, 4 / elementBytes(type)); }

template <class PlaceOf>
Elements gathered(const Fragment& registers, Type type, unsigned rows, unsigned columns, PlaceOf placeOf) {
  unsigned bytes = elementBytes(type), parts = perRegister(type);
  Elements elements(size_t(rows) * columns * bytes);
  for (unsigned index = 0; index < registers.size(); ++index)
    for (unsigned lane = 0; lane < kLanes; ++lane)
      for (unsigned part = 0; part < parts; ++part) {
        Place place = placeOf(lane, index, part, parts);
        uint64_t bits = registers[index][lane] >> (part * bytes * 8 % 64);
        std::memcpy(&elements[(size_t(place.row) * columns + place.column) * bytes], &bits, bytes);
      }
  return elements;
}

template <class T> std::vector<T> typed(const Elements& elements) {
  std::vector<T> values(elements.size() / sizeof(T));
  std::memcpy(values.data(), elements.data(), elements.size());
  return values;
}

template <class T, class F>
std::vector<float> decoded(const Elements& elements, F decode) {
  auto codes = typed<T>(elements);
  std::vector<float> values(codes.size());
  for (size_t i = 0; i < codes.size(); ++i) values[i] = decode(codes[i]);
  return values;
}

// All numbers of a format of 8 bits.
std::array<float, 256> tableOf(const Format& format) {
  std::array<float, 256> table;
  for (uint32_t code = 0; code < table.size(); ++code) table[code] = float(fromFormat(code, format));
  return table;
}

std::vector<float> floats(Type type, const Elements& elements) {
  static const std::array<float, 256> kOfE4M3 = tableOf(kE4M3), kOfE5M2 = tableOf(kE5M2);
  switch (type) {
    case Type::F16: return decoded<uint16_t>(elements, fromF16);
    case Type::BF16: return decoded<uint16_t>(elements, fromBF16);
    case Type::E4M3: return decoded<uint8_t>(elements, [](uint8_t code) { return kOfE4M3[code]; });
    case Type::E5M2: return decoded<uint8_t>(elements, [](uint8_t code) { return kOfE5M2[code]; });
    default: {
      constexpr uint32_t kRead = ~uint32_t(0x1fff);  // a tensor core does not look at the other bits
      return decoded<uint32_t>(elements, [](uint32_t code) { return std::bit_cast<float>(code & kRead); });
    }
  }
}

std::vector<int32_t> integers(Type type, const Elements& elements) {
  std::vector<int32_t> values(elements.size());
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = type == Type::S8 ? int32_t(int8_t(elements[i])) : int32_t(uint8_t(elements[i]));
  return values;
}

template <class T> std::vector<T> numbers(Type type, const Elements& elements) {
  if constexpr (std::is_same_v<T, double>)
    return typed<double>(elements);
  else if constexpr (std::is_same_v<T, int64_t>) {
    auto narrow = integers(type, elements);
    return {narrow.begin(), narrow.end()};
  } else
    return floats(type, elements);
}

template <class T> void transpose(std::vector<T>& values, unsigned rows) {
  size_t columns = values.size() / rows;
  std::vector<T> turned(values.size());
  for (size_t i = 0; i < rows; ++i)
    for (size_t j = 0; j < columns; ++j) turned[j * rows + i] = values[i * columns + j];
  values.swap(turned);
}

float numberOf(Type type, uint64_t bits, unsigned part) {
  return type == Type::F16 ? fromF16(uint16_t(bits >> 16 * part)) : std::bit_cast<float>(uint32_t(bits));
}

template <class T> T sumOf(const Product& product, uint64_t bits, unsigned part) {
  if constexpr (std::is_same_v<T, double>)
    return std::bit_cast<double>(bits);
  else if constexpr (std::is_same_v<T, int64_t>)
    return int32_t(bits);
  else
    return numberOf(product.sum, bits, part);
}

template <class T> uint64_t bitsOfSum(const Product& product, T value) {
  if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<uint64_t>(value);
  } else if constexpr (std::is_same_v<T, int64_t>) {
    constexpr int64_t kLeast = std::numeric_limits<int32_t>::min(), kMost = std::numeric_limits<int32_t>::max();
    return uint32_t(product.saturates ? std::clamp(value, kLeast, kMost) : value);
  } else {
    return product.sum == Type::F16 ? toF16(value) : std::bit_cast<uint32_t>(value);
  }
}

template <class T> void addProduct(const Product& p, const T* left, const T* right, T* sums) {
  for (unsigned i = 0; i < p.m; ++i)
    for (unsigned k = 0; k < p.k; ++k) {
      T factor = left[i * p.k + k];
      const T* row = right + size_t(k) * p.n;
      T* to = sums + size_t(i) * p.n;
      for (unsigned j = 0; j < p.n; ++j) {
        if constexpr (std::is_same_v<T, double>)
          to[j] = std::fma(factor, row[j], to[j]);
        else
          to[j] += factor * row[j];
      }
    }
}

template <class T>
void multiplyAs(const Product& p, const Elements& leftBytes, bool leftTransposed, const Elements& rightBytes,
                bool rightTransposed, bool keeps, const Fragment& sums, const Fragment& results) {
  std::vector<T> left = numbers<T>(p.left, leftBytes), right = numbers<T>(p.right, rightBytes);
  if (leftTransposed) transpose(left, p.k);
  if (rightTransposed) transpose(right, p.n);
  if (p.negatesLeft != p.negatesRight)
    for (T& value : left) value = -value;
  std::vector<T> total(size_t(p.m) * p.n);
  unsigned parts = p.sum == Type::F16 ? 2 : 1;
  auto each = [&](auto act) {
    for (unsigned index = 0; index < results.size() * parts; ++index)
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        Place place = placeOfSum(lane, index);
        act(index / parts, lane, index % parts, total[size_t(place.row) * p.n + place.column]);
      }
  };
  if (keeps)
    each([&](unsigned index, unsigned lane, unsigned part, T& value) { value = sumOf<T>(p, sums[index][lane], part); });
  addProduct(p, left.data(), right.data(), total.data());
  each([&](unsigned index, unsigned lane, unsigned part, T& value) {
    uint64_t bits = bitsOfSum(p, value);
    results[index][lane] = part ? results[index][lane] | bits << 16 : bits;
  });
}

}  // namespace

unsigned Product::leftRegisters() const { return m * k / kLanes / perRegister(left); }
unsigned Product::rightRegisters() const { return k * n / kLanes / perRegister(right); }
unsigned Product::sumRegisters() const { return m * n / kLanes / perRegister(sum); }

Elements leftFromRegisters(const Product& p, const Fragment& registers) {
  return gathered(registers, p.left, p.m, p.k, placeOfLeft);
}

Elements rightFromRegisters(const Product& p, const Fragment& registers) {
  return gathered(registers, p.right, p.k, p.n, placeOfRight);
}

void multiply(const Product& p, const Elements& left, bool leftTransposed, const Elements& right, bool rightTransposed,
              bool keeps, const Fragment& sums, const Fragment& results) {
  auto as = p.sum == Type::F64 ? multiplyAs<double> : p.sum == Type::S32 ? multiplyAs<int64_t> : multiplyAs<float>;
  as(p, left, leftTransposed, right, rightTransposed, keeps, sums, results);
}

}  // namespace tandem::emulator
