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
       {"The values at `pointer`: an address, a tensor of addresses or a block pointer. Elements where `mask` is false, "
        "or that `boundary_check` finds outside, are not read and hold `other`, or nothing certain.",
        Caller::Program, "M1"},
       loadRow});
  rows.push_back(
      {"tl.store",
       "pointer, value, mask=None, boundary_check=(), cache_modifier='', eviction_policy=''",
       {"Writes `value` at `pointer`: an address, a tensor of addresses or a block pointer. Elements where `mask` is false, or that "
        "`boundary_check` finds outside, are not written.",
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
