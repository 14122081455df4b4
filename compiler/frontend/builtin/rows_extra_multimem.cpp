// Accesses to multicast addresses: `language_extra.multimem_*`.
#include "compiler/frontend/builtin/vectors.h"

using namespace tandem::frontend::semantic;

namespace tandem::frontend::builtin {

// Returns the value to store, as one unsigned integer or a vector of them. `bits` 0 takes the width of the first value.
static Tensor payload(Context& c, const Arguments& a, uint32_t length, int bits) {
  std::vector<Tensor> words;
  for (uint32_t i = 0; i < length; ++i) {
    std::string what = "val" + std::to_string(i);
    if (bits == 0) bits = scalar(c, a[what], what).type.dtype.bitWidth();
    DType dtype{bits == 64 ? Scalar::UInt64 : bits == 32 ? Scalar::UInt32 : Scalar::UInt16};
    if (a[what].is<Int>()) {
      words.push_back(scalarOf(c, a[what], dtype, what));
      continue;
    }
    Tensor value = scalar(c, a[what], what);
    if (value.type.dtype.bitWidth() != dtype.bitWidth())
      c.fail("type",
             "`" + what + "` must have " + std::to_string(dtype.bitWidth()) + " bits, not " + describe(a[what]));
    words.push_back({asInteger(c, value).value, Type{dtype, {}}});
  }
  return length == 1 ? words[0] : makeVector(c, words);
}

static Builtin storeRow(const std::string& name, uint32_t length, int bits) {
  std::string signature = "ptr";
  for (uint32_t i = 0; i < length; ++i) signature += ", val" + std::to_string(i);
  return {"extra." + name,
          signature,
          {"Writes the values to every rank's copy, through a multicast address.", Caller::Thread, "M2"},
          [=](Context& c, const Arguments& a) -> Value {
            Tensor value = payload(c, a, length, bits);
            Tensor destination = pointerTo(c, writable(c, a["ptr"], "ptr"), value.type.dtype);
            simt::MultimemStOp::create(c.builder, c.loc(), destination.value, value.value);
            return None{};
          }};
}

// 128 bits from every rank, added elementwise; given as four 32-bit parts: fp32, or two 16-bit sums in an int32.
static Value loadReduce(Context& c, const Arguments& a) {
  Tensor source = pointer(c, a["ptr"], "ptr");
  DType element = source.type.dtype.pointee();
  if (element != DType{Scalar::Fp32} && element != DType{Scalar::Fp16} && element != DType{Scalar::Bf16})
    c.fail("type", "`multimem_ld_reduce_v4` adds fp32, fp16 or bf16, not " + element.name());
  Type type{element, {}, static_cast<uint32_t>(128 / element.bitWidth())};
  auto op = simt::MultimemLdReduceOp::create(c.builder, c.loc(), type.toMLIR(c.builder.getContext()), source.value);
  Tensor sum{op, type};
  if (element != DType{Scalar::Fp32}) sum = recast(c, sum, DType{Scalar::Int32}, 4);
  std::vector<Value> parts;
  for (const Tensor& part : elements(c, sum)) parts.push_back(part);
  return makeTuple(std::move(parts));
}

void addExtraMultimemRows(Rows& rows) {
  rows.push_back(storeRow("multimem_st_b64", 1, 64));
  rows.push_back(storeRow("multimem_st_b32", 1, 32));
  rows.push_back(storeRow("multimem_st_v2", 2, 0));
  rows.push_back(storeRow("multimem_st_v4", 4, 0));
  rows.push_back(
      {"extra.multimem_ld_reduce_v4",
       "ptr, acc_dtype=None",
       {"128 bits from every rank at a multicast address, added element by element; given as four 32-bit parts.",
        Caller::Thread, "M2"},
       loadReduce});
}

}  // namespace tandem::frontend::builtin
