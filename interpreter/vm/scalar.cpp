// These handlers compute one value, without a kernel call or a buffer. Loops and address arithmetic consist of them.
#include "interpreter/vm/handlers.h"
#include "interpreter/vm/run.h"

namespace tandem::interpreter {
namespace {

template <class T> T value(const Run& run, Register r) {
  T v;
  memcpy(&v, &run.slots[r].bits, sizeof v);
  return v;
}
template <class T> void setValue(Run& run, Register r, T v) { memcpy(&run.slots[r].bits, &v, sizeof v); }

template <class U, BinaryOp op> Step binary(Machine&, Run& run, const Prepared& i) {
  using S = std::make_signed_t<U>;
  U a = value<U>(run, i.a), b = value<U>(run, i.b), r = 0;
  if constexpr (op == BinaryOp::AddI) r = a + b;
  if constexpr (op == BinaryOp::SubI) r = a - b;
  if constexpr (op == BinaryOp::MulI) r = a * b;
  if constexpr (op == BinaryOp::And) r = a & b;
  if constexpr (op == BinaryOp::Or) r = a | b;
  if constexpr (op == BinaryOp::Xor) r = a ^ b;
  if constexpr (op == BinaryOp::MinS) r = U(S(a) < S(b) ? a : b);
  if constexpr (op == BinaryOp::MaxS) r = U(S(a) > S(b) ? a : b);
  setValue(run, i.r, r);
  return Step::Next;
}

template <class U, CompareOp op> Step compare(Machine&, Run& run, const Prepared& i) {
  using S = std::make_signed_t<U>;
  U a = value<U>(run, i.a), b = value<U>(run, i.b);
  bool r = false;
  if constexpr (op == CompareOp::Eq) r = a == b;
  if constexpr (op == CompareOp::Ne) r = a != b;
  if constexpr (op == CompareOp::SLt) r = S(a) < S(b);
  if constexpr (op == CompareOp::SLe) r = S(a) <= S(b);
  if constexpr (op == CompareOp::SGt) r = S(a) > S(b);
  if constexpr (op == CompareOp::SGe) r = S(a) >= S(b);
  if constexpr (op == CompareOp::ULt) r = a < b;
  if constexpr (op == CompareOp::UGe) r = a >= b;
  run.slots[i.r].bits = r;
  return Step::Next;
}

template <class S> Step addPointer(Machine&, Run& run, const Prepared& i) {
  run.slots[i.r].bits = run.slots[i.a].bits + uint64_t(int64_t(value<S>(run, i.b)) * i.as<imm::AddPtr>().bytes);
  return Step::Next;
}

template <class U> Handler binaryFor(BinaryOp op) {
  switch (op) {
    case BinaryOp::AddI: return binary<U, BinaryOp::AddI>;
    case BinaryOp::SubI: return binary<U, BinaryOp::SubI>;
    case BinaryOp::MulI: return binary<U, BinaryOp::MulI>;
    case BinaryOp::And: return binary<U, BinaryOp::And>;
    case BinaryOp::Or: return binary<U, BinaryOp::Or>;
    case BinaryOp::Xor: return binary<U, BinaryOp::Xor>;
    case BinaryOp::MinS: return binary<U, BinaryOp::MinS>;
    case BinaryOp::MaxS: return binary<U, BinaryOp::MaxS>;
    default: return nullptr;
  }
}

template <class U> Handler compareFor(CompareOp op) {
  switch (op) {
    case CompareOp::Eq: return compare<U, CompareOp::Eq>;
    case CompareOp::Ne: return compare<U, CompareOp::Ne>;
    case CompareOp::SLt: return compare<U, CompareOp::SLt>;
    case CompareOp::SLe: return compare<U, CompareOp::SLe>;
    case CompareOp::SGt: return compare<U, CompareOp::SGt>;
    case CompareOp::SGe: return compare<U, CompareOp::SGe>;
    case CompareOp::ULt: return compare<U, CompareOp::ULt>;
    case CompareOp::UGe: return compare<U, CompareOp::UGe>;
    default: return nullptr;
  }
}

}  // namespace

Handler scalarHandler(const PreparedProgram& program, const Instruction& i, const Prepared& p) {
  if (p.r == kNone || p.a == kNone || p.b == kNone) return nullptr;
  for (Register r : {p.r, p.a, p.b})
    if (!program.registers[r].isInline) return nullptr;
  bool is32 = i.elem == Elem::I32, is64 = i.elem == Elem::I64;
  if (i.op == Op::Binary)
    return is32 ? binaryFor<uint32_t>(BinaryOp(i.sub)) : is64 ? binaryFor<uint64_t>(BinaryOp(i.sub)) : nullptr;
  if (i.op == Op::Compare)
    return is32 ? compareFor<uint32_t>(CompareOp(i.sub)) : is64 ? compareFor<uint64_t>(CompareOp(i.sub)) : nullptr;
  if (i.op == Op::AddPtr) return is32 ? addPointer<int32_t> : is64 ? addPointer<int64_t> : nullptr;
  return nullptr;
}

}  // namespace tandem::interpreter
