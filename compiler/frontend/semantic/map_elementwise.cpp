// tl.map_elementwise: a kernel function applied to `pack` elements of the tiles at a time.
#include "compiler/frontend/semantic/region_call.h"

namespace tandem::frontend::semantic {
namespace {

std::vector<Tensor> broadcastAll(Context& context, const std::vector<Value>& sources) {
  std::vector<Tensor> tensors;
  for (const Value& source : sources) tensors.push_back(toTensor(context, source));
  if (tensors.empty()) context.fail("missing-argument", "`map_elementwise` has no sources");
  Tensor widest = tensors.front();
  for (const Tensor& tensor : tensors) widest = broadcast(context, widest, tensor).first;
  for (Tensor& tensor : tensors) tensor = broadcast(context, tensor, widest).first;
  if (!widest.type.isTile()) context.fail("type-mismatch", "`map_elementwise` needs a tile, not a " + describe(widest));
  return tensors;
}

// Every `pack` consecutive scalars that the function returns are elements of one result.
std::vector<Type> resultTypes(Context& context, const std::vector<Tensor>& scalars, int pack, const Type& like) {
  if (scalars.empty() || scalars.size() % size_t(pack) != 0)
    context.fail("type-mismatch", "function of `map_elementwise` returns " + std::to_string(scalars.size()) +
                                      " values, not a multiple of `pack` " + std::to_string(pack));
  std::vector<Type> types;
  for (size_t i = 0; i < scalars.size(); ++i) {
    if (i % size_t(pack) == 0) types.push_back(retyped(like, scalars[i].type.dtype));
    if (scalars[i].type.dtype != types.back().dtype)
      context.fail("type-mismatch", "function of `map_elementwise` returns `" + types.back().dtype.name() + "` and `" +
                                        scalars[i].type.dtype.name() + "` for one result");
  }
  return types;
}

}  // namespace

Value mapElementwise(Context& context, const Value& function, const std::vector<Value>& sources, int pack) {
  std::vector<Tensor> tiles = broadcastAll(context, sources);
  const Type& like = tiles.front().type;
  if (pack < 1 || like.numel() % pack != 0)
    context.fail("out-of-range", "`pack` " + std::to_string(pack) + " does not divide the " +
                                     std::to_string(like.numel()) + " elements");
  std::vector<DType> arguments;
  for (const Tensor& tile : tiles) arguments.insert(arguments.end(), size_t(pack), tile.type.dtype);
  // The results' types are known only once the function has been compiled, so a first op holds the region meanwhile.
  auto holder =
      tile::MapElementwiseOp::create(context.builder, context.loc(), mlir::TypeRange(), handles(tiles), uint32_t(pack));
  std::vector<Tensor> scalars =
      callInRegion(context, holder.getBody(), function, arguments, nullptr, "map_elementwise");
  std::vector<Type> types = resultTypes(context, scalars, pack, like);
  auto op = tile::MapElementwiseOp::create(context.builder, context.loc(), typesOf(context, types), handles(tiles),
                                           uint32_t(pack));
  op.getBody().takeBody(holder.getBody());
  holder.erase();
  return gathered(op, types, types.size() > 1);
}

}  // namespace tandem::frontend::semantic
