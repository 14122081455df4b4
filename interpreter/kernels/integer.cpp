// Integer arithmetic: wrapping, with division by zero and over-long shifts defined as kernels.h says.
#include "interpreter/kernels/families.h"
#include "interpreter/kernels/loops.h"
#include <bit>

namespace tandem::interpreter {
namespace {

template <class I> using U = typename I::Unsigned;
template <class I> using S = typename I::Signed;

struct AddI {
  template <class I> static U<I> apply(U<I> a, U<I> b) { return a + b; }
};
struct SubI {
  template <class I> static U<I> apply(U<I> a, U<I> b) { return a - b; }
};
struct MulI {
  template <class I> static U<I> apply(U<I> a, U<I> b) { return a * b; }
};
struct And {
  template <class I> static U<I> apply(U<I> a, U<I> b) { return a & b; }
};
struct Or {
  template <class I> static U<I> apply(U<I> a, U<I> b) { return a | b; }
};
struct Xor {
  template <class I> static U<I> apply(U<I> a, U<I> b) { return a ^ b; }
};
struct MinU {
  template <class I> static U<I> apply(U<I> a, U<I> b) { return a < b ? a : b; }
};
struct MaxU {
  template <class I> static U<I> apply(U<I> a, U<I> b) { return a > b ? a : b; }
};
struct MinS {
  template <class I> static U<I> apply(U<I> a, U<I> b) { return I::asSigned(a) < I::asSigned(b) ? a : b; }
};
struct MaxS {
  template <class I> static U<I> apply(U<I> a, U<I> b) { return I::asSigned(a) > I::asSigned(b) ? a : b; }
};

// Shift counts are unsigned; the mask keeps the C++ shift defined where the result is replaced.
template <class I> constexpr unsigned kShiftMask = sizeof(U<I>) * 8 - 1;
struct Shl {
  template <class I> static U<I> apply(U<I> a, U<I> b) { return b >= I::bits ? 0 : a << (b & kShiftMask<I>); }
};
struct ShrU {
  template <class I> static U<I> apply(U<I> a, U<I> b) { return b >= I::bits ? 0 : a >> (b & kShiftMask<I>); }
};
struct ShrS {
  template <class I> static U<I> apply(U<I> a, U<I> b) {
    U<I> count = b >= I::bits ? I::bits - 1 : b;
    return static_cast<U<I>>(I::asSigned(a) >> count);
  }
};

struct DivU {
  template <class I> static U<I> apply(U<I> a, U<I> b) { return b == 0 ? I::mask : a / b; }
};
struct RemU {
  template <class I> static U<I> apply(U<I> a, U<I> b) { return b == 0 ? a : a % b; }
};
struct CeilDivU {
  template <class I> static U<I> apply(U<I> a, U<I> b) { return b == 0 ? I::mask : a / b + (a % b != 0); }
};
// A divisor of -1 negates: the one case in which the quotient may not fit.
struct DivS {
  template <class I> static U<I> apply(U<I> a, U<I> b) {
    S<I> x = I::asSigned(a), y = I::asSigned(b);
    return y == 0 ? I::mask : y == -1 ? U<I>{0} - a : static_cast<U<I>>(x / y);
  }
};
struct RemS {
  template <class I> static U<I> apply(U<I> a, U<I> b) {
    S<I> x = I::asSigned(a), y = I::asSigned(b);
    return y == 0 ? a : y == -1 ? 0 : static_cast<U<I>>(x % y);
  }
};
struct FloorDivS {
  template <class I> static U<I> apply(U<I> a, U<I> b) {
    S<I> x = I::asSigned(a), y = I::asSigned(b);
    if (y == 0 || y == -1) return DivS::apply<I>(a, b);
    return static_cast<U<I>>(x / y - (x % y != 0 && (x < 0) != (y < 0)));
  }
};
struct CeilDivS {
  template <class I> static U<I> apply(U<I> a, U<I> b) {
    S<I> x = I::asSigned(a), y = I::asSigned(b);
    if (y == 0 || y == -1) return DivS::apply<I>(a, b);
    return static_cast<U<I>>(x / y + (x % y != 0 && (x < 0) == (y < 0)));
  }
};
struct MulHiU {
  template <class I> static U<I> apply(U<I> a, U<I> b) {
    if constexpr (I::bits == 64)
      return static_cast<uint64_t>((static_cast<unsigned __int128>(a) * b) >> 64);
    else
      return static_cast<U<I>>((uint64_t{a} * b) >> I::bits);
  }
};
struct MulHiS {
  template <class I> static U<I> apply(U<I> a, U<I> b) {
    if constexpr (I::bits == 64)
      return static_cast<uint64_t>((static_cast<__int128>(I::asSigned(a)) * I::asSigned(b)) >> 64);
    else
      return static_cast<U<I>>((int64_t{I::asSigned(a)} * I::asSigned(b)) >> I::bits);
  }
};

struct AbsI {
  template <class I> static U<I> apply(U<I> a) { return I::asSigned(a) < 0 ? U<I>{0} - a : a; }
};
struct Ctlz {
  template <class I> static U<I> apply(U<I> a) {
    return static_cast<U<I>>(std::countl_zero(a)) - (sizeof(U<I>) * 8 - I::bits);
  }
};
struct Cttz {
  template <class I> static U<I> apply(U<I> a) { return a == 0 ? I::bits : static_cast<U<I>>(std::countr_zero(a)); }
};
struct Ctpop {
  template <class I> static U<I> apply(U<I> a) { return static_cast<U<I>>(std::popcount(a)); }
};

// An integer op on stored elements.
template <class I, class Op> struct Stored {
  static typename I::U apply(typename I::U a) { return I::store(Op::template apply<I>(I::load(a))); }
  static typename I::U apply(typename I::U a, typename I::U b) {
    return I::store(Op::template apply<I>(I::load(a), I::load(b)));
  }
};

template <class Op> BinaryKernel binaryOf(Elem elem) {
  return forInteger(elem,
                    []<class I>(I) -> BinaryKernel { return binaryLoop<typename I::U, typename I::U, Stored<I, Op>>; });
}
template <class Op> UnaryKernel unaryOf(Elem elem) {
  return forInteger(elem,
                    []<class I>(I) -> UnaryKernel { return unaryLoop<typename I::U, typename I::U, Stored<I, Op>>; });
}

}  // namespace

BinaryKernel integerBinary(BinaryOp op, Elem elem) {
  switch (op) {
    case BinaryOp::AddI: return binaryOf<AddI>(elem);
    case BinaryOp::SubI: return binaryOf<SubI>(elem);
    case BinaryOp::MulI: return binaryOf<MulI>(elem);
    case BinaryOp::DivS: return binaryOf<DivS>(elem);
    case BinaryOp::DivU: return binaryOf<DivU>(elem);
    case BinaryOp::RemS: return binaryOf<RemS>(elem);
    case BinaryOp::RemU: return binaryOf<RemU>(elem);
    case BinaryOp::And: return binaryOf<And>(elem);
    case BinaryOp::Or: return binaryOf<Or>(elem);
    case BinaryOp::Xor: return binaryOf<Xor>(elem);
    case BinaryOp::Shl: return binaryOf<Shl>(elem);
    case BinaryOp::ShrS: return binaryOf<ShrS>(elem);
    case BinaryOp::ShrU: return binaryOf<ShrU>(elem);
    case BinaryOp::MinS: return binaryOf<MinS>(elem);
    case BinaryOp::MinU: return binaryOf<MinU>(elem);
    case BinaryOp::MaxS: return binaryOf<MaxS>(elem);
    case BinaryOp::MaxU: return binaryOf<MaxU>(elem);
    case BinaryOp::MulHiU: return binaryOf<MulHiU>(elem);
    case BinaryOp::FloorDivS: return binaryOf<FloorDivS>(elem);
    case BinaryOp::CeilDivS: return binaryOf<CeilDivS>(elem);
    case BinaryOp::CeilDivU: return binaryOf<CeilDivU>(elem);
    default: return nullptr;
  }
}

UnaryKernel integerUnary(UnaryOp op, Elem elem) {
  switch (op) {
    case UnaryOp::AbsI: return unaryOf<AbsI>(elem);
    case UnaryOp::Ctlz: return unaryOf<Ctlz>(elem);
    case UnaryOp::Cttz: return unaryOf<Cttz>(elem);
    case UnaryOp::Ctpop: return unaryOf<Ctpop>(elem);
    default: return nullptr;
  }
}

BinaryKernel integerMulHigh(bool isSigned, Elem elem) {
  return isSigned ? binaryOf<MulHiS>(elem) : binaryOf<MulHiU>(elem);
}

}  // namespace tandem::interpreter
