// Other spellings of rows: tensor methods, and names that several modules share.
#include "compiler/frontend/builtin/rows.h"
#include <algorithm>

namespace tandem::frontend::builtin {

static void alias(Rows& rows, const std::string& from, const std::string& to) {
  auto found = std::find_if(rows.begin(), rows.end(), [&](const Builtin& row) { return row.name == from; });
  if (found == rows.end()) std::abort();
  rows.push_back({to, found->signature, found->doc, found->emit});
}

void addAliasRows(Rows& rows) {
  for (const char* method : {"abs",         "advance",    "associative_scan",
                             "atomic_add",  "atomic_and", "atomic_cas",
                             "atomic_max",  "atomic_min", "atomic_or",
                             "atomic_xchg", "atomic_xor", "broadcast_to",
                             "cast",        "ceil",       "clamp",
                             "cos",         "div_rn",     "dot",
                             "erf",         "exp",        "exp2",
                             "expand_dims", "fdiv",       "floor",
                             "fma",         "gather",     "histogram",
                             "interleave",  "join",       "load",
                             "log",         "log2",       "permute",
                             "reduce",      "reshape",    "rsqrt",
                             "sin",         "split",      "sqrt",
                             "sqrt_rn",     "store",      "trans",
                             "umulhi",      "view",       "where",
                             "zeros_like"})
    alias(rows, std::string("tl.") + method, std::string("tl.tensor.") + method);
  alias(rows, "tl.cast", "tl.tensor.to");
  alias(rows, "tl.trans", "tl.tensor.T");
}

}  // namespace tandem::frontend::builtin
