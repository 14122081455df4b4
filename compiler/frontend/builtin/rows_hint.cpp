// Promises of the author to the compiler.
#include "compiler/frontend/builtin/operands.h"

using namespace tandem::frontend::semantic;

namespace tandem::frontend::builtin {

// The hint is an attribute of the op that made the value; arguments of the kernel have none to carry it.
static Builtin hint(const std::string& name, const std::string& attribute) {
  return {"tl." + name, "input, values", [attribute](Context& c, const Arguments& a) -> Value {
            std::vector<int64_t> values = integers(c, a["values"], "values");
            if (!a["input"].isTensor()) return a["input"];
            const Tensor& input = a["input"].as<Tensor>();
            if (values.size() != std::max<size_t>(1, input.type.shape.size()))
              c.fail("argument-value", "`values` has " + std::to_string(values.size()) +
                                           " numbers for a tensor of rank " + std::to_string(input.type.shape.size()));
            if (mlir::Operation* op = input.value.getDefiningOp())
              op->setAttr(attribute, c.builder.getDenseI64ArrayAttr(values));
            return input;
          }};
}

static Value assume(Context& c, const Arguments& a) {
  if (!a["cond"].isTensor()) {
    if (!truth(c, a["cond"])) c.fail("argument-value", "`assume` is given a condition that is false");
    return None{};
  }
  tile::AssumeOp::create(c.builder, c.loc(), condition(c, a["cond"]).value);
  return None{};
}

void addHintRows(Rows& rows) {
  rows.push_back(hint("multiple_of", "tile.multiple_of"));
  rows.push_back(hint("max_contiguous", "tile.max_contiguous"));
  rows.push_back(hint("max_constancy", "tile.max_constancy"));
  rows.push_back({"tl.assume", "cond", assume});
}

}  // namespace tandem::frontend::builtin
