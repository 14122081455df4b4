// Reductions and scans: a kernel function combines two rows of scalars.
#include "compiler/frontend/semantic/region_call.h"

namespace tandem::frontend::semantic {
namespace {

void fillCombine(Context& context, mlir::Region& region, const Value& combine, const std::vector<Tensor>& tiles,
                 const std::string& what) {
  std::vector<DType> row, arguments;
  for (const Tensor& tile : tiles) row.push_back(tile.type.dtype);
  arguments = row;
  arguments.insert(arguments.end(), row.begin(), row.end());
  callInRegion(context, region, combine, arguments, &row, what);
}

Tensor restoreAxis(Context& context, Tensor tensor, std::optional<int> axis, size_t rank) {
  if (axis) return expandDims(context, tensor, *axis);
  for (size_t i = 0; i < rank; ++i) tensor = expandDims(context, tensor, 0);
  return tensor;
}

Value withAxis(Context& context, const Value& results, std::optional<int> axis, size_t rank) {
  if (results.isTensor()) return restoreAxis(context, results.as<Tensor>(), axis, rank);
  std::vector<Value> restored;
  for (const Value& result : results.elements())
    restored.push_back(restoreAxis(context, result.as<Tensor>(), axis, rank));
  return makeTuple(std::move(restored));
}

}  // namespace

Value reduce(Context& context, const Value& sources, std::optional<int> axis, const Value& combine, bool keepDims) {
  std::vector<Tensor> tiles = tilesOf(context, sources, "reduce");
  size_t rank = tiles[0].type.shape.size();
  if (axis)
    axis = wrapAxis(context, *axis, rank, "axis");
  else
    for (Tensor& tile : tiles) tile = reshape(context, tile, {tile.type.numel()}, true);
  int along = axis.value_or(0);
  std::vector<Type> types;
  for (const Tensor& tile : tiles) {
    types.push_back(tile.type);
    types.back().shape.erase(types.back().shape.begin() + along);
  }
  auto op =
      tile::ReduceOp::create(context.builder, context.loc(), typesOf(context, types), handles(tiles), uint32_t(along));
  fillCombine(context, op.getCombine(), combine, tiles, "reduce");
  Value results = gathered(op, types, sources.isTuple());
  return keepDims ? withAxis(context, results, axis, rank) : results;
}

Tensor onlyElement(Context& context, Tensor tensor) {
  if (tensor.type.isScalar()) return tensor;
  if (!tensor.type.isTile() || tensor.type.numel() != 1)
    context.fail("shape-mismatch", "a scalar is made of a tensor of one element, not of a " + describe(tensor));
  tensor = reshape(context, tensor, {1}, false);
  Type type{tensor.type.dtype, {}, 0};
  auto op = tile::ReduceOp::create(context.builder, context.loc(), typesOf(context, {type}), handles({tensor}), 0u);
  mlir::OpBuilder::InsertionGuard guard(context.builder);
  mlir::Type element = type.toMLIR(context.builder.getContext());
  mlir::Block* block =
      context.builder.createBlock(&op.getCombine(), {}, {element, element}, {context.loc(), context.loc()});
  tile::YieldOp::create(context.builder, context.loc(), mlir::ValueRange(block->getArgument(0)));
  return {op->getResult(0), type};
}

Value scan(Context& context, const Value& sources, int axis, const Value& combine, bool reverse) {
  std::vector<Tensor> tiles = tilesOf(context, sources, "associative_scan");
  int along = wrapAxis(context, axis, tiles[0].type.shape.size(), "axis");
  std::vector<Type> types;
  for (const Tensor& tile : tiles) types.push_back(tile.type);
  auto op = tile::ScanOp::create(context.builder, context.loc(), typesOf(context, types), handles(tiles),
                                 uint32_t(along), reverse);
  fillCombine(context, op.getCombine(), combine, tiles, "associative_scan");
  return gathered(op, types, sources.isTuple());
}

}  // namespace tandem::frontend::semantic
