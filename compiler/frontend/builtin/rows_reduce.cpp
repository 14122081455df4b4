// Reductions, scans and elementwise maps with a function of the kernel.
#include "compiler/frontend/builtin/operands.h"

using namespace tandem::frontend::semantic;

namespace tandem::frontend::builtin {

static std::optional<int> reductionAxis(Context& c, const Value& value) {
  if (value.isNone()) return std::nullopt;
  return static_cast<int>(constexprInt(c, value, "axis"));
}

static Value reduceRow(Context& c, const Arguments& a) {
  return reduce(c, a["input"], reductionAxis(c, a["axis"]), a["combine_fn"],
                constexprBool(c, a["keep_dims"], "keep_dims"));
}

static Value scanRow(Context& c, const Arguments& a) {
  return scan(c, a["input"], static_cast<int>(constexprInt(c, a["axis"], "axis")), a["combine_fn"],
              constexprBool(c, a["reverse"], "reverse"));
}

// The index of each element along the axis, or in row-major order without one.
static Tensor positions(Context& c, const Tensor& input, std::optional<int> axis) {
  const std::vector<int64_t>& shape = input.type.shape;
  if (!axis) return reshape(c, arange(c, 0, input.type.numel()), shape, false);
  int rank = static_cast<int>(shape.size()), along = *axis < 0 ? *axis + rank : *axis;
  if (along < 0 || along >= rank)
    c.fail("argument-value",
           "`axis` is " + std::to_string(*axis) + ", outside a tensor of rank " + std::to_string(rank));
  Tensor index = arange(c, 0, shape[along]);
  for (int d = 0; d < rank; ++d)
    if (d != along) index = expandDims(c, index, d);
  return broadcastTo(c, index, shape);
}

static Value reduceWithIndicesRow(Context& c, const Arguments& a) {
  Tensor input = toTensor(c, a["input"]);
  if (input.type.isScalar()) c.fail("type", "a reduction needs a tensor, not " + describe(a["input"]));
  std::optional<int> axis = reductionAxis(c, a["axis"]);
  Value sources = makeTuple({input, positions(c, input, axis)});
  return reduce(c, sources, axis, a["combine_fn"], constexprBool(c, a["keep_dims"], "keep_dims"));
}

static Value mapRow(Context& c, const Arguments& a) {
  return mapElementwise(c, a["scalar_fn"], a.rest(), static_cast<int>(constexprInt(c, a["pack"], "pack")));
}

void addReduceRows(Rows& rows) {
  rows.push_back(
      {"tl.reduce", "input, axis, combine_fn, keep_dims=False",
       "`input`, or each tensor of a tuple, combined along `axis` by `combine_fn` in any order; without an axis, all of "
       "it.",
       reduceRow});
  rows.push_back({"tl.associative_scan", "input, axis, combine_fn, reverse=False",
                  "The partial results of `combine_fn` along `axis`, from the first element on, or from the last.",
                  scanRow});
  rows.push_back({"tl._reduce_with_indices", "input, axis, combine_fn, keep_dims=False",
                  "As `reduce`, of the elements and their positions along the axis.", reduceWithIndicesRow});
  rows.push_back({"tl.map_elementwise", "scalar_fn, *args, pack=1",
                  "`scalar_fn` of each element of the tensors; with `pack` of so many elements at a time.", mapRow});
}

}  // namespace tandem::frontend::builtin
