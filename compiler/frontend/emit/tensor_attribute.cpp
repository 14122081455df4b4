// Attributes and methods of tensors, dtypes and descriptors.
#include "compiler/frontend/emit/emitter.h"
#include "compiler/frontend/semantic/dtype_member.h"

namespace tandem::frontend {
namespace {

Value shapeTuple(const std::vector<int64_t>& shape) {
  Positional elements;
  for (int64_t d : shape) elements.push_back(Int(d));
  return makeTuple(std::move(elements));
}

bool isTypeQuestion(const std::string& name) {
  const DTypeMember* member = findDTypeMember(name);
  return member && member->isMethod;
}

// `x.type` of a tile; a scalar's type is its dtype.
Value blockType(const Tensor& t) {
  auto type = std::make_shared<Namespace>();
  type->name = t.type.name();
  type->isType = true;
  type->attributes = {{"element_ty", t.type.dtype},
                      {"scalar", t.type.dtype},
                      {"shape", shapeTuple(t.type.shape)},
                      {"numel", Int(t.type.numel())},
                      {"primitive_bitwidth", Int(t.type.dtype.bitWidth())},
                      {"nbytes", Int(t.type.numel() * t.type.dtype.bitWidth() / 8)}};
  for (const DTypeMember& member : dtypeMembers())
    if (member.isMethod) type->attributes[member.name] = BoundMethod{std::make_shared<Value>(t), member.name};
  type->attributes["get_block_shapes"] = BoundMethod{std::make_shared<Value>(t), "get_block_shapes"};
  return type;
}

}  // namespace

Value Emitter::tensorAttribute(const Tensor& t, const std::string& name) {
  if (name == "dtype") return t.type.dtype;
  if (name == "type") return t.type.isTile() ? blockType(t) : Value(t.type.dtype);
  if (name == "shape") return shapeTuple(t.type.shape);
  if (name == "numel") return Int(t.type.numel());
  if (name == "element_ty" || name == "scalar") return t.type.dtype;
  if (name == "value" || name == "handle") return t;
  if (name == "T") {
    if (t.type.shape.size() != 2)
      cx.fail("rank-mismatch", "`.T` needs a tensor of 2 dimensions, but got " + describe(Value(t)));
    return semantic::permute(cx, t, {1, 0});
  }
  if (isTypeQuestion(name) || tensorMethod(name) || (t.type.isVector() && findBuiltin("dl.vector." + name)))
    return BoundMethod{std::make_shared<Value>(t), name};
  std::vector<std::string> candidates = namesOf("tl.tensor");
  candidates.insert(candidates.end(), {"dtype", "shape", "type", "numel"});
  failUnknownMember(describe(Value(t)), name, candidates);
}

std::optional<Value> Emitter::tensorMethod(const std::string& name) { return session_.ourMember("tl.tensor", name); }

Value Emitter::dtypeAttribute(const DType& t, const std::string& name) {
  if (name == "element_ty") return t.isPointer() ? t.pointee() : t;
  if (name == "scalar" || name == "type" || name == "value") return t;
  if (name == "shape") return shapeTuple({});
  if (name == "numel") return Int(1);
  const DTypeMember* member = findDTypeMember(name);
  std::optional<Value> answer = member ? member->of(t) : std::nullopt;
  if (answer) return member->isMethod ? BoundMethod{std::make_shared<Value>(t), name} : *answer;
  std::vector<std::string> candidates = {"element_ty", "scalar", "shape", "numel"};
  for (const DTypeMember& known : dtypeMembers()) candidates.push_back(known.name);
  failUnknownMember("dtype `" + t.name() + "`", name, candidates);
}

Value Emitter::descriptorAttribute(const Value& base, const std::string& name) {
  const Descriptor& d = *base.as<std::shared_ptr<Descriptor>>();
  if (name == "dtype" || name == "type") return d.base.type.dtype.pointee();
  if (name == "block_shape") return shapeTuple(d.blockShape);
  if (name == "shape") return makeTuple(Positional(d.shape.begin(), d.shape.end()));
  if (name == "strides") return makeTuple(Positional(d.strides.begin(), d.strides.end()));
  if (findBuiltin("tl.tensor_descriptor." + name)) return BoundMethod{std::make_shared<Value>(base), name};
  failUnknownMember("tensor descriptor", name,
                    {"load", "store", "gather", "scatter", "shape", "strides", "block_shape", "dtype", "atomic_add"});
}

Value Emitter::callMethod(const BoundMethod& method, const Positional& positional, const Keywords& keywords) {
  const Value& self = *method.self;
  Positional withSelf = {self};
  withSelf.insert(withSelf.end(), positional.begin(), positional.end());
  if (self.is<std::shared_ptr<Aggregate>>()) {
    const Function& f = *self.as<std::shared_ptr<Aggregate>>()->type->methods.at(method.name);
    return callFunction(f, f.isStatic ? positional : withSelf, keywords);
  }
  if (self.is<std::shared_ptr<Descriptor>>())
    return call(Value(findBuiltin("tl.tensor_descriptor." + method.name)), withSelf, keywords);
  if (self.is<std::shared_ptr<BlockPointer>>())
    return call(Value(findBuiltin("tl.tensor." + method.name)), withSelf, keywords);
  if (self.is<DType>()) return call(Value(findBuiltin("tl.dtype." + method.name)), withSelf, keywords);
  if (self.isTensor()) {
    const Type& type = self.as<Tensor>().type;
    if (method.name == "is_block") return type.isTile();
    if (method.name == "get_block_shapes") return shapeTuple(type.shape);
    if (isTypeQuestion(method.name))
      return call(Value(findBuiltin("tl.dtype." + method.name)), {Value(type.dtype)}, {});
    const Builtin* ofVector = type.isVector() ? findBuiltin("dl.vector." + method.name) : nullptr;
    return call(ofVector ? Value(ofVector) : *tensorMethod(method.name), withSelf, keywords);
  }
  if (method.name == "bit_length") {
    Int n = self.as<Int>() < 0 ? -self.as<Int>() : self.as<Int>(), bits = 0;
    for (; n > 0; n >>= 1) ++bits;
    return bits;
  }
  if (positional.size() != 1)
    cx.fail("argument-count",
            "`" + method.name + "` of a tuple takes 1 argument, but got " + std::to_string(positional.size()));
  Int count = 0;
  for (size_t i = 0; i < self.elements().size(); ++i) {
    bool same = semantic::truth(cx, compareOne(ast::CompareOp::Is, self.elements()[i], positional[0]));
    if (same && method.name == "index") return Int(i);
    count += same;
  }
  if (method.name == "index") cx.fail("unknown-name", describe(positional[0]) + " is not in the tuple");
  return count;
}

}  // namespace tandem::frontend
