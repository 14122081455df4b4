#include "emulator/types.h"
#include <utility>

namespace tandem::emulator {
namespace {

struct Row {
  std::string_view name;
  Type type;
  uint8_t bits;
  bool isSigned, isFloating;
};
constexpr Row kTypes[] = {
    {"pred", Type::Pred, 1, false, false},     {"b8", Type::B8, 8, false, false},
    {"b16", Type::B16, 16, false, false},      {"b32", Type::B32, 32, false, false},
    {"b64", Type::B64, 64, false, false},      {"b128", Type::B128, 128, false, false},
    {"u8", Type::U8, 8, false, false},         {"u16", Type::U16, 16, false, false},
    {"u32", Type::U32, 32, false, false},      {"u64", Type::U64, 64, false, false},
    {"s8", Type::S8, 8, true, false},          {"s16", Type::S16, 16, true, false},
    {"s32", Type::S32, 32, true, false},       {"s64", Type::S64, 64, true, false},
    {"f16", Type::F16, 16, false, true},       {"f16x2", Type::F16x2, 32, false, true},
    {"bf16", Type::BF16, 16, false, true},     {"bf16x2", Type::BF16x2, 32, false, true},
    {"tf32", Type::TF32, 32, false, true},     {"f32", Type::F32, 32, false, true},
    {"f32x2", Type::F32x2, 64, false, true},   {"f64", Type::F64, 64, false, true},
    {"e4m3", Type::E4M3, 8, false, true},      {"e5m2", Type::E5M2, 8, false, true},
    {"e4m3x2", Type::E4M3x2, 16, false, true}, {"e5m2x2", Type::E5M2x2, 16, false, true},
    {"u16x2", Type::U16x2, 32, false, false},  {"s16x2", Type::S16x2, 32, true, false},
};

const Row& rowOf(Type type) {
  for (const Row& row : kTypes)
    if (row.type == type) return row;
  return kTypes[0];
}

}  // namespace

std::optional<Type> typeNamed(std::string_view word) {
  for (const Row& row : kTypes)
    if (row.name == word) return row.type;
  return std::nullopt;
}

unsigned bitsOf(Type type) { return rowOf(type).bits; }
bool isSigned(Type type) { return rowOf(type).isSigned; }
bool isFloating(Type type) { return rowOf(type).isFloating; }

}  // namespace tandem::emulator
