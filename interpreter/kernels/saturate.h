// Float to integer, toward zero and saturating.
#pragma once
#include "interpreter/kernels/elem_traits.h"
#include <cmath>

namespace tandem::interpreter {

// The limits as floats are powers of two, thus exact: least <= x < end converts, the rest saturates.
template <class Float, class I, bool isSigned> struct FloatToInt {
  using V = std::conditional_t<isSigned, typename I::Signed, typename I::Unsigned>;
  static constexpr V least = isSigned ? static_cast<V>(I::least) : 0,
                     largest = isSigned ? static_cast<V>(I::largest) : static_cast<V>(I::mask);
  static constexpr V half = largest / 2 + 1;  // rounded up
  static constexpr Float end = static_cast<Float>(half) * (largest == 0 ? 1 : 2), begin = static_cast<Float>(least);
  static typename I::U apply(Float x) {
    Float whole = std::trunc(x);
    bool fits = (whole >= begin) & (whole < end);
    V v = static_cast<V>(fits ? whole : Float{0});
    v = whole < begin ? least : v;
    v = whole >= end ? largest : v;
    return I::store(static_cast<typename I::Unsigned>(v));
  }
};

}  // namespace tandem::interpreter
