// Python's comparisons of constants: order of numbers, strings and tuples, identity and membership.
#include "compiler/frontend/semantic/fold.h"

namespace tandem::frontend::semantic {
namespace {

using ast::CompareOp;
enum class Order : uint8_t { Less, Equal, Greater, Unordered };

template <class T> Order orderOf(const T& a, const T& b) {
  if (a < b) return Order::Less;
  if (b < a) return Order::Greater;
  return a == b ? Order::Equal : Order::Unordered;
}

// long double holds every double and every 64-bit integer.
Order orderOfNumbers(const Value& lhs, const Value& rhs) {
  if (!lhs.is<double>() && !rhs.is<double>()) return orderOf(intOf(lhs), intOf(rhs));
  auto wide = [](const Value& value) {
    return value.is<double>() ? static_cast<long double>(value.as<double>()) : static_cast<long double>(intOf(value));
  };
  return orderOf(wide(lhs), wide(rhs));
}

bool holds(CompareOp op, Order order) {
  switch (op) {
    case CompareOp::Lt: return order == Order::Less;
    case CompareOp::Le: return order == Order::Less || order == Order::Equal;
    case CompareOp::Gt: return order == Order::Greater;
    default: return order == Order::Greater || order == Order::Equal;
  }
}

std::optional<bool> tuplesEqual(const Tuple& lhs, const Tuple& rhs) {
  if (lhs.isList != rhs.isList || lhs.elements.size() != rhs.elements.size()) return false;
  bool known = true;
  for (size_t i = 0; i < lhs.elements.size(); ++i) {
    std::optional<bool> equal = constantsEqual(lhs.elements[i], rhs.elements[i]);
    if (equal && !*equal) return false;
    known = known && equal;
  }
  if (!known) return std::nullopt;
  return true;
}

bool compareTuples(Context& context, CompareOp op, const Value& lhs, const Value& rhs) {
  const std::vector<Value>&left = lhs.elements(), &right = rhs.elements();
  for (size_t i = 0; i < left.size() && i < right.size(); ++i) {
    std::optional<bool> equal = constantsEqual(left[i], right[i]);
    if (!equal) failOperands(context, spelling(op), lhs, rhs);
    if (!*equal) return foldCompare(context, op, left[i], right[i]);
  }
  return holds(op, orderOf(left.size(), right.size()));
}

bool compareOrder(Context& context, CompareOp op, const Value& lhs, const Value& rhs) {
  if (lhs.isNumber() && rhs.isNumber()) return holds(op, orderOfNumbers(lhs, rhs));
  if (lhs.is<std::string>() && rhs.is<std::string>())
    return holds(op, orderOf(lhs.as<std::string>(), rhs.as<std::string>()));
  if (lhs.isTuple() && rhs.isTuple()) return compareTuples(context, op, lhs, rhs);
  failOperands(context, spelling(op), lhs, rhs);
}

bool identical(const Value& lhs, const Value& rhs) {
  if (lhs.index() != rhs.index()) return false;
  if (lhs.isTensor()) return lhs.as<Tensor>().value == rhs.as<Tensor>().value;
  if (lhs.isTuple()) return lhs.as<std::shared_ptr<Tuple>>() == rhs.as<std::shared_ptr<Tuple>>();
  return constantsEqual(lhs, rhs).value_or(false);
}

bool contains(Context& context, CompareOp op, const Value& element, const Value& container) {
  if (element.is<std::string>() && container.is<std::string>())
    return container.as<std::string>().find(element.as<std::string>()) != std::string::npos;
  if (!container.isTuple()) failOperands(context, spelling(op), element, container);
  bool known = true;
  for (const Value& candidate : container.elements()) {
    std::optional<bool> equal = constantsEqual(element, candidate);
    if (equal && *equal) return true;
    known = known && equal;
  }
  if (!known)
    context.fail("constexpr-needed", std::string("`") + spelling(op) +
                                         "` needs values known when the kernel is compiled: " + describe(element) +
                                         " and " + describe(container));
  return false;
}

template <class T> bool same(const Value& lhs, const Value& rhs) { return lhs.as<T>() == rhs.as<T>(); }

}  // namespace

std::optional<bool> constantsEqual(const Value& lhs, const Value& rhs) {
  if (lhs.isTensor() || rhs.isTensor()) {
    if (lhs.isTensor() && rhs.isTensor() && lhs.as<Tensor>().value != rhs.as<Tensor>().value) return std::nullopt;
    if (lhs.isNumber() || rhs.isNumber() || lhs.index() == rhs.index()) return std::nullopt;
    return false;
  }
  if (lhs.isNumber() && rhs.isNumber()) return orderOfNumbers(lhs, rhs) == Order::Equal;
  if (lhs.index() != rhs.index()) return false;
  if (lhs.isNone() || lhs.is<EllipsisValue>()) return true;
  if (lhs.is<std::string>()) return same<std::string>(lhs, rhs);
  if (lhs.is<DType>()) return same<DType>(lhs, rhs);
  if (lhs.isTuple()) return tuplesEqual(*lhs.as<std::shared_ptr<Tuple>>(), *rhs.as<std::shared_ptr<Tuple>>());
  if (lhs.is<const Builtin*>()) return same<const Builtin*>(lhs, rhs);
  if (lhs.is<std::shared_ptr<const Function>>()) return same<std::shared_ptr<const Function>>(lhs, rhs);
  if (lhs.is<std::shared_ptr<const AggregateClass>>()) return same<std::shared_ptr<const AggregateClass>>(lhs, rhs);
  if (lhs.is<std::shared_ptr<Namespace>>()) return same<std::shared_ptr<Namespace>>(lhs, rhs);
  if (lhs.is<std::shared_ptr<Aggregate>>()) return same<std::shared_ptr<Aggregate>>(lhs, rhs);
  return false;
}

bool foldCompare(Context& context, CompareOp op, const Value& lhs, const Value& rhs) {
  if (op == CompareOp::Is || op == CompareOp::IsNot) return identical(lhs, rhs) == (op == CompareOp::Is);
  if (op == CompareOp::In || op == CompareOp::NotIn) return contains(context, op, lhs, rhs) == (op == CompareOp::In);
  if (op != CompareOp::Eq && op != CompareOp::Ne) return compareOrder(context, op, lhs, rhs);
  std::optional<bool> equal = constantsEqual(lhs, rhs);
  if (!equal) failOperands(context, spelling(op), lhs, rhs);
  return *equal == (op == CompareOp::Eq);
}

}  // namespace tandem::frontend::semantic
