// Matrix products.
#include "compiler/frontend/builtin/operands.h"
#include <array>

using namespace tandem::frontend::semantic;

namespace tandem::frontend::builtin {

static Value dotRow(Context& c, const Arguments& a) {
  return dot(c, a["input"], a["other"],
             DotOptions{a["acc"], a["input_precision"], a["allow_tf32"], a["max_num_imprecise_acc"], a["out_dtype"]});
}

static tile::MicroScale format(Context& c, const Value& value, const std::string& what) {
  using M = tile::MicroScale;
  static constexpr std::array<std::pair<std::string_view, M>, 5> words = {
      {{"e2m1", M::E2M1}, {"e4m3", M::E4M3}, {"e5m2", M::E5M2}, {"bf16", M::Bf16}, {"fp16", M::Fp16}}};
  std::string text = constexprString(c, value, what);
  for (const auto& [word, result] : words)
    if (word == text) return result;
  c.fail("argument-value", "`" + what + "` is `" + text + "`, which is none of `e2m1`, `e4m3`, `e5m2`, `bf16`, `fp16`");
}

static Scalar storage(tile::MicroScale format) {
  switch (format) {
    case tile::MicroScale::E2M1: return Scalar::UInt8;
    case tile::MicroScale::E4M3: return Scalar::Fp8E4NV;
    case tile::MicroScale::E5M2: return Scalar::Fp8E5;
    case tile::MicroScale::Bf16: return Scalar::Bf16;
    case tile::MicroScale::Fp16: return Scalar::Fp16;
  }
  return Scalar::UInt8;
}

struct Operand {
  Tensor tile;
  tile::MicroScale format;
  mlir::Value scale;
  bool kPack;
  int64_t rows, columns;  // unpacked, of the matrix as multiplied
};

// `outer` is the dimension of M or N, `inner` that of K.
static Operand operand(Context& c, const Arguments& a, const std::string& name, int outer, int inner) {
  Operand o{toTensor(c, a[name]),
            format(c, a[name + "_format"], name + "_format"),
            {},
            constexprBool(c, a[name + "_k_pack"], name + "_k_pack"),
            0,
            0};
  if (o.tile.type.shape.size() != 2)
    c.fail("type", "`dot_scaled` needs `" + name + "` of rank 2, not " + describe(a[name]));
  DType wanted{storage(o.format)};
  if (o.tile.type.dtype.bitWidth() != wanted.bitWidth())
    c.fail("type",
           "`dot_scaled` needs `" + name + "` of " + wanted.name() + " for its format, not " + describe(a[name]));
  if (!(o.tile.type.dtype == wanted)) o.tile = bitcast(c, o.tile, wanted);
  bool packed = o.format == tile::MicroScale::E2M1;
  o.rows = o.tile.type.shape[outer] * (packed && !o.kPack ? 2 : 1);
  o.columns = o.tile.type.shape[inner] * (packed && o.kPack ? 2 : 1);
  const Value& scale = a[name + "_scale"];
  if (scale.isNone()) return o;
  Tensor s = toTensor(c, scale);
  if (s.type.shape != std::vector<int64_t>{o.rows, o.columns / 32} || s.type.dtype.bitWidth() != 8)
    c.fail("type", "`" + name + "_scale` must be uint8[" + std::to_string(o.rows) + ", " +
                       std::to_string(o.columns / 32) + "], not " + describe(scale));
  o.scale = s.value;
  return o;
}

static Value dotScaledRow(Context& c, const Arguments& a) {
  Operand lhs = operand(c, a, "lhs", 0, 1), rhs = operand(c, a, "rhs", 1, 0);
  if (lhs.columns != rhs.columns)
    c.fail("type", "`dot_scaled` operands have inner dimensions " + std::to_string(lhs.columns) + " and " +
                       std::to_string(rhs.columns));
  DType out = constexprDType(c, a["out_dtype"], "out_dtype");
  if (out != DType{Scalar::Fp32}) c.fail("unsupported", "`dot_scaled` gives fp32, not " + out.name());
  std::vector<int64_t> shape{lhs.rows, rhs.rows};
  Tensor acc = a["acc"].isNone() ? full(c, shape, 0.0, out) : toTensor(c, a["acc"]);
  if (acc.type.shape != shape || acc.type.dtype != out)
    c.fail("type", "`acc` must be " + Type{out, shape}.name() + ", not " + describe(a["acc"]));
  auto op =
      tile::DotScaledOp::create(c.builder, c.loc(), acc.value.getType(), lhs.tile.value, lhs.scale, rhs.tile.value,
                                rhs.scale, acc.value, lhs.format, rhs.format, lhs.kPack, rhs.kPack);
  return Tensor{op.getResult(), acc.type};
}

void addDotRows(Rows& rows) {
  rows.push_back(
      {"tl.dot",
       "input, other, acc=None, input_precision=None, allow_tf32=None, max_num_imprecise_acc=None, out_dtype=float32",
       dotRow});
  rows.push_back({"tl.dot_scaled",
                  "lhs, lhs_scale, lhs_format, rhs, rhs_scale, rhs_format, acc=None, fast_math=False, lhs_k_pack=True, "
                  "rhs_k_pack=True, "
                  "out_dtype=float32",
                  dotScaledRow});
}

}  // namespace tandem::frontend::builtin
