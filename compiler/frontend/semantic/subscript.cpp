// x[...]: new and full dimensions of tiles, elements and slices of tuples, lists and strings, elements of vectors.
#include "compiler/frontend/semantic/fold.h"
#include "compiler/frontend/semantic/typed_op.h"

namespace tandem::frontend::semantic {
namespace {

bool absent(const std::shared_ptr<Value>& part) { return !part || part->isNone(); }

bool isFullSlice(const Value& index) {
  if (!index.is<SliceValue>()) return false;
  const SliceValue& slice = index.as<SliceValue>();
  return absent(slice.lower) && absent(slice.upper) && absent(slice.step);
}

Tensor subscriptTile(Context& context, Tensor tensor, const Value& index) {
  size_t rank = tensor.type.shape.size(), kept = 0;
  int axis = 0;
  for (const Value& item : listOf(index)) {
    if (item.isNone())
      tensor = expandDims(context, tensor, axis);
    else if (!isFullSlice(item))
      context.failAt(
          context.place.range, "unsupported",
          "a tensor is indexed with `:` and `None` only, not with " + describe(item),
          "take one element by a reduction, `tl.sum(tl.where(tl.arange(0, N) == k, x, 0))`, or load it from memory");
    else if (rank == 0)
      continue;  // as in Triton, `:` of a scalar is nothing
    else if (++kept > rank)
      context.fail("shape-mismatch", "a tensor of rank " + std::to_string(rank) + " is indexed with " +
                                         std::to_string(kept) + " or more `:`");
    ++axis;
  }
  return tensor;
}

size_t wrapIndex(Context& context, const Value& index, size_t size, const char* what) {
  Int at = constexprInt(context, index, "index"), count = Int(size);
  if (at < -count || at >= count)
    context.fail("out-of-range", "index " + repr(Value(at)) + " is outside the " + std::to_string(size) + " " + what);
  return size_t(at < 0 ? at + count : at);
}

Int partOf(Context& context, const std::shared_ptr<Value>& part, Int fallback) {
  return absent(part) ? fallback : constexprInt(context, *part, "slice");
}

// The positions that Python's slice takes of `size` elements.
std::vector<size_t> positions(Context& context, const SliceValue& slice, Int size) {
  Int step = partOf(context, slice.step, 1);
  if (step == 0) context.fail("out-of-range", "slice step is zero");
  Int first = step > 0 ? 0 : -1, last = step > 0 ? size : size - 1;
  auto clipped = [&](const std::shared_ptr<Value>& part, Int fallback) {
    if (absent(part)) return fallback;
    Int at = partOf(context, part, fallback);
    if (at < 0) at = std::max(at + size, Int(-1));
    return std::min(std::max(at, first), last);
  };
  Int lower = clipped(slice.lower, step > 0 ? first : last), upper = clipped(slice.upper, step > 0 ? last : first);
  std::vector<size_t> out;
  step = std::min(std::max(step, -size - 1), size + 1);
  for (Int at = lower; step > 0 ? at < upper : at > upper; at += step) out.push_back(size_t(at));
  return out;
}

Value subscriptDictionary(Context& context, const Tuple& pairs, const Value& key) {
  for (const Value& pair : pairs.elements)
    if (truth(context, compare(context, ast::CompareOp::Eq, pair.elements()[0], key))) return pair.elements()[1];
  context.fail("unknown-name", "the dictionary has no key " + repr(key));
}

Value subscriptTuple(Context& context, const Tuple& tuple, const Value& index) {
  if (tuple.isDictionary) return subscriptDictionary(context, tuple, index);
  if (!index.is<SliceValue>())
    return tuple.elements[wrapIndex(context, index, tuple.elements.size(),
                                    tuple.isList ? "elements of the list" : "elements of the tuple")];
  auto out = std::make_shared<Tuple>();
  out->isList = tuple.isList;
  for (size_t at : positions(context, index.as<SliceValue>(), Int(tuple.elements.size())))
    out->elements.push_back(tuple.elements[at]);
  return out;
}

Value subscriptString(Context& context, const std::string& text, const Value& index) {
  if (!index.is<SliceValue>())
    return std::string(1, text[wrapIndex(context, index, text.size(), "characters of the string")]);
  std::string out;
  for (size_t at : positions(context, index.as<SliceValue>(), Int(text.size()))) out += text[at];
  return out;
}

Value subscriptVector(Context& context, const Tensor& vector, const Value& index) {
  size_t at = wrapIndex(context, index, vector.type.vectorLength, "elements of the vector");
  return make<simt::VectorExtractOp>(context, {vector.type.dtype, {}, 0}, vector.value, uint32_t(at));
}

}  // namespace

Value subscript(Context& context, const Value& base, const Value& index) {
  if (base.isTuple()) return subscriptTuple(context, *base.as<std::shared_ptr<Tuple>>(), index);
  if (base.is<std::string>()) return subscriptString(context, base.as<std::string>(), index);
  if (!base.isTensor()) context.fail("type-mismatch", describe(base) + " cannot be indexed");
  const Tensor& tensor = base.as<Tensor>();
  return tensor.type.isVector() ? subscriptVector(context, tensor, index)
                                : Value(subscriptTile(context, tensor, index));
}

}  // namespace tandem::frontend::semantic
