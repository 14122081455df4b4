// Python's arithmetic on two numbers: floor division, modulo and powers by Python's rules, overflow of 128 bits seen.
#include "compiler/frontend/semantic/fold.h"
#include <cmath>

namespace tandem::frontend::semantic {
namespace {

using ast::BinaryOp;

[[noreturn]] void failOverflow(Context& context, BinaryOp op, const Value& lhs, const Value& rhs) {
  context.fail("out-of-range", "the result of " + repr(lhs) + " " + spelling(op) + " " + repr(rhs) + " is too large");
}

[[noreturn]] void failZero(Context& context, BinaryOp op, const Value& lhs, const Value& rhs) {
  context.fail("division-by-zero", "division by zero in " + repr(lhs) + " " + spelling(op) + " " + repr(rhs));
}

constexpr Int safeDividend = Int(1) << 126;  // beyond it a division by -1 may overflow

Int floorDivide(Int a, Int b) {
  Int quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}
Int floorModulo(Int a, Int b) {
  Int rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

bool power(Int base, Int exponent, Int& result) {
  result = 1;
  while (exponent > 0) {
    if ((exponent & 1) && __builtin_mul_overflow(result, base, &result)) return false;
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) return false;
  }
  return true;
}

bool shiftLeft(Int a, Int count, Int& result) {
  result = a;
  if (a == 0) return true;
  if (count > 126) return false;
  for (; count > 0; --count)
    if (__builtin_add_overflow(result, result, &result)) return false;
  return true;
}

Value foldBools(BinaryOp op, bool a, bool b) {
  if (op == BinaryOp::And) return a && b;
  return op == BinaryOp::Or ? a || b : a != b;
}

Value foldInts(Context& context, BinaryOp op, const Value& lhs, const Value& rhs) {
  Int a = intOf(lhs), b = intOf(rhs), result = 0;
  bool divides = op == BinaryOp::FloorDiv || op == BinaryOp::Mod, fits = true;
  if (divides && b == 0) failZero(context, op, lhs, rhs);
  if ((op == BinaryOp::LShift || op == BinaryOp::RShift) && b < 0)
    context.fail("out-of-range",
                 std::string("negative shift count in ") + repr(lhs) + " " + spelling(op) + " " + repr(rhs));
  if (divides && b == -1 && (a < -safeDividend || a > safeDividend)) failOverflow(context, op, lhs, rhs);
  switch (op) {
    case BinaryOp::Add: fits = !__builtin_add_overflow(a, b, &result); break;
    case BinaryOp::Sub: fits = !__builtin_sub_overflow(a, b, &result); break;
    case BinaryOp::Mul: fits = !__builtin_mul_overflow(a, b, &result); break;
    case BinaryOp::FloorDiv: result = floorDivide(a, b); break;
    case BinaryOp::Mod: result = floorModulo(a, b); break;
    case BinaryOp::Pow: fits = power(a, b, result); break;
    case BinaryOp::LShift: fits = shiftLeft(a, b, result); break;
    case BinaryOp::RShift: result = b > 126 ? (a < 0 ? -1 : 0) : a >> int(b); break;
    case BinaryOp::And: result = a & b; break;
    case BinaryOp::Or: result = a | b; break;
    case BinaryOp::Xor: result = a ^ b; break;
    default: failOperands(context, spelling(op), lhs, rhs);
  }
  if (!fits) failOverflow(context, op, lhs, rhs);
  return result;
}

double floatModulo(double a, double b) {
  double rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(0.0, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}

double floatFloorDivide(double a, double b) {
  double rest = std::fmod(a, b), quotient = (a - rest) / b;
  if (rest != 0 && (rest < 0) != (b < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0, a / b);
  double whole = std::floor(quotient);
  return quotient - whole > 0.5 ? whole + 1 : whole;
}

double floatPower(Context& context, const Value& lhs, const Value& rhs) {
  double a = doubleOf(lhs), b = doubleOf(rhs);
  if (a == 0 && b < 0) failZero(context, BinaryOp::Pow, lhs, rhs);
  if (std::isfinite(a) && a < 0 && std::isfinite(b) && std::floor(b) != b)
    context.fail("unsupported", repr(lhs) + " ** " + repr(rhs) + " is a complex number");
  double result = std::pow(a, b);
  if (std::isinf(result) && std::isfinite(a) && std::isfinite(b)) failOverflow(context, BinaryOp::Pow, lhs, rhs);
  return result;
}

Value foldFloats(Context& context, BinaryOp op, const Value& lhs, const Value& rhs) {
  double a = doubleOf(lhs), b = doubleOf(rhs);
  if ((op == BinaryOp::Div || op == BinaryOp::FloorDiv || op == BinaryOp::Mod) && b == 0)
    failZero(context, op, lhs, rhs);
  switch (op) {
    case BinaryOp::Add: return a + b;
    case BinaryOp::Sub: return a - b;
    case BinaryOp::Mul: return a * b;
    case BinaryOp::Div: return a / b;
    case BinaryOp::FloorDiv: return floatFloorDivide(a, b);
    case BinaryOp::Mod: return floatModulo(a, b);
    case BinaryOp::Pow: return floatPower(context, lhs, rhs);
    default: failOperands(context, spelling(op), lhs, rhs);
  }
}

// Integers of more than 53 bits are divided before they are rounded.
Value divideInts(Context& context, const Value& lhs, const Value& rhs) {
  if (intOf(rhs) == 0) failZero(context, BinaryOp::Div, lhs, rhs);
  return double(static_cast<long double>(intOf(lhs)) / static_cast<long double>(intOf(rhs)));
}

}  // namespace

Value foldNumbers(Context& context, BinaryOp op, const Value& lhs, const Value& rhs) {
  bool isBitwise = op == BinaryOp::And || op == BinaryOp::Or || op == BinaryOp::Xor;
  if (lhs.is<bool>() && rhs.is<bool>() && isBitwise) return foldBools(op, lhs.as<bool>(), rhs.as<bool>());
  if (lhs.is<double>() || rhs.is<double>()) return foldFloats(context, op, lhs, rhs);
  if (op == BinaryOp::Div) return divideInts(context, lhs, rhs);
  if (op == BinaryOp::Pow && intOf(rhs) < 0) return foldFloats(context, op, lhs, rhs);
  return foldInts(context, op, lhs, rhs);
}

}  // namespace tandem::frontend::semantic
