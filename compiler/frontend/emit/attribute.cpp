// Attributes by the kind of the object; methods become BoundMethod values.
#include "compiler/frontend/emit/emitter.h"

namespace tandem::frontend {

// `N.type` of a constant, for `isinstance(N.type, tl.constexpr_type)`.
static Value typeOfConstant(const Value& constant) {
  auto type = std::make_shared<Namespace>();
  type->name = "constexpr_type[" + repr(constant) + "]";
  type->isType = true;
  type->attributes["value"] = constant;
  return type;
}

Value Emitter::attribute(const ast::Expr& e) {
  Value base = evaluate(*e.children[0]);
  return attributeOf(base, e.text);
}

Value Emitter::attributeOf(const Value& base, const std::string& name) {
  if (base.isTensor()) return tensorAttribute(base.as<Tensor>(), name);
  if (base.is<DType>()) return dtypeAttribute(base.as<DType>(), name);
  if (base.is<std::shared_ptr<Namespace>>()) return namespaceAttribute(*base.as<std::shared_ptr<Namespace>>(), name);
  if (base.is<std::shared_ptr<Aggregate>>()) return aggregateAttribute(base, name);
  if (base.is<std::shared_ptr<const AggregateClass>>())
    return classAttribute(*base.as<std::shared_ptr<const AggregateClass>>(), name);
  if (base.is<std::shared_ptr<Descriptor>>()) return descriptorAttribute(base, name);
  if (base.isTuple()) return tupleAttribute(base, name);
  if (base.isNumber() || base.is<std::string>()) return numberAttribute(base, name);
  if (base.is<std::shared_ptr<BlockPointer>>()) {
    if (name == "dtype" || name == "type") return base.as<std::shared_ptr<BlockPointer>>()->base.type.dtype;
    if (name == "advance" || name == "load" || name == "store") return BoundMethod{std::make_shared<Value>(base), name};
  }
  if (base.is<std::shared_ptr<SmemBuffer>>()) {
    const SmemBuffer& s = *base.as<std::shared_ptr<SmemBuffer>>();
    Positional shape(s.shape.begin(), s.shape.end());
    Int bytes = s.dtype.bitWidth() / 8;
    for (int64_t d : s.shape) bytes *= d;
    if (name == "dtype") return s.dtype;
    if (name == "shape") return makeTuple(std::move(shape));
    if (name == "rank") return Int(s.shape.size());
    if (name == "nbytes") return bytes;
  }
  if (name == "value" && !base.is<const Builtin*>()) return base;
  // `float8.name`-like members of classes of the language (`tl.tensor`, `tl.range`) do not exist, but members of
  // builtins that are also modules do.
  if (base.is<const Builtin*>())
    if (std::optional<Value> v = session_.ourMember(base.as<const Builtin*>()->name, name)) return *v;
  failUnknownMember(describe(base), name, {});
}

Value Emitter::namespaceAttribute(const Namespace& module, const std::string& name) {
  if (std::optional<Value> v = session_.memberOf(module, name)) {
    if (v->is<Foreign>()) failForeign(name, v->as<Foreign>());
    return *v;
  }
  std::vector<std::string> candidates;
  if (module.ours) candidates = namesOf(module.name);
  for (const auto& [attribute, value] : module.attributes) candidates.push_back(attribute);
  failUnknownMember("module `" + module.name + "`", name, candidates, module.ours ? "" : hintForHostName(name));
}

Value Emitter::aggregateAttribute(const Value& base, const std::string& name) {
  const Aggregate& a = *base.as<std::shared_ptr<Aggregate>>();
  if (auto it = a.fields.find(name); it != a.fields.end()) return it->second;
  if (a.type->methods.contains(name)) return BoundMethod{std::make_shared<Value>(base), name};
  if (auto it = a.type->constants.find(name); it != a.type->constants.end())
    return session_.evaluate(a.type->module, a.type->globals, *it->second);
  std::vector<std::string> candidates;
  for (const auto& [field, value] : a.fields) candidates.push_back(field);
  for (const auto& [method, f] : a.type->methods) candidates.push_back(method);
  if (a.type->findField(name))
    cx.fail("unknown-name", "field `" + name + "` of `" + a.type->name + "` has not been assigned yet");
  failUnknownMember("aggregate `" + a.type->name + "`", name, candidates);
}

Value Emitter::classAttribute(const AggregateClass& c, const std::string& name) {
  if (auto it = c.methods.find(name); it != c.methods.end()) return it->second;
  if (auto it = c.constants.find(name); it != c.constants.end())
    return session_.evaluate(c.module, c.globals, *it->second);
  failUnknownMember("class `" + c.name + "`", name, {});
}

Value Emitter::tupleAttribute(const Value& base, const std::string& name) {
  const Tuple& t = *base.as<std::shared_ptr<Tuple>>();
  for (size_t i = 0; i < t.names.size() && i < t.elements.size(); ++i)
    if (t.names[i] == name) return t.elements[i];
  if (name == "value") return base;
  if (name == "index" || name == "count") return BoundMethod{std::make_shared<Value>(base), name};
  bool changes = name == "append" || name == "extend" || name == "insert";
  failUnknownMember(
      describe(base), name, t.names,
      t.isList && changes
          ? "lists of kernels do not change; write `values = values + [x]`, in a loop over `tl.static_range`"
          : "");
}

Value Emitter::numberAttribute(const Value& base, const std::string& name) {
  if (name == "value") return base;
  if (name == "type") return typeOfConstant(base);
  if (name == "bit_length" && base.is<Int>()) return BoundMethod{std::make_shared<Value>(base), name};
  if (base.isNumber()) return tensorAttribute(semantic::toTensor(cx, base), name);
  failUnknownMember(describe(base), name, {"value"});
}

}  // namespace tandem::frontend
