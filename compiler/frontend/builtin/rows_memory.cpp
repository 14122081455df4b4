// Loads and stores through pointers and block pointers.
#include "compiler/frontend/builtin/operands.h"

using namespace tandem::frontend::semantic;

namespace tandem::frontend::builtin {

static Value loadRow(Context& c, const Arguments& a) {
  return load(c, a["pointer"],
              LoadOptions{a["mask"], a["other"], a["boundary_check"], a["padding_option"], a["cache_modifier"],
                          a["eviction_policy"], a["volatile"]});
}

static Value storeRow(Context& c, const Arguments& a) {
  LoadOptions options{a["mask"], None{}, a["boundary_check"], std::string(), a["cache_modifier"], a["eviction_policy"],
                      false};
  store(c, a["pointer"], a["value"], options);
  return None{};
}

static Value makeBlockPointerRow(Context& c, const Arguments& a) {
  return makeBlockPointer(c, a["base"], a["shape"], a["strides"], a["offsets"], a["block_shape"], a["order"]);
}

void addMemoryRows(Rows& rows) {
  rows.push_back(
      {"tl.load",
       "pointer, mask=None, other=None, boundary_check=(), padding_option='', cache_modifier='', "
       "eviction_policy='', volatile=False",
       {"The values at `pointer`: a scalar for an address, a tensor for a tensor of addresses, a block for a block "
        "pointer. `pointer` + 1 is one element further, however many bytes that is. `mask` and `other` are "
        "broadcast with it; elements where `mask` is false are not read and hold `other`, or nothing certain. Of "
        "a block pointer, `boundary_check` names the dimensions whose outside is not read: it holds zeros or NaNs, as "
        "`padding_option` (\"zero\", \"nan\") says, or nothing certain.",
        Caller::Program, "M1"},
       loadRow});
  rows.push_back(
      {"tl.store",
       "pointer, value, mask=None, boundary_check=(), cache_modifier='', eviction_policy=''",
       {"Writes `value` at `pointer`: an address, a tensor of addresses or a block pointer. `pointer` + 1 is one "
        "element further, however many bytes that is. `value` and `mask` are broadcast to the shape of `pointer`; "
        "elements where `mask` is false, or outside in a dimension that `boundary_check` names, are not written.",
        Caller::Program, "M1"},
       storeRow});
  rows.push_back(
      {"tl.make_block_ptr", "base, shape, strides, offsets, block_shape, order",
       "A pointer to a block of the tensor at `base`. Shape, strides, offsets and block shape are in elements; `order` "
       "names the dimensions from the fastest.",
       makeBlockPointerRow});
  rows.push_back({"tl.advance", "base, offsets", "The block pointer `base`, moved by `offsets` elements.",
                  [](Context& c, const Arguments& a) { return advance(c, a["base"], a["offsets"]); }});
}

}  // namespace tandem::frontend::builtin
