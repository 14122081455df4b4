// Element types as C++ types: integer traits, and the switch from a run-time Elem to a compile-time one.
#pragma once
#include "interpreter/program.h"
#include "tandem/element_types.h"
#include <cstdint>
#include <type_traits>

namespace tandem::interpreter {

constexpr bool isFloat(Elem e) {
  switch (e) {
#define TANDEM_ROW(dtype, scalar, elem, ...) case Elem::elem:
    TANDEM_SIGNED_TYPES(TANDEM_ROW)
#undef TANDEM_ROW
    return false;
    default: return true;
  }
}
constexpr unsigned bitWidth(Elem e) { return e == Elem::I1 ? 1 : 8 * byteSize(e); }

// An integer element: stored as U, worked on as Unsigned or Signed, which never promote.
template <unsigned width, class Stored> struct Integer {
  using U = Stored;
  using S = std::make_signed_t<U>;
  using Unsigned = std::conditional_t<width == 64, uint64_t, uint32_t>;
  using Signed = std::make_signed_t<Unsigned>;
  static constexpr unsigned bits = width;
  static constexpr Unsigned mask = width == 64 ? ~Unsigned{0} : static_cast<Unsigned>((uint64_t{1} << width) - 1);
  static constexpr Signed least = width == 1 ? -1 : static_cast<Signed>(~Unsigned{0} << (width - 1));
  static constexpr Signed largest = static_cast<Signed>(mask >> 1);
  static U store(Unsigned v) { return static_cast<U>(width == 1 ? v & 1 : v); }
  static Unsigned load(U v) { return v; }
  static Signed asSigned(Unsigned v) {
    if constexpr (width == 1)
      return -static_cast<Signed>(v & 1);
    else
      return static_cast<S>(static_cast<U>(v));
  }
};
using Int1 = Integer<1, uint8_t>;
using Int8 = Integer<8, uint8_t>;
using Int16 = Integer<16, uint16_t>;
using Int32 = Integer<32, uint32_t>;
using Int64 = Integer<64, uint64_t>;

// f(Int32{}) for Elem::I32, and so on; a default value for a float.
template <class F> auto forInteger(Elem e, F f) -> decltype(f(Int32{})) {
  switch (e) {
#define TANDEM_ROW(dtype, scalar, elem, ...) \
  case Elem::elem: return f(scalar{});
    TANDEM_SIGNED_TYPES(TANDEM_ROW)
#undef TANDEM_ROW
    default: return {};
  }
}

}  // namespace tandem::interpreter
