// Python's own functions inside kernels. Most work on constants only; min, max, abs and print also take tensors.
#include "compiler/frontend/emit/emitter.h"
#include "compiler/frontend/emit/python_math.h"
#include <algorithm>
#include <charconv>
#include <cmath>

namespace tandem::frontend {
namespace {

void expectCount(Context& cx, const std::string& name, const Positional& positional, size_t least, size_t most) {
  if (positional.size() >= least && positional.size() <= most) return;
  std::string expected = least == most ? std::to_string(least) : std::to_string(least) + " to " + std::to_string(most);
  cx.fail("argument-count",
          "`" + name + "` takes " + expected + " arguments, but got " + std::to_string(positional.size()));
}

bool anyTensor(const Positional& values) {
  return std::any_of(values.begin(), values.end(), [](const Value& v) { return containsTensor(v); });
}

// Returns true if `v` is the value of `x.type` for a tile or a constant, which is a namespace of attributes.
bool isTypeObject(const Value& v, const std::string& attribute) {
  if (!v.is<std::shared_ptr<Namespace>>()) return false;
  const Namespace& type = *v.as<std::shared_ptr<Namespace>>();
  return type.isType && type.attributes.contains(attribute);
}

std::string binaryText(Int n) {
  std::string digits;
  for (Int rest = n < 0 ? -n : n; rest || digits.empty(); rest /= 2)
    digits.insert(digits.begin(), rest % 2 ? '1' : '0');
  return (n < 0 ? "-0b" : "0b") + digits;
}

}  // namespace

Value Emitter::callPython(const std::string& fullName, const Positional& positional, const Keywords& keywords) {
  std::string name = fullName.substr(fullName.find('.') + 1);
  if (fullName == "dl.simt_exec_region")
    cx.fail("unsupported-feature", "`simt_exec_region` can only be used in a `with` statement");
  if (name == "print") return pythonPrint(positional, keywords);
  if (name == "range") return pythonRange(positional, keywords);
  if (!keywords.empty() && name != "constexpr")
    cx.fail("unknown-argument", "`" + name + "` takes no keyword argument `" + keywords.begin()->first + "`");
  if (fullName.starts_with("math.")) return callMath(cx, name, positional);
  if (name == "min" || name == "max") return pythonExtremum(name == "min", positional);
  if (name == "isinstance") return pythonIsInstance(positional);
  if (name == "zip") return pythonZip(positional);
  if (name == "enumerate") return pythonEnumerate(positional);
  if (name == "tuple" || name == "list" || name == "reversed") {
    auto t = std::make_shared<Tuple>();
    t->isList = name == "list";
    expectCount(cx, name, positional, 0, 1);
    if (!positional.empty()) t->elements = constantElements(positional[0], cx.place.range);
    if (name == "reversed") std::reverse(t->elements.begin(), t->elements.end());
    return t;
  }
  if (name == "pow") {
    expectCount(cx, name, positional, 2, 2);
    return semantic::binary(cx, ast::BinaryOp::Pow, positional[0], positional[1]);
  }
  if (name == "getattr" || name == "hasattr") {
    expectCount(cx, name, positional, 2, 3);
    std::string member = semantic::constexprString(cx, positional[1], "name");
    try {
      Value v = attributeOf(positional[0], member);
      return name == "hasattr" ? Value(true) : v;
    } catch (const CompileError&) {
      if (name == "hasattr") return false;
      if (positional.size() == 3) return positional[2];
      throw;
    }
  }
  expectCount(cx, name, positional, 1, 1);
  if (name == "bin") return binaryText(semantic::constexprInt(cx, positional[0], "x"));
  if (name == "len") return pythonLen(positional[0]);
  if (name == "abs") {
    if (positional[0].isTensor()) return semantic::abs(cx, positional[0]);
    if (positional[0].is<double>()) return std::fabs(positional[0].as<double>());
    Int n = semantic::constexprInt(cx, positional[0], "x");
    return n < 0 ? -n : n;
  }
  if (name == "constexpr") return positional[0];  // around a tensor it changes nothing, as in Triton
  if (name == "str") {
    if (positional[0].is<std::string>()) return positional[0];
    if (containsTensor(positional[0]))
      cx.failConstexpr(cx.place.range, "`str` needs a constant, but got " + describe(positional[0]), positional[0]);
    return repr(positional[0]);
  }
  if (name == "sum" || name == "any" || name == "all") {
    Positional values = constantElements(positional[0], cx.place.range);
    Value total = name == "sum" ? Value(Int(0)) : Value(name == "all");
    for (const Value& v : values) {
      if (name == "sum")
        total = semantic::binary(cx, ast::BinaryOp::Add, total, v);
      else if (!total.isTensor() && !v.isTensor())
        total = name == "all" ? semantic::truth(cx, total) && semantic::truth(cx, v)
                              : semantic::truth(cx, total) || semantic::truth(cx, v);
      else
        total = semantic::logical(cx, name == "all" ? ast::BoolOpKind::And : ast::BoolOpKind::Or, total, v);
    }
    return total;
  }
  if (name == "slice") failUnsupported(cx.place.range, "`slice()`");
  return pythonNumber(name, positional);
}

// Python's `range` takes no keyword arguments; Triton's kernels may name the step, and give the hints of `tl.range`.
Value Emitter::pythonRange(const Positional& given, const Keywords& keywords) {
  Positional p = given;
  auto r = std::make_shared<RangeValue>();
  for (const auto& [word, value] : keywords) {
    if (std::ranges::find(kRangeHints, word) != std::end(kRangeHints))
      r->hints[word] = value;
    else if (word == "step" && p.size() == 2)
      p.push_back(value);
    else
      cx.fail("unknown-argument", "`range` takes no keyword argument `" + word + "`" +
                                      (word == "step" ? " without a start and an end" : ""));
  }
  expectCount(cx, "range", p, 1, 3);
  r->start = std::make_shared<Value>(p.size() == 1 ? Value(Int(0)) : p[0]);
  r->stop = std::make_shared<Value>(p.size() == 1 ? p[0] : p[1]);
  r->step = std::make_shared<Value>(p.size() == 3 ? p[2] : Value(Int(1)));
  return r;
}

Value Emitter::pythonExtremum(bool least, const Positional& positional) {
  Positional values = positional.size() == 1 && positional[0].isTuple() ? positional[0].elements() : positional;
  std::string name = least ? "min" : "max";
  if (values.empty() || (positional.size() == 1 && !positional[0].isTuple()))
    cx.fail("argument-count", "`" + name + "` takes at least 2 arguments, but got " + std::to_string(values.size()));
  Value best = values[0];
  for (size_t i = 1; i < values.size(); ++i) {
    const Value& v = values[i];
    if (best.isNumber() && v.isNumber()) {
      bool better =
          semantic::truth(cx, semantic::compare(cx, least ? ast::CompareOp::Lt : ast::CompareOp::Gt, v, best));
      if (better) best = v;
    } else {
      best = least ? semantic::minimum(cx, best, v, false) : semantic::maximum(cx, best, v, false);
    }
  }
  return best;
}

Value Emitter::pythonLen(const Value& v) {
  if (v.isTuple()) return Int(v.elements().size());
  if (v.is<std::string>()) return Int(v.as<std::string>().size());
  if (v.is<std::shared_ptr<RangeValue>>()) return Int(constantElements(v, cx.place.range).size());
  if (v.isTensor() && v.as<Tensor>().type.isTile()) return Int(v.as<Tensor>().type.shape[0]);
  if (v.isTensor() && v.as<Tensor>().type.isVector()) return Int(v.as<Tensor>().type.vectorLength);
  cx.fail("type-error", describe(v) + " has no length");
}

// int(), float(), bool(), round().
Value Emitter::pythonNumber(const std::string& name, const Positional& positional) {
  const Value& v = positional[0];
  if (containsTensor(v))
    cx.failConstexpr(cx.place.range,
                     "`" + name + "` needs a constant, but got " + describe(v) + "; use `.to(dtype)` for tensors", v);
  if (name == "bool") return semantic::truth(cx, v);
  if (v.is<std::string>()) {
    const std::string& text = v.as<std::string>();
    double d = 0;
    std::string_view digits = text;
    if (digits.starts_with('+')) digits.remove_prefix(1);
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), d);
    if (error != std::errc() || end != digits.data() + digits.size())
      cx.fail("type-error", "`" + name + "` cannot read the string " + repr(v));
    if (name == "float") return d;
    return Int(d);
  }
  if (!v.isNumber()) cx.fail("type-error", "`" + name + "` needs a number, but got " + describe(v));
  if (name == "float") return toDouble(v);
  if (!v.is<double>()) return v.is<bool>() ? Int(v.as<bool>()) : v.as<Int>();
  double d = name == "round" ? std::nearbyint(v.as<double>()) : std::trunc(v.as<double>());
  if (!(std::fabs(d) < 1e30)) cx.fail("type-error", "`" + name + "` cannot convert " + repr(v) + " to an integer");
  return Int(d);
}

Value Emitter::pythonPrint(const Positional& positional, const Keywords& keywords) {
  bool prefixed = !positional.empty() && positional[0].is<std::string>();
  const char* target = anyTensor(positional) || (prefixed && positional.size() == 1) ? "device_print" : "static_print";
  Positional arguments = positional;
  if (!prefixed && target == std::string_view("device_print")) arguments.insert(arguments.begin(), std::string());
  std::optional<Value> f = session_.ourMember("tl", target);
  return f ? call(*f, arguments, keywords) : Value(None{});
}

Value Emitter::pythonIsInstance(const Positional& positional) {
  expectCount(cx, "isinstance", positional, 2, 2);
  if (!positional[1].isTuple()) return isInstance(positional[0], positional[1]);
  for (const Value& type : positional[1].elements())
    if (isInstance(positional[0], type)) return true;
  return false;
}

bool Emitter::isInstance(const Value& v, const Value& type) {
  if (type.is<std::shared_ptr<const AggregateClass>>())
    return v.is<std::shared_ptr<Aggregate>>() &&
           v.as<std::shared_ptr<Aggregate>>()->type == type.as<std::shared_ptr<const AggregateClass>>();
  std::string name = type.is<const Builtin*>() ? type.as<const Builtin*>()->name : "";
  std::string word = name.substr(name.find('.') + 1);
  if (word == "constexpr") return !containsTensor(v);
  if (word == "tensor") return v.isTensor();
  if (word == "tensor_descriptor") return v.is<std::shared_ptr<Descriptor>>();
  if (word == "dtype") return v.is<DType>() || isTypeObject(v, "element_ty");
  if (word == "pointer_type") return v.is<DType>() && v.as<DType>().isPointer();
  if (word == "block_type") return isTypeObject(v, "element_ty");
  if (word == "constexpr_type") return isTypeObject(v, "value");
  if (word == "int") return v.is<Int>() || v.is<bool>();
  if (word == "float") return v.is<double>();
  if (word == "bool") return v.is<bool>();
  if (word == "str") return v.is<std::string>();
  if (word == "tuple") return v.isTuple() && !v.as<std::shared_ptr<Tuple>>()->isList;
  if (word == "list") return v.isTuple() && v.as<std::shared_ptr<Tuple>>()->isList;
  cx.fail("type-error", "`isinstance` needs a type, but got " + describe(type));
}

Value Emitter::pythonZip(const Positional& positional) {
  std::vector<Positional> columns;
  size_t length = positional.empty() ? 0 : SIZE_MAX;
  for (const Value& v : positional) {
    columns.push_back(constantElements(v, cx.place.range));
    length = std::min(length, columns.back().size());
  }
  Positional rows;
  for (size_t i = 0; i < length; ++i) {
    Positional row;
    for (const Positional& c : columns) row.push_back(c[i]);
    rows.push_back(makeTuple(std::move(row)));
  }
  return makeTuple(std::move(rows));
}

Value Emitter::pythonEnumerate(const Positional& positional) {
  expectCount(cx, "enumerate", positional, 1, 2);
  Int at = positional.size() == 2 ? semantic::constexprInt(cx, positional[1], "start") : 0;
  Positional rows;
  for (const Value& v : constantElements(positional[0], cx.place.range)) rows.push_back(makeTuple({Value(at++), v}));
  return makeTuple(std::move(rows));
}

}  // namespace tandem::frontend
