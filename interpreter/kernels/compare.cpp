// Comparisons: integer predicates, and ordered and unordered float predicates.
#include "interpreter/kernels/loops.h"

namespace tandem::interpreter {
namespace {

struct Eq {
  template <class T> static bool apply(T a, T b) { return a == b; }
};
struct Ne {
  template <class T> static bool apply(T a, T b) { return a != b; }
};
struct Lt {
  template <class T> static bool apply(T a, T b) { return a < b; }
};
struct Le {
  template <class T> static bool apply(T a, T b) { return a <= b; }
};
struct Gt {
  template <class T> static bool apply(T a, T b) { return a > b; }
};
struct Ge {
  template <class T> static bool apply(T a, T b) { return a >= b; }
};
struct OrderedNe {
  template <class T> static bool apply(T a, T b) { return (a < b) | (a > b); }
};
struct Ordered {
  template <class T> static bool apply(T a, T b) { return (a == a) & (b == b); }
};
template <class Op> struct Not {
  template <class T> static bool apply(T a, T b) { return !Op::apply(a, b); }
};
// Signed true is -1, so that the order of I1 is the reverse of its codes'.
template <class Op> struct Reversed {
  template <class T> static bool apply(T a, T b) { return Op::apply(b, a); }
};

template <class Op> BinaryKernel unsignedOf(Elem elem) {
  return forInteger(elem, []<class I>(I) -> BinaryKernel { return binaryLoop<typename I::U, uint8_t, Op>; });
}
template <class Op> BinaryKernel signedOf(Elem elem) {
  return forInteger(elem, []<class I>(I) -> BinaryKernel {
    if constexpr (I::bits == 1)
      return binaryLoop<uint8_t, uint8_t, Reversed<Op>>;
    else
      return binaryLoop<typename I::S, uint8_t, Op>;
  });
}
template <class Op> BinaryKernel floatOf(Elem elem) {
  if (elem == Elem::F64) return binaryLoop<double, uint8_t, Op>;
  if (elem == Elem::F32) return binaryLoop<float, uint8_t, Op>;
  return forNarrow(
      elem, []<class Format>(Format) -> BinaryKernel { return narrowCompare<Format, binaryLoop<float, uint8_t, Op>>; });
}

}  // namespace

BinaryKernel compareKernel(CompareOp op, Elem elem) {
  switch (op) {
    case CompareOp::Eq: return unsignedOf<Eq>(elem);
    case CompareOp::Ne: return unsignedOf<Ne>(elem);
    case CompareOp::SLt: return signedOf<Lt>(elem);
    case CompareOp::SLe: return signedOf<Le>(elem);
    case CompareOp::SGt: return signedOf<Gt>(elem);
    case CompareOp::SGe: return signedOf<Ge>(elem);
    case CompareOp::ULt: return unsignedOf<Lt>(elem);
    case CompareOp::ULe: return unsignedOf<Le>(elem);
    case CompareOp::UGt: return unsignedOf<Gt>(elem);
    case CompareOp::UGe: return unsignedOf<Ge>(elem);
    case CompareOp::OEq: return floatOf<Eq>(elem);
    case CompareOp::ONe: return floatOf<OrderedNe>(elem);
    case CompareOp::OLt: return floatOf<Lt>(elem);
    case CompareOp::OLe: return floatOf<Le>(elem);
    case CompareOp::OGt: return floatOf<Gt>(elem);
    case CompareOp::OGe: return floatOf<Ge>(elem);
    case CompareOp::UEq: return floatOf<Not<OrderedNe>>(elem);
    case CompareOp::UNe: return floatOf<Ne>(elem);
    case CompareOp::ULtF: return floatOf<Not<Ge>>(elem);
    case CompareOp::ULeF: return floatOf<Not<Gt>>(elem);
    case CompareOp::UGtF: return floatOf<Not<Le>>(elem);
    case CompareOp::UGeF: return floatOf<Not<Lt>>(elem);
    case CompareOp::Ord: return floatOf<Ordered>(elem);
    case CompareOp::Uno: return floatOf<Not<Ordered>>(elem);
  }
  return nullptr;
}

}  // namespace tandem::interpreter
