// The 8-bit float formats, and conversions to and from float32 by bit arithmetic where no instruction does it.
#pragma once
#include <llvm/IR/IRBuilder.h>
#include <mlir/IR/BuiltinTypes.h>
#include <optional>

namespace tandem::lower::gpu {

// The codes of a format that are special. Ieee: exponent all ones is infinity or NaN. Fn: only all ones is NaN. Fnuz:
// only the code of -0 is NaN.
enum class Specials { Ieee, Fn, Fnuz };

struct Float8Format {
  unsigned exponentBits, mantissaBits;
  int bias;
  Specials specials;

  // Returns nothing for a type that is not an 8-bit float.
  static std::optional<Float8Format> of(mlir::Type type);
  unsigned nan() const { return specials == Specials::Fnuz ? 0x80 : 0x7f; }
  unsigned infinity() const { return ((1u << exponentBits) - 1) << mantissaBits; }  // Ieee only
  unsigned largest() const {
    return specials == Specials::Ieee ? infinity() - 1 : specials == Specials::Fn ? 0x7e : 0x7f;
  }
};

// i8 -> float, exact.
llvm::Value* decodeFloat8(llvm::IRBuilder<>& b, const Float8Format& format, llvm::Value* code);
// float -> i8, to nearest even or towards zero; a value beyond the largest finite one becomes that one.
llvm::Value* encodeFloat8(llvm::IRBuilder<>& b, const Float8Format& format, llvm::Value* x, bool towardZero);

}  // namespace tandem::lower::gpu
