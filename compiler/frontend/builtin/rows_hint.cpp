// Promises of the author to the compiler. They are discardable attributes: `tile.divisibility`, `tile.contiguity`
// and `tile.constancy`, with a number for each dimension on an op, and one number on an argument of the kernel.
#include "compiler/frontend/builtin/operands.h"
#include "compiler/dialect/tile/attributes.h"
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Interfaces/FunctionInterfaces.h>

using namespace tandem::frontend::semantic;

namespace tandem::frontend::builtin {

static std::vector<int32_t> promise(Context& c, const Value& given, size_t rank) {
  std::vector<int32_t> values;
  for (int64_t v : integers(c, given, "values")) {
    if (v < 1 || v > INT32_MAX)
      c.fail("argument-value", "`values` must be positive 32-bit integers, but one is " + std::to_string(v));
    values.push_back(int32_t(v));
  }
  if (values.size() != std::max<size_t>(1, rank))
    c.fail("argument-value",
           "`values` has " + std::to_string(values.size()) + " numbers for a tensor of rank " + std::to_string(rank));
  return values;
}

// Returns the value that a loop's carried value has before the first iteration; null if no loop carries `carried`.
static mlir::Value firstOf(mlir::BlockArgument carried) {
  mlir::Operation* parent = carried.getOwner()->getParentOp();
  if (auto loop = mlir::dyn_cast<mlir::scf::WhileOp>(parent)) return loop.getInits()[carried.getArgNumber()];
  auto loop = mlir::dyn_cast<mlir::scf::ForOp>(parent);
  return loop && carried != loop.getInductionVar() ? loop.getTiedLoopInit(carried)->get() : nullptr;
}

// A launch finds out whether 16 divides a parameter. A promise that it has found to be false, which Triton does not hear at all, is not
// believed: masks are shared among neighbours by it.
static bool isRefuted(mlir::BlockArgument parameter, int32_t multiple) {
  constexpr int32_t kFoundOut = 16;
  return multiple % kFoundOut == 0 && tile::multipleOf(parameter).value_or(1) % kFoundOut;
}

// The values of a loop or a branch come from several places, and no op is theirs alone. A promise of one that a loop
// carries holds of its first value, from which each iteration's is computed; others carry nothing.
static void attach(mlir::Value value, tile::Promise what, const std::vector<int32_t>& values) {
  if (mlir::Operation* op = value.getDefiningOp()) {
    if (op->getNumResults() == 1) tile::setPromise(op, what, values);
    return;
  }
  auto argument = mlir::cast<mlir::BlockArgument>(value);
  if (mlir::Value first = firstOf(argument)) return attach(first, what, values);
  bool isParameter = mlir::isa_and_nonnull<mlir::func::FuncOp>(argument.getOwner()->getParentOp());
  if (!isParameter || what != tile::Promise::Divisibility || isRefuted(argument, values[0])) return;
  if (tile::multipleOf(argument).value_or(1) < values[0]) tile::setMultipleOf(argument, values[0]);
}

static Builtin hint(const std::string& name, const std::string& promised, tile::Promise what) {
  return {"tl." + name, "input, values", "Promises that, along each dimension, " + promised + ". Returns `input`.",
          [what](Context& c, const Arguments& a) -> Value {
            const Value& input = a["input"];
            std::vector<int32_t> values =
                promise(c, a["values"], input.isTensor() ? input.as<Tensor>().type.shape.size() : 0);
            if (input.isTensor()) attach(input.as<Tensor>().value, what, values);
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
  rows.push_back(
      hint("multiple_of", "the first of each run of elements is a multiple of the value", tile::Promise::Divisibility));
  rows.push_back(hint("max_contiguous", "so many elements in a row count up by one", tile::Promise::Contiguity));
  rows.push_back(hint("max_constancy", "so many elements in a row are equal", tile::Promise::Constancy));
  rows.push_back({"tl.assume", "cond", "Promises that `cond` is true.", assume});
}

}  // namespace tandem::frontend::builtin
