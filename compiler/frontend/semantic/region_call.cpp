// Ops whose region is a kernel function applied to scalars.
#include "compiler/frontend/semantic/region_call.h"
#include <llvm/Support/SaveAndRestore.h>

namespace tandem::frontend::semantic {

std::vector<Tensor> tilesOf(Context& context, const Value& sources, const std::string& what) {
  std::vector<Tensor> tiles;
  for (const Value& source : listOf(sources)) {
    if (!source.isTensor() || !source.as<Tensor>().type.isTile())
      context.fail("type-mismatch", "`" + what + "` needs a tile, not " + describe(source));
    tiles.push_back(source.as<Tensor>());
    if (tiles.back().type.shape != tiles.front().type.shape)
      context.fail("shape-mismatch", "`" + what + "` has sources of shape " + shapeText(tiles.front().type.shape) +
                                         " and " + shapeText(tiles.back().type.shape));
  }
  if (tiles.empty()) context.fail("type-mismatch", "`" + what + "` has no sources");
  return tiles;
}

std::vector<mlir::Value> handles(const std::vector<Tensor>& tensors) {
  std::vector<mlir::Value> out;
  for (const Tensor& tensor : tensors) out.push_back(tensor.value);
  return out;
}

std::vector<mlir::Type> typesOf(Context& context, const std::vector<Type>& types) {
  std::vector<mlir::Type> out;
  for (const Type& type : types) out.push_back(type.toMLIR(context.builder.getContext()));
  return out;
}

std::vector<Tensor> callInRegion(Context& context, mlir::Region& region, const Value& function,
                                 const std::vector<DType>& arguments, const std::vector<DType>* wanted,
                                 const std::string& what) {
  mlir::OpBuilder::InsertionGuard guard(context.builder);
  llvm::SaveAndRestore wraps(context.mayOverflow, true);  // these regions hold no assertions
  mlir::Block* block = context.builder.createBlock(&region);
  std::vector<Value> scalars;
  for (DType dtype : arguments)
    scalars.push_back(
        Tensor{block->addArgument(dtype.toMLIR(context.builder.getContext()), context.loc()), {dtype, {}, 0}});
  std::vector<Value> returned = listOf(context.call(function, scalars, {}));
  if (wanted && returned.size() != wanted->size())
    context.fail("type-mismatch", "function of `" + what + "` returns " + std::to_string(returned.size()) +
                                      " values, not " + std::to_string(wanted->size()));
  std::vector<Tensor> results;
  for (size_t i = 0; i < returned.size(); ++i) {
    const Value& value = returned[i];
    Tensor result = wanted && value.isNumber() ? constant(context, value, (*wanted)[i]) : toTensor(context, value);
    if (!result.type.isScalar())
      context.fail("type-mismatch", "function of `" + what + "` returns a " + describe(result) + ", not a scalar");
    if (wanted && result.type.dtype != (*wanted)[i])
      context.fail("type-mismatch", "function of `" + what + "` returns `" + result.type.dtype.name() +
                                        "` for a source of `" + (*wanted)[i].name() + "`");
    results.push_back(result);
  }
  tile::YieldOp::create(context.builder, context.loc(), handles(results));
  return results;
}

Value gathered(mlir::Operation* op, const std::vector<Type>& types, bool asTuple) {
  std::vector<Value> results;
  for (size_t i = 0; i < types.size(); ++i) results.push_back(Tensor{op->getResult(unsigned(i)), types[i]});
  return asTuple ? makeTuple(std::move(results)) : results.front();
}

}  // namespace tandem::frontend::semantic
