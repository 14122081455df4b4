// Integer forms of opcodes that floating-point types share.
#pragma once
#include "emulator/decoder.h"

namespace tandem::emulator {

// Calls f.template operator()<T>() with the C++ type of an integer type; of bits the unsigned one.
template <class F>
Handler withInteger(Type type, F f) {
  switch (type) {
    case Type::U8:
    case Type::B8: return f.template operator()<uint8_t>();
    case Type::S8: return f.template operator()<int8_t>();
    case Type::U16:
    case Type::B16: return f.template operator()<uint16_t>();
    case Type::S16: return f.template operator()<int16_t>();
    case Type::U32:
    case Type::B32: return f.template operator()<uint32_t>();
    case Type::S32: return f.template operator()<int32_t>();
    case Type::U64:
    case Type::B64: return f.template operator()<uint64_t>();
    case Type::S64: return f.template operator()<int64_t>();
    default: return nullptr;
  }
}

// The forms by opcode; null: no integer form. They take the modifiers that are theirs.
Handler integerBinary(Decoder& d, Type type);   // add, sub, min, max, div, rem
Handler integerUnary(Decoder& d, Type type);    // neg, abs
Handler integerProduct(Decoder& d, Type type);  // mul, mad with .lo, .hi, .wide
void decodeCarrying(Decoder& d);                // with .cc, or an opcode of its own
Handler floatingForm(Decoder& d, Type type);    // every opcode

}  // namespace tandem::emulator
