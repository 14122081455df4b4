// Equality by kind: numbers by value whatever their type, objects by identity.
#include "compiler/frontend/emit/equality.h"

namespace tandem::frontend {
namespace {

template <class T> bool both(const Value& a, const Value& b) { return a.is<T>() && b.is<T>(); }
template <class T> bool equalAs(const Value& a, const Value& b) { return both<T>(a, b) && a.as<T>() == b.as<T>(); }

bool sameNumber(const Value& a, const Value& b) {
  auto real = [](const Value& v) {
    return v.is<double>() ? v.as<double>() : v.is<bool>() ? double(v.as<bool>()) : double(v.as<Int>());
  };
  auto whole = [](const Value& v) { return v.is<bool>() ? Int(v.as<bool>()) : v.as<Int>(); };
  if (a.is<double>() || b.is<double>()) return real(a) == real(b);
  return whole(a) == whole(b);
}

}  // namespace

bool sameConstant(const Value& a, const Value& b) {
  if (a.isNumber() && b.isNumber()) return sameNumber(a, b);
  if (a.isTensor() && b.isTensor()) return a.as<Tensor>().value == b.as<Tensor>().value;
  if (a.isTuple() && b.isTuple()) {
    if (a.elements().size() != b.elements().size()) return false;
    for (size_t i = 0; i < a.elements().size(); ++i)
      if (!sameConstant(a.elements()[i], b.elements()[i])) return false;
    return true;
  }
  return both<None>(a, b) || both<EllipsisValue>(a, b) || equalAs<std::string>(a, b) || equalAs<DType>(a, b) ||
         equalAs<std::shared_ptr<const struct Function>>(a, b) || equalAs<const Builtin*>(a, b) ||
         equalAs<std::shared_ptr<Aggregate>>(a, b) || equalAs<std::shared_ptr<const AggregateClass>>(a, b);
}

}  // namespace tandem::frontend
