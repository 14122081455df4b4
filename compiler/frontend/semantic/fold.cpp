// Python's arithmetic on constants: numbers, strings, tuples and lists.
#include "compiler/frontend/semantic/fold.h"
#include "compiler/frontend/semantic/semantic.h"

namespace tandem::frontend::semantic {
namespace {

using ast::BinaryOp;

constexpr size_t maxRepeatedLength = 1 << 20;

// Triton's kernels have tuples only, so that a list and a tuple have a sum; it is of the first one's kind.
Value concatenated(const Value& lhs, const Value& rhs) {
  const Tuple &left = *lhs.as<std::shared_ptr<Tuple>>(), &right = *rhs.as<std::shared_ptr<Tuple>>();
  auto joined = std::make_shared<Tuple>();
  joined->isList = left.isList;
  joined->elements = left.elements;
  joined->elements.insert(joined->elements.end(), right.elements.begin(), right.elements.end());
  return joined;
}

size_t repeatCount(Context& context, const Value& count, size_t length) {
  Int times = intOf(count);
  if (times <= 0 || length == 0) return 0;
  if (times > Int(maxRepeatedLength / length))
    context.fail("out-of-range", "repeating " + std::to_string(length) + " elements " + repr(count) +
                                     " times gives more than " + std::to_string(maxRepeatedLength));
  return size_t(times);
}

Value repeated(Context& context, const Value& sequence, const Value& count) {
  if (sequence.is<std::string>()) {
    const std::string& text = sequence.as<std::string>();
    std::string out;
    for (size_t n = repeatCount(context, count, text.size()); n; --n) out += text;
    return out;
  }
  const Tuple& tuple = *sequence.as<std::shared_ptr<Tuple>>();
  auto out = std::make_shared<Tuple>();
  out->isList = tuple.isList;
  for (size_t n = repeatCount(context, count, tuple.elements.size()); n; --n)
    out->elements.insert(out->elements.end(), tuple.elements.begin(), tuple.elements.end());
  return out;
}

bool isSequence(const Value& value) { return value.is<std::string>() || value.isTuple(); }
bool isInteger(const Value& value) { return value.is<Int>() || value.is<bool>(); }

}  // namespace

const char* spelling(BinaryOp op) {
  static constexpr const char* words[] = {"+", "-", "*", "/", "//", "%", "**", "@", "<<", ">>", "&", "|", "^"};
  return words[size_t(op)];
}
const char* spelling(ast::CompareOp op) {
  static constexpr const char* words[] = {"==", "!=", "<", "<=", ">", ">=", "is", "is not", "in", "not in"};
  return words[size_t(op)];
}
const char* spelling(ast::UnaryOp op) {
  static constexpr const char* words[] = {"-", "+", "not", "~"};
  return words[size_t(op)];
}

void failOperands(Context& context, const char* op, const Value& lhs, const Value& rhs) {
  context.fail("type-mismatch",
               std::string("unsupported operands of `") + op + "`: " + describe(lhs) + " and " + describe(rhs));
}

Int intOf(const Value& value) { return value.is<bool>() ? Int(value.as<bool>()) : value.as<Int>(); }
double doubleOf(const Value& value) { return value.is<double>() ? value.as<double>() : double(intOf(value)); }

Value foldBinary(Context& context, BinaryOp op, const Value& lhs, const Value& rhs) {
  if (lhs.isNumber() && rhs.isNumber()) return foldNumbers(context, op, lhs, rhs);
  if (op == BinaryOp::Add && lhs.is<std::string>() && rhs.is<std::string>())
    return lhs.as<std::string>() + rhs.as<std::string>();
  if (op == BinaryOp::Add && lhs.isTuple() && rhs.isTuple()) return concatenated(lhs, rhs);
  if (op == BinaryOp::Mul && isSequence(lhs) && isInteger(rhs)) return repeated(context, lhs, rhs);
  if (op == BinaryOp::Mul && isInteger(lhs) && isSequence(rhs)) return repeated(context, rhs, lhs);
  failOperands(context, spelling(op), lhs, rhs);
}

Value foldUnary(Context& context, ast::UnaryOp op, const Value& value) {
  if (op == ast::UnaryOp::Not) return !truth(context, value);
  bool isFloat = value.is<double>();
  if (!value.isNumber() || (isFloat && op == ast::UnaryOp::Invert))
    context.fail("type-mismatch",
                 std::string("unsupported operand of unary `") + spelling(op) + "`: " + describe(value));
  if (op == ast::UnaryOp::Neg)
    return isFloat ? Value(-value.as<double>()) : foldNumbers(context, BinaryOp::Sub, Int(0), value);
  if (op == ast::UnaryOp::Invert) return Value(Int(~intOf(value)));
  return isFloat ? value : Value(intOf(value));
}

bool truth(Context& context, const Value& value) {
  if (value.isNone()) return false;
  if (value.is<bool>()) return value.as<bool>();
  if (value.is<Int>()) return value.as<Int>() != 0;
  if (value.is<double>()) return value.as<double>() != 0;
  if (value.is<std::string>()) return !value.as<std::string>().empty();
  if (value.isTuple()) return !value.elements().empty();
  if (value.isTensor())
    context.failConstexpr(context.place.range,
                          "the truth of a " + describe(value) + " is not known when the kernel is compiled", value);
  return true;
}

}  // namespace tandem::frontend::semantic
