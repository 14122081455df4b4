// Making tiles and changing their shape.
#include "compiler/frontend/builtin/operands.h"
#include <algorithm>

using namespace tandem::frontend::semantic;

namespace tandem::frontend::builtin {

static Value arangeRow(Context& c, const Arguments& a) {
  return arange(c, constexprInt(c, a["start"], "start"), constexprInt(c, a["end"], "end"));
}

static Value fullRow(Context& c, const Arguments& a) {
  DType dtype = constexprDType(c, a["dtype"], "dtype");
  std::vector<int64_t> shape = constexprShape(c, a["shape"], "shape");
  return full(c, shape, a["value"], dtype);
}

static Value zerosRow(Context& c, const Arguments& a) {
  DType dtype = constexprDType(c, a["dtype"], "dtype");
  return full(c, constexprShape(c, a["shape"], "shape"), Int(0), dtype);
}

static Value zerosLikeRow(Context& c, const Arguments& a) {
  Tensor like = toTensor(c, a["input"]);
  return full(c, like.type.shape, Int(0), like.type.dtype);
}

static Value castRow(Context& c, const Arguments& a) {
  DType dtype = constexprDType(c, a["dtype"], "dtype");
  Tensor input = toTensor(c, a["input"]);
  if (constexprBool(c, a["bitcast"], "bitcast")) return bitcast(c, input, dtype);
  if (a["fp_downcast_rounding"].isNone()) return cast(c, input, dtype);
  std::string rounding = constexprString(c, a["fp_downcast_rounding"], "fp_downcast_rounding");
  if (rounding != "rtne" && rounding != "rtz")
    c.fail("argument-value", "`fp_downcast_rounding` is `" + rounding + "`, neither `rtne` nor `rtz`");
  DType from = input.type.dtype;
  if (from == dtype) return input;
  if (!from.isFloat() || !dtype.isFloat() || from.bitWidth() <= dtype.bitWidth())
    c.fail("argument-value", "`fp_downcast_rounding` is for a float that becomes narrower, not for " + from.name() +
                                 " to " + dtype.name());
  return cast(c, input, dtype, rounding == "rtz" ? tile::Rounding::Rtz : tile::Rounding::Rtne);
}

static Value broadcastRow(Context& c, const Arguments& a) {
  auto [lhs, rhs] = broadcast(c, toTensor(c, a["input"]), toTensor(c, a["other"]));
  return makeTuple({lhs, rhs});
}

static Value broadcastToRow(Context& c, const Arguments& a) {
  return broadcastTo(c, toTensor(c, a["input"]), constexprShape(c, sequence(a.rest()), "shape"));
}

static Value expandDimsRow(Context& c, const Arguments& a) {
  Tensor tensor = toTensor(c, a["input"]);
  std::vector<int64_t> axes = integers(c, a["axis"], "axis");
  int64_t rank = static_cast<int64_t>(tensor.type.shape.size() + axes.size());
  for (int64_t& axis : axes) {
    if (axis < -rank || axis >= rank)
      c.fail("argument-value",
             "`axis` is " + std::to_string(axis) + ", outside a result of rank " + std::to_string(rank));
    if (axis < 0) axis += rank;
  }
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end())
    c.fail("argument-value", "`axis` names a dimension twice");
  for (int64_t axis : axes) tensor = expandDims(c, tensor, static_cast<int>(axis));
  return tensor;
}

static Value reshapeRow(Context& c, const Arguments& a) {
  return reshape(c, toTensor(c, a["input"]), constexprShape(c, sequence(a.rest()), "shape"),
                 constexprBool(c, a["can_reorder"], "can_reorder"));
}

static Value viewRow(Context& c, const Arguments& a) {
  return reshape(c, toTensor(c, a["input"]), constexprShape(c, sequence(a.rest()), "shape"), true);
}

static Value permuteRow(Context& c, const Arguments& a) {
  return permute(c, toTensor(c, a["input"]), integers(c, sequence(a.rest()), "dims"));
}

static Value transRow(Context& c, const Arguments& a) {
  Tensor input = toTensor(c, a["input"]);
  if (!a.rest().empty()) return permute(c, input, integers(c, sequence(a.rest()), "dims"));
  size_t rank = input.type.shape.size();
  if (rank < 2) c.fail("type", "`trans` needs a tensor of rank 2 or more, not " + describe(a["input"]));
  std::vector<int64_t> order(rank);
  for (size_t i = 0; i < rank; ++i) order[i] = static_cast<int64_t>(i);
  std::swap(order[rank - 1], order[rank - 2]);
  return permute(c, input, order);
}

static Value catRow(Context& c, const Arguments& a) { return cat(c, toTensor(c, a["input"]), toTensor(c, a["other"])); }
static Value joinRow(Context& c, const Arguments& a) { return join(c, toTensor(c, a["a"]), toTensor(c, a["b"])); }

static Value splitRow(Context& c, const Arguments& a) {
  auto [lhs, rhs] = split(c, toTensor(c, a["a"]));
  return makeTuple({lhs, rhs});
}

static Value interleaveRow(Context& c, const Arguments& a) {
  Tensor joined = join(c, toTensor(c, a["a"]), toTensor(c, a["b"]));
  std::vector<int64_t> shape = joined.type.shape;
  if (shape.size() == 1) return joined;
  shape.pop_back();
  shape.back() *= 2;
  return reshape(c, joined, shape, false);
}

static Value gatherRow(Context& c, const Arguments& a) {
  return gather(c, toTensor(c, a["src"]), toTensor(c, a["index"]),
                static_cast<int>(constexprInt(c, a["axis"], "axis")));
}

static Value histogramRow(Context& c, const Arguments& a) {
  std::optional<Tensor> mask;
  Tensor input = toTensor(c, a["input"]);
  if (!a["mask"].isNone()) mask = broadcastTo(c, toTensor(c, a["mask"]), input.type.shape);
  return histogram(c, input, static_cast<int64_t>(constexprInt(c, a["num_bins"], "num_bins")), mask);
}

void addShapeRows(Rows& rows) {
  rows.push_back(
      {"tl.arange", "start, end",
       "The int32 values from `start` to `end` - 1. Both are constants, and their difference is a power of two.",
       arangeRow});
  rows.push_back({"tl.full", "shape, value, dtype", "A tensor of `shape` with `value` in every element.", fullRow});
  rows.push_back({"tl.zeros", "shape, dtype", "A tensor of `shape` with zeros.", zerosRow});
  rows.push_back({"tl.zeros_like", "input", "Zeros in the shape and type of `input`.", zerosLikeRow});
  rows.push_back(
      {"tl.cast", "input, dtype, fp_downcast_rounding=None, bitcast=False",
       "`input` converted to `dtype`. Floats round to nearest even unless `fp_downcast_rounding` is \"rtz\"; `bitcast` "
       "keeps the bits.",
       castRow});
  rows.push_back({"tl.to_tensor", "x", "`x` as a tensor, if it is a number.",
                  [](Context& c, const Arguments& a) -> Value { return toTensor(c, a["x"]); }});
  rows.push_back({"tl.broadcast", "input, other", "Both operands in their common shape.", broadcastRow});
  rows.push_back({"tl.broadcast_to", "input, *shape",
                  "`input` repeated along its dimensions of size 1 until it has `shape`.", broadcastToRow});
  rows.push_back({"tl.expand_dims", "input, axis",
                  "`input` with a dimension of size 1 at each place that `axis` names.", expandDimsRow});
  rows.push_back({"tl.reshape", "input, *shape, can_reorder=False",
                  "The elements of `input` in row-major order, in `shape`. `can_reorder` allows any order.",
                  reshapeRow});
  rows.push_back({"tl.view", "input, *shape", "As `reshape`, in any order of the elements.", viewRow});
  rows.push_back({"tl.permute", "input, *dims", "`input` with its dimensions in the order `dims`.", permuteRow});
  rows.push_back({"tl.trans", "input, *dims",
                  "`input` with its dimensions in the order `dims`; without them the last two change places.",
                  transRow});
  rows.push_back({"tl.cat", "input, other, can_reorder=False",
                  "The elements of both operands in one tensor, in any order; `can_reorder` must be true.", catRow});
  rows.push_back({"tl.join", "a, b", "Both operands along a new last dimension of size 2.", joinRow});
  rows.push_back({"tl.split", "a", "The two halves of `a` along its last dimension, which has size 2.", splitRow});
  rows.push_back(
      {"tl.interleave", "a, b", "The elements of both operands by turns along the last dimension.", interleaveRow});
  rows.push_back({"tl.gather", "src, index, axis",
                  "The elements of `src` at the positions `index` along `axis`. Positions outside are an error.",
                  gatherRow});
  rows.push_back(
      {"tl.histogram", "input, num_bins, mask=None",
       "How many elements of `input` have each value from 0 to `num_bins` - 1, an int32 tensor. Elements where `mask` is "
       "false are left out.",
       histogramRow});
}

}  // namespace tandem::frontend::builtin
