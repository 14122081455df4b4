// Types of tensors, and how values are called and shown to the user.
#include "compiler/frontend/semantic/value.h"
#include "compiler/frontend/semantic/number_text.h"
#include <mlir/IR/BuiltinTypes.h>

namespace tandem::frontend {
namespace {

std::string listText(const std::vector<int64_t>& sizes) {
  std::string out = "[";
  for (size_t i = 0; i < sizes.size(); ++i) out += (i ? ", " : "") + std::to_string(sizes[i]);
  return out + "]";
}

std::string stringRepr(const std::string& text) {
  char quote = text.find('\'') != std::string::npos && text.find('"') == std::string::npos ? '"' : '\'';
  std::string out(1, quote);
  for (char c : text) {
    if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (c == '\r')
      out += "\\r";
    else if (c == '\\' || c == quote)
      out += std::string("\\") + c;
    else
      out += c;
  }
  return out + quote;
}

std::string tupleRepr(const Tuple& tuple) {
  std::string out = tuple.isList ? "[" : "(";
  for (size_t i = 0; i < tuple.elements.size(); ++i) {
    if (i) out += ", ";
    if (i < tuple.names.size()) out += tuple.names[i] + "=";
    out += repr(tuple.elements[i]);
  }
  if (tuple.isList) return out + "]";
  return out + (tuple.elements.size() == 1 && tuple.names.empty() ? ",)" : ")");
}

std::string partRepr(const std::shared_ptr<Value>& part) { return part ? repr(*part) : "None"; }

// One overload an alternative of Value; `describe` and `repr` share the ones whose text is the same.
struct Describer {
  std::string operator()(const None&) const { return "`None`"; }
  std::string operator()(const EllipsisValue&) const { return "`...`"; }
  std::string operator()(const DType& dtype) const { return "type `" + dtype.name() + "`"; }
  std::string operator()(const Tensor& tensor) const { return "`" + tensor.type.name() + "` tensor"; }
  std::string operator()(const std::shared_ptr<Tuple>& tuple) const {
    return (tuple->isDictionary ? "dictionary of "
            : tuple->isList     ? "list of "
                                : "tuple of ") +
           std::to_string(tuple->elements.size());
  }
  std::string operator()(const SliceValue&) const { return "slice"; }
  std::string operator()(const std::shared_ptr<RangeValue>&) const { return "range"; }
  std::string operator()(const std::shared_ptr<BlockPointer>& block) const {
    return "block pointer `" + block->base.type.dtype.name() + listText(block->blockShape) + "`";
  }
  std::string operator()(const std::shared_ptr<Descriptor>& descriptor) const {
    return "tensor descriptor `" + descriptor->base.type.dtype.pointee().name() + listText(descriptor->blockShape) +
           "`";
  }
  std::string operator()(const std::shared_ptr<SmemBuffer>& buffer) const {
    return "shared-memory buffer `" + buffer->dtype.name() + listText(buffer->shape) + "`";
  }
  std::string operator()(const std::shared_ptr<const Function>&) const { return "function"; }
  std::string operator()(const std::shared_ptr<const AggregateClass>&) const { return "aggregate class"; }
  std::string operator()(const std::shared_ptr<Aggregate>&) const { return "aggregate"; }
  std::string operator()(const Builtin*) const { return "builtin function"; }
  std::string operator()(const std::shared_ptr<Namespace>& space) const { return "module `" + space->name + "`"; }
  std::string operator()(const BoundMethod& method) const { return "method `" + method.name + "`"; }
  std::string operator()(const Foreign& foreign) const { return foreign.description; }
  template <class Constant> std::string operator()(const Constant& constant) const {
    return "constexpr " + repr(Value(constant));
  }
};

struct Representer : Describer {
  using Describer::operator();
  std::string operator()(const None&) const { return "None"; }
  std::string operator()(const EllipsisValue&) const { return "Ellipsis"; }
  std::string operator()(const bool& value) const { return value ? "True" : "False"; }
  std::string operator()(const Int& value) const { return intText(value); }
  std::string operator()(const double& value) const { return floatText(value); }
  std::string operator()(const std::string& text) const { return stringRepr(text); }
  std::string operator()(const DType& dtype) const { return dtype.name(); }
  std::string operator()(const Tensor& tensor) const { return tensor.type.name(); }
  std::string operator()(const std::shared_ptr<Tuple>& tuple) const { return tupleRepr(*tuple); }
  std::string operator()(const SliceValue& slice) const {
    return "slice(" + partRepr(slice.lower) + ", " + partRepr(slice.upper) + ", " + partRepr(slice.step) + ")";
  }
};

}  // namespace

int64_t Type::numel() const {
  int64_t count = isVector() ? vectorLength : 1;
  for (int64_t size : shape) count *= size;
  return count;
}

std::string Type::name() const {
  if (isVector()) return "vector<" + std::to_string(vectorLength) + "x" + dtype.name() + ">";
  return isTile() ? dtype.name() + listText(shape) : dtype.name();
}

mlir::Type Type::toMLIR(mlir::MLIRContext* context) const {
  mlir::Type element = dtype.toMLIR(context);
  if (isVector()) return mlir::VectorType::get({int64_t(vectorLength)}, element);
  return isTile() ? mlir::RankedTensorType::get(shape, element) : element;
}

Value makeTuple(std::vector<Value> elements) {
  auto tuple = std::make_shared<Tuple>();
  tuple->elements = std::move(elements);
  return tuple;
}

std::string describe(const Value& value) { return std::visit(Describer(), static_cast<const Value::variant&>(value)); }
std::string repr(const Value& value) { return std::visit(Representer(), static_cast<const Value::variant&>(value)); }

}  // namespace tandem::frontend
