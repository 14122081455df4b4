// PTX's fundamental types as the modifiers of instructions name them.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace tandem::emulator {

enum class Type : uint8_t {
  Pred,
  B8,
  B16,
  B32,
  B64,
  B128,
  U8,
  U16,
  U32,
  U64,
  S8,
  S16,
  S32,
  S64,
  F16,
  F16x2,
  BF16,
  BF16x2,
  TF32,
  F32,
  F32x2,
  F64,
  E4M3,
  E5M2,
  E4M3x2,
  E5M2x2,
  U16x2,
  S16x2
};

// "u32" gives U32; nothing if the word names no type.
std::optional<Type> typeNamed(std::string_view word);
unsigned bitsOf(Type type);
bool isSigned(Type type);    // two's complement
bool isFloating(Type type);  // of any format, packed ones too

enum class Space : uint8_t { Generic, Global, Shared, SharedCluster, Local, Param, Const };

}  // namespace tandem::emulator
