// Tensor descriptors and their methods.
#include "compiler/frontend/builtin/operands.h"

using namespace tandem::frontend::semantic;

namespace tandem::frontend::builtin {

static const Descriptor& descriptor(Context& c, const Value& value) {
  if (!value.is<std::shared_ptr<Descriptor>>()) c.fail("type", "expected a tensor descriptor, not " + describe(value));
  return *value.as<std::shared_ptr<Descriptor>>();
}

static Value makeDescriptorRow(Context& c, const Arguments& a) {
  return makeDescriptor(c, a["base"], a["shape"], a["strides"], a["block_shape"], a["padding_option"]);
}

static Value loadRow(Context& c, const Arguments& a) {
  return descriptorLoad(c, descriptor(c, a["desc"]), a["offsets"]);
}

static Value storeRow(Context& c, const Arguments& a) {
  descriptorStore(c, descriptor(c, a["desc"]), a["offsets"], a["value"]);
  return None{};
}

static Value gatherRow(Context& c, const Arguments& a) {
  return descriptorGather(c, descriptor(c, a["self"]), a["x_offsets"], a["y_offset"]);
}

static Value scatterRow(Context& c, const Arguments& a) {
  descriptorScatter(c, descriptor(c, a["self"]), a["value"], a["x_offsets"], a["y_offset"]);
  return None{};
}

static tile::Rmw reduction(Context& c, const std::string& word, DType dtype) {
  using R = tile::Rmw;
  bool isUnsigned = dtype.isUnsigned();
  if (word == "add") return dtype.isFloat() ? R::FAdd : R::Add;
  if (word == "min") return isUnsigned ? R::UMin : R::Min;
  if (word == "max") return isUnsigned ? R::UMax : R::Max;
  if (dtype.isFloat())
    c.fail("type", "`atomic_" + word + "` of a tensor descriptor needs integers, not " + dtype.name());
  return word == "and" ? R::And : word == "or" ? R::Or : R::Xor;
}

static Builtin reduceRow(const char* word) {
  return {std::string("tl.tensor_descriptor.atomic_") + word,
          "self, offsets, value",
          {std::string("Combines the block with what is at the elements `offsets`, each element in one step, by ") +
               word + ".",
           Caller::Program, "M14"},
          [word](Context& c, const Arguments& a) -> Value {
            const Descriptor& d = descriptor(c, a["self"]);
            descriptorStore(c, d, a["offsets"], a["value"], reduction(c, word, d.base.type.dtype.pointee()));
            return None{};
          }};
}

void addDescriptorRows(Rows& rows) {
  rows.push_back({"tl.make_tensor_descriptor", "base, shape, strides, block_shape, padding_option='zero'",
                  "A descriptor of the tensor at `base`, which is loaded and stored in blocks of `block_shape`. Sizes "
                  "and strides are in "
                  "elements; the last stride is 1.",
                  makeDescriptorRow});
  rows.push_back({"tl.load_tensor_descriptor",
                  "desc, offsets",
                  {"The block of the tensor that begins at the elements `offsets`. Elements outside are padding.",
                   Caller::Program, "M1"},
                  loadRow});
  rows.push_back({"tl.store_tensor_descriptor",
                  "desc, offsets, value",
                  {"Writes the block that begins at the elements `offsets`. Elements outside are left out.",
                   Caller::Program, "M1"},
                  storeRow});
  rows.push_back({"tl.tensor_descriptor.load",
                  "desc, offsets",
                  {"The block of the tensor that begins at the elements `offsets`. Elements outside are padding.",
                   Caller::Program, "M1"},
                  loadRow});
  rows.push_back({"tl.tensor_descriptor.store",
                  "desc, offsets, value",
                  {"Writes the block that begins at the elements `offsets`. Elements outside are left out.",
                   Caller::Program, "M1"},
                  storeRow});
  rows.push_back({"tl.tensor_descriptor.gather",
                  "self, x_offsets, y_offset",
                  {"The rows `x_offsets` of the tensor, from column `y_offset` on.", Caller::Program, "M1"},
                  gatherRow});
  rows.push_back(
      {"tl.tensor_descriptor.scatter",
       "self, value, x_offsets, y_offset",
       {"Writes rows to the rows `x_offsets` of the tensor, from column `y_offset` on.", Caller::Program, "M1"},
       scatterRow});
  for (const char* word : {"add", "min", "max", "and", "or", "xor"}) rows.push_back(reduceRow(word));
}

}  // namespace tandem::frontend::builtin
