// Takes composite values apart into SSA values and puts them together again.
#include "compiler/frontend/emit/carried.h"

namespace tandem::frontend {
namespace {

template <class T> using Ptr = std::shared_ptr<T>;

void addAll(const std::vector<Tensor>& tensors, std::vector<mlir::Value>& out) {
  for (const Tensor& t : tensors) out.push_back(t.value);
}

void replaceAll(std::vector<Tensor>& tensors, const mlir::Value*& from) {
  for (Tensor& t : tensors) t.value = *from++;
}

std::string signatureOf(const std::vector<Tensor>& tensors) {
  std::string out = "(";
  for (const Tensor& t : tensors) out += t.type.name() + ",";
  return out + ")";
}

std::string signatureOf(const std::vector<int64_t>& numbers) {
  std::string out = "[";
  for (int64_t n : numbers) out += std::to_string(n) + ",";
  return out + "]";
}

}  // namespace

void flatten(const Value& v, std::vector<mlir::Value>& out) {
  if (v.isTensor()) {
    out.push_back(v.as<Tensor>().value);
  } else if (v.isTuple()) {
    for (const Value& e : v.elements()) flatten(e, out);
  } else if (v.is<Ptr<Aggregate>>()) {
    for (const auto& [name, field] : v.as<Ptr<Aggregate>>()->fields) flatten(field, out);
  } else if (v.is<Ptr<BlockPointer>>()) {
    const BlockPointer& b = *v.as<Ptr<BlockPointer>>();
    out.push_back(b.base.value);
    addAll(b.shape, out);
    addAll(b.strides, out);
    addAll(b.offsets, out);
  } else if (v.is<Ptr<Descriptor>>()) {
    const Descriptor& d = *v.as<Ptr<Descriptor>>();
    out.push_back(d.base.value);
    addAll(d.shape, out);
    addAll(d.strides, out);
  } else if (v.is<Ptr<SmemBuffer>>()) {
    out.push_back(v.as<Ptr<SmemBuffer>>()->value);
  }
}

Value rebuild(const Value& pattern, const mlir::Value*& from) {
  if (pattern.isTensor()) return Tensor{*from++, pattern.as<Tensor>().type};
  if (pattern.isTuple()) {
    auto t = std::make_shared<Tuple>(*pattern.as<Ptr<Tuple>>());
    for (Value& e : t->elements) e = rebuild(e, from);
    return t;
  }
  if (pattern.is<Ptr<Aggregate>>()) {
    auto a = std::make_shared<Aggregate>(*pattern.as<Ptr<Aggregate>>());
    for (auto& [name, field] : a->fields) field = rebuild(field, from);
    return a;
  }
  if (pattern.is<Ptr<BlockPointer>>()) {
    auto b = std::make_shared<BlockPointer>(*pattern.as<Ptr<BlockPointer>>());
    b->base.value = *from++;
    replaceAll(b->shape, from);
    replaceAll(b->strides, from);
    replaceAll(b->offsets, from);
    return b;
  }
  if (pattern.is<Ptr<Descriptor>>()) {
    auto d = std::make_shared<Descriptor>(*pattern.as<Ptr<Descriptor>>());
    d->base.value = *from++;
    replaceAll(d->shape, from);
    replaceAll(d->strides, from);
    return d;
  }
  if (pattern.is<Ptr<SmemBuffer>>()) {
    auto s = std::make_shared<SmemBuffer>(*pattern.as<Ptr<SmemBuffer>>());
    s->value = *from++;
    return s;
  }
  return pattern;
}

std::string signature(const Value& v) {
  if (v.isTensor()) return "`" + v.as<Tensor>().type.name() + "`";
  if (v.isTuple()) {
    std::string out = "tuple (";
    for (size_t i = 0; i < v.elements().size(); ++i) out += (i ? ", " : "") + signature(v.elements()[i]);
    return out + ")";
  }
  if (v.is<Ptr<Aggregate>>()) {
    const Aggregate& a = *v.as<Ptr<Aggregate>>();
    std::string out = "`" + a.type->name + "` (";
    for (const auto& [name, field] : a.fields) out += name + ": " + signature(field) + " ";
    return out + ")";
  }
  if (v.is<Ptr<BlockPointer>>()) {
    const BlockPointer& b = *v.as<Ptr<BlockPointer>>();
    return "block pointer " + b.base.type.name() + signatureOf(b.shape) + signatureOf(b.blockShape) +
           signatureOf(b.order);
  }
  if (v.is<Ptr<Descriptor>>()) {
    const Descriptor& d = *v.as<Ptr<Descriptor>>();
    return "tensor descriptor " + d.base.type.name() + signatureOf(d.strides) + signatureOf(d.blockShape);
  }
  if (v.is<Ptr<SmemBuffer>>()) {
    const SmemBuffer& s = *v.as<Ptr<SmemBuffer>>();
    return "shared-memory buffer " + s.dtype.name() + signatureOf(s.shape);
  }
  return describe(v);
}

bool identical(const Value& a, const Value& b) {
  if (a.index() != b.index()) return false;
  if (a.is<FunctionPtr>()) return a.as<FunctionPtr>() == b.as<FunctionPtr>();
  std::vector<mlir::Value> x, y;
  flatten(a, x);
  flatten(b, y);
  return x == y && signature(a) == signature(b);
}

bool containsTensor(const Value& v) {
  std::vector<mlir::Value> values;
  flatten(v, values);
  return !values.empty();
}

namespace {

Value cloned(const Value& v, Clones& clones) {
  if (v.isTuple()) {
    auto t = std::make_shared<Tuple>(*v.as<Ptr<Tuple>>());
    for (Value& e : t->elements) e = cloned(e, clones);
    return t;
  }
  if (!v.is<Ptr<Aggregate>>()) return v;
  const Ptr<Aggregate>& original = v.as<Ptr<Aggregate>>();
  Ptr<Aggregate>& copy = clones[original];
  if (copy) return copy;
  copy = std::make_shared<Aggregate>(*original);
  Ptr<Aggregate> made = copy;
  for (auto& [name, field] : made->fields) field = cloned(field, clones);
  return made;
}

}  // namespace

Locals cloneLocals(const Locals& locals, Clones& clones) {
  Locals out = locals;
  for (auto& [name, local] : out) local.value = cloned(local.value, clones);
  return out;
}

}  // namespace tandem::frontend
