// Conversion of bound arguments to operands: numbers, pointers and the words of memory order, scope and comparison.
#include "compiler/frontend/builtin/operands.h"
#include "compiler/dialect/dist/compare.h"
#include <array>

using namespace tandem::frontend::semantic;

namespace tandem::frontend::builtin {

Tensor scalar(Context& c, const Value& value, const std::string& what) {
  if (!value.isTensor() && !value.isNumber()) c.fail("type", "`" + what + "` must be a scalar, not " + describe(value));
  Tensor tensor = toTensor(c, value);
  if (!tensor.type.isScalar()) c.fail("type", "`" + what + "` must be a scalar, not " + describe(value));
  return tensor;
}

Tensor scalarOf(Context& c, const Value& value, DType dtype, const std::string& what) {
  if (value.is<Int>() || value.is<bool>()) return constant(c, value, dtype);
  return cast(c, scalar(c, value, what), dtype);
}

mlir::Value integer(Context& c, const Value& value, Scalar dtype, const std::string& what) {
  // The unsigned words here are signals, which waits compare as signed ones: a negative number is its bits.
  if (dtype == Scalar::UInt64 && value.is<Int>() && value.as<Int>() < 0) dtype = Scalar::Int64;
  if (value.is<Int>() || value.is<bool>()) return constant(c, value, DType{dtype, {}}).value;
  Tensor tensor = scalar(c, value, what);
  if (!tensor.type.dtype.isInt()) c.fail("type", "`" + what + "` must be an integer, not " + describe(value));
  return cast(c, tensor, DType{dtype, {}}).value;
}

Tensor pointer(Context& c, const Value& value, const std::string& what) {
  if (!value.isTensor() || !value.as<Tensor>().type.dtype.isPointer() || !value.as<Tensor>().type.isScalar())
    c.fail("type", "`" + what + "` must be a scalar pointer, not " + describe(value));
  return value.as<Tensor>();
}

Tensor writable(Context& c, const Value& value, const std::string& what) {
  Tensor destination = pointer(c, value, what);
  checkWritable(c, destination.type.dtype, what);
  return destination;
}

Tensor writableSignal(Context& c, const Value& value, const std::string& what) {
  return signalPointer(c, writable(c, value, what), what);
}

Tensor signalPointer(Context& c, const Value& value, const std::string& what) {
  Tensor signal = pointer(c, value, what);
  DType element = signal.type.dtype.pointee();
  if (element != DType{Scalar::UInt64} && element != DType{Scalar::Int64})
    c.fail("type", "`" + what + "` must point to uint64 or int64, not " + element.name());
  return signal;
}

template <class Enum, size_t N>
static Enum word(Context& c, const Value& value, const std::string& what,
                 const std::array<std::pair<std::string_view, Enum>, N>& words, std::optional<Enum> fallback = {}) {
  if (fallback && value.isNone()) return *fallback;
  std::string text = constexprString(c, value, what);
  if (fallback && text.empty()) return *fallback;
  std::string choices;
  for (const auto& [name, result] : words) {
    if (name == text) return result;
    choices += (choices.empty() ? "`" : ", `") + std::string(name) + "`";
  }
  c.fail("argument-value", "`" + what + "` is `" + text + "`, which is none of " + choices);
}

tile::Scope scope(Context& c, const Value& value, const std::string& what, tile::Scope fallback) {
  using S = tile::Scope;
  static const auto words = std::to_array<std::pair<std::string_view, S>>({{"cta", S::Cta},
                                                                           {"gpu", S::Gpu},
                                                                           {"sys", S::Sys},
                                                                           {"gl", S::Gpu},
                                                                           {"workgroup", S::Cta},
                                                                           {"agent", S::Gpu},
                                                                           {"system", S::Sys}});
  return word(c, value, what, words, std::optional(fallback));
}

tile::Semantic order(Context& c, const Value& value, const std::string& what, tile::Semantic fallback) {
  using S = tile::Semantic;
  static const auto words = std::to_array<std::pair<std::string_view, S>>({{"relaxed", S::Relaxed},
                                                                           {"acquire", S::Acquire},
                                                                           {"release", S::Release},
                                                                           {"acq_rel", S::AcqRel},
                                                                           {"sc", S::SeqCst},
                                                                           {"monotonic", S::Relaxed},
                                                                           {"seq_cst", S::SeqCst}});
  return word(c, value, what, words, std::optional(fallback));
}

dist::Compare comparison(Context& c, const Value& value, const std::string& what) {
  if (value.is<std::string>()) {
    static const auto words = std::to_array<std::pair<std::string_view, dist::Compare>>({
#define TANDEM_ROW(name, c_name, word, sign) {word, dist::Compare::name},
        TANDEM_COMPARISONS(TANDEM_ROW)
#undef TANDEM_ROW
    });
    return word(c, value, what, words);
  }
  Int number = constexprInt(c, value, what);
  if (number < 0 || number >= TD_COMPARE_COUNT)
    c.fail("argument-value",
           "`" + what + "` is " + repr(value) + ", which is no comparison (`NVSHMEM_CMP_EQ` to `NVSHMEM_CMP_GE`)");
  return dist::compareOf(tandem::Compare(static_cast<uint8_t>(number)));
}

dist::SignalKind signalKind(Context& c, const Value& value, const std::string& what) {
  using K = dist::SignalKind;
  if (value.is<std::string>()) {
    static const auto words = std::to_array<std::pair<std::string_view, K>>({{"set", K::Set}, {"add", K::Add}});
    return word(c, value, what, words);
  }
  Int number = constexprInt(c, value, what);
  if (number != 9 && number != 10)
    c.fail("argument-value",
           "`" + what + "` is " + repr(value) + ", neither `NVSHMEM_SIGNAL_SET` nor `NVSHMEM_SIGNAL_ADD`");
  return number == 9 ? K::Set : K::Add;
}

Value sequence(const std::vector<Value>& rest) {
  if (rest.size() == 1 && rest[0].isTuple()) return rest[0];
  return makeTuple(rest);
}

std::vector<int64_t> integers(Context& c, const Value& value, const std::string& what) {
  if (!value.isTuple()) return {static_cast<int64_t>(constexprInt(c, value, what))};
  std::vector<int64_t> result;
  for (const Value& element : value.elements()) result.push_back(static_cast<int64_t>(constexprInt(c, element, what)));
  return result;
}

Tensor scalarTensor(mlir::Value value, Scalar dtype) { return {value, Type{DType{dtype}, {}}}; }

Tensor pointerTo(Context& c, Tensor pointer, DType element) {
  if (pointer.type.dtype.pointee() == element) return pointer;
  return bitcast(c, pointer, pointer.type.dtype.withPointee(element));
}

Tensor asInteger(Context& c, Tensor scalar) {
  DType dtype = scalar.type.dtype;
  if (dtype.isInt() && !dtype.isBool()) return scalar;
  switch (dtype.bitWidth()) {
    case 8: return bitcast(c, scalar, DType{Scalar::UInt8});
    case 16: return bitcast(c, scalar, DType{Scalar::UInt16});
    case 32: return bitcast(c, scalar, DType{Scalar::UInt32});
    case 64:
      return dtype.isPointer() ? cast(c, scalar, DType{Scalar::UInt64}) : bitcast(c, scalar, DType{Scalar::UInt64});
    default: return cast(c, scalar, DType{Scalar::UInt32});
  }
}

int64_t elementBytes(Context& c, const Tensor& pointer, const std::string& what) {
  DType element = pointer.type.dtype.pointee();
  if (element == DType{Scalar::Void}) c.fail("type", "`" + what + "` points to void, whose size is unknown");
  return (element.bitWidth() + 7) / 8;
}

Caller callerOf(dist::Group group) {
  return group == dist::Group::Thread ? Caller::Thread : group == dist::Group::Warp ? Caller::Warp : Caller::Block;
}

}  // namespace tandem::frontend::builtin
