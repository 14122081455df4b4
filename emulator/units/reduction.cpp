#include "emulator/units/reduction.h"
#include "emulator/formats.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

namespace tandem::emulator {
namespace {

template <class T> bool isKnown(Reduction op) {
  bool isBitwise = op >= Reduction::And, counts = op == Reduction::Inc || op == Reduction::Dec;
  if (std::is_floating_point_v<T>) return !isBitwise && !counts;
  return !counts || std::is_same_v<T, uint32_t>;
}

template <class T> T combined(Reduction op, T old, T value) {
  if constexpr (std::is_floating_point_v<T>) {
    if (op == Reduction::Add) return old + value;
    return op == Reduction::Min ? std::fmin(old, value) : std::fmax(old, value);
  } else {
    switch (op) {
      case Reduction::Add: return T(std::make_unsigned_t<T>(old) + std::make_unsigned_t<T>(value));
      case Reduction::Min: return std::min(old, value);
      case Reduction::Max: return std::max(old, value);
      case Reduction::Inc: return old >= value ? T(0) : T(old + 1);
      case Reduction::Dec: return old == 0 || old > value ? value : T(old - 1);
      case Reduction::And: return old & value;
      case Reduction::Or: return old | value;
      case Reduction::Xor: return old ^ value;
    }
    return old;
  }
}

template <class T> bool reduce(Reduction op, std::byte* to, const std::byte* from, size_t bytes) {
  if (!isKnown<T>(op)) return false;
  for (size_t at = 0; at < bytes; at += sizeof(T)) {
    T old, value;
    std::memcpy(&old, to + at, sizeof(T));
    std::memcpy(&value, from + at, sizeof(T));
    old = combined(op, old, value);
    std::memcpy(to + at, &old, sizeof(T));
  }
  return true;
}

// Of 16-bit floats; each result is rounded once.
bool reduceNarrow(Reduction op, float (*decode)(uint16_t), uint16_t (*encode)(float), std::byte* to,
                  const std::byte* from, size_t bytes) {
  if (!isKnown<float>(op)) return false;
  for (size_t at = 0; at < bytes; at += sizeof(uint16_t)) {
    uint16_t old, value;
    std::memcpy(&old, to + at, sizeof old);
    std::memcpy(&value, from + at, sizeof value);
    old = encode(combined(op, decode(old), decode(value)));
    std::memcpy(to + at, &old, sizeof old);
  }
  return true;
}

}  // namespace

std::optional<Reduction> reductionNamed(std::string_view word) {
  static constexpr std::string_view kNames[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor"};
  auto found = std::find(std::begin(kNames), std::end(kNames), word);
  if (found == std::end(kNames)) return std::nullopt;
  return Reduction(found - kNames);
}

bool reduceInto(Reduction op, Type type, std::byte* to, const std::byte* from, size_t bytes) {
  switch (type) {
    case Type::U32:
    case Type::B32: return reduce<uint32_t>(op, to, from, bytes);
    case Type::S32: return reduce<int32_t>(op, to, from, bytes);
    case Type::U64:
    case Type::B64: return reduce<uint64_t>(op, to, from, bytes);
    case Type::S64: return reduce<int64_t>(op, to, from, bytes);
    case Type::F32: return reduce<float>(op, to, from, bytes);
    case Type::F64: return reduce<double>(op, to, from, bytes);
    case Type::F16: return reduceNarrow(op, fromF16, toF16, to, from, bytes);
    case Type::BF16: return reduceNarrow(op, fromBF16, toBF16, to, from, bytes);
    default: return false;
  }
}

}  // namespace tandem::emulator
