// Matrix products.
#include "compiler/frontend/builtin/operands.h"

using namespace tandem::frontend::semantic;

namespace tandem::frontend::builtin {

static Value dotRow(Context& c, const Arguments& a) {
  return dot(c, a["input"], a["other"],
             DotOptions{a["acc"], a["input_precision"], a["allow_tf32"], a["max_num_imprecise_acc"], a["out_dtype"]});
}

static Value dotScaledRow(Context& c, const Arguments& a) {
  return dotScaled(c, a["lhs"], a["lhs_scale"], a["lhs_format"], a["rhs"], a["rhs_scale"], a["rhs_format"], a["acc"],
                   a["fast_math"], a["lhs_k_pack"], a["rhs_k_pack"], a["out_dtype"]);
}

void addDotRows(Rows& rows) {
  rows.push_back(
      {"tl.dot",
       "input, other, acc=None, input_precision=None, allow_tf32=None, max_num_imprecise_acc=None, out_dtype=float32",
       "acc + input · other: [m, k] · [k, n] gives [m, n], and batches [b, m, k] · [b, k, n] give [b, m, n]. Every size is "
       "at least 1; products are summed in `out_dtype`.",
       dotRow});
  rows.push_back(
      {"tl.dot_scaled",
       "lhs, lhs_scale, lhs_format, rhs, rhs_scale, rhs_format, acc=None, fast_math=False, lhs_k_pack=True, "
       "rhs_k_pack=True, "
       "out_dtype=float32",
       "acc + (lhs · lhs_scale) · (rhs · rhs_scale) of microscaling formats: \"e2m1\", \"e4m3\", \"e5m2\", \"bf16\", "
       "\"fp16\". A scale is for 32 elements along K as an exponent, for 16 as an fp8e4nv number.",
       dotScaledRow});
}

}  // namespace tandem::frontend::builtin
