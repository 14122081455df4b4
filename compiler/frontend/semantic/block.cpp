// Block pointers: a block of a strided tensor that loads and stores move as one tile.
#include "compiler/frontend/semantic/access.h"
#include "compiler/frontend/semantic/typed_op.h"
#include <algorithm>

namespace tandem::frontend::semantic {
namespace {

std::vector<int64_t> orderOf(Context& context, const Value& value) {
  std::vector<int64_t> order, sorted;
  for (const Value& element : listOf(value)) {
    Int axis = constexprInt(context, element, "order");
    order.push_back(axis < 0 || axis > 64 ? -1 : int64_t(axis));
  }
  sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i)
    if (sorted[i] != int64_t(i))
      context.fail("out-of-range",
                   "`order` " + repr(value) + " is not a permutation of 0 to " + std::to_string(order.size() - 1));
  return order;
}

void checkRank(Context& context, size_t rank, size_t seen, const char* what) {
  if (seen != rank)
    context.fail("shape-mismatch", std::string("`") + what + "` has " + std::to_string(seen) +
                                       " entries but `block_shape` has " + std::to_string(rank));
}

std::vector<int32_t> checkedDimensions(Context& context, const Value& value, size_t rank) {
  std::vector<int32_t> axes;
  if (isEmpty(value)) return axes;
  for (const Value& element : listOf(value)) {
    Int axis = constexprInt(context, element, "boundary_check");
    if (axis < 0 || axis >= Int(rank))
      context.fail("out-of-range", "`boundary_check` names dimension " + repr(Value(axis)) + " of a block of rank " +
                                       std::to_string(rank));
    if (std::find(axes.begin(), axes.end(), int32_t(axis)) != axes.end())
      context.fail("out-of-range", "`boundary_check` names dimension " + repr(Value(axis)) + " twice");
    axes.push_back(int32_t(axis));
  }
  std::sort(axes.begin(), axes.end());
  return axes;
}

void rejectMask(Context& context, const LoadOptions& options, const char* what) {
  if (!options.mask.isNone() || !options.other.isNone())
    context.fail("unsupported",
                 std::string("`") + what + "` through a block pointer has no `mask` or `other`; use `boundary_check`");
}

Type blockType(const BlockPointer& block) { return {block.base.type.dtype.pointee(), block.blockShape, 0}; }

}  // namespace

Value makeBlockPointer(Context& context, const Value& base, const Value& shape, const Value& strides,
                       const Value& offsets, const Value& blockShape, const Value& order) {
  auto block = std::make_shared<BlockPointer>();
  block->base = pointerOperand(context, base, "make_block_ptr");
  if (!block->base.type.isScalar())
    context.fail("type-mismatch", "`make_block_ptr` needs a pointer, not a " + describe(base));
  if (block->base.type.dtype.pointee().isBool())
    block->base = cast(context, block->base, block->base.type.dtype.withPointee(int8));
  block->blockShape = constexprShape(context, blockShape, "block_shape");
  block->shape = placeScalars(context, shape, int64, "shape");
  block->strides = placeScalars(context, strides, int64, "strides");
  block->offsets = placeScalars(context, offsets, int32, "offsets");
  block->order = orderOf(context, order);
  size_t rank = block->blockShape.size();
  if (rank == 0) context.fail("shape", "`block_shape` has no dimensions");
  checkRank(context, rank, block->shape.size(), "shape");
  checkRank(context, rank, block->strides.size(), "strides");
  checkRank(context, rank, block->offsets.size(), "offsets");
  checkRank(context, rank, block->order.size(), "order");
  return block;
}

Value advance(Context& context, const Value& blockPointer, const Value& offsets) {
  if (!blockPointer.is<std::shared_ptr<BlockPointer>>())
    context.fail("type-mismatch", "`advance` needs a block pointer, not " + describe(blockPointer));
  auto moved = std::make_shared<BlockPointer>(*blockPointer.as<std::shared_ptr<BlockPointer>>());
  std::vector<Tensor> steps = placeScalars(context, offsets, int32, "offsets");
  checkRank(context, moved->blockShape.size(), steps.size(), "offsets");
  for (size_t i = 0; i < steps.size(); ++i)
    moved->offsets[i] = elementwise<mlir::arith::AddIOp>(context, moved->offsets[i], steps[i]);
  return moved;
}

Value loadBlock(Context& context, const BlockPointer& block, const LoadOptions& options) {
  rejectMask(context, options, "load");
  Type type = blockType(block);
  tile::Padding padding = paddingOf(context, options.padding);
  if (padding == tile::Padding::Nan && type.dtype.isInt())
    context.fail("unsupported", "`padding_option` \"nan\" is not supported for blocks of `" + type.dtype.name() + "`");
  std::vector<int32_t> checked = checkedDimensions(context, options.boundaryCheck, type.shape.size());
  return make<tile::BlockLoadOp>(context, type, block.base.value, valuesOf(context, block.shape, int64),
                                 valuesOf(context, block.strides, int64), valuesOf(context, block.offsets, int32),
                                 llvm::ArrayRef<int32_t>(checked), padding, loadCache(context, options.cache),
                                 evictionOf(context, options.eviction));
}

void storeBlock(Context& context, const BlockPointer& block, const Value& value, const LoadOptions& options) {
  rejectMask(context, options, "store");
  checkWritable(context, block.base.type.dtype, "store");
  Type type = blockType(block);
  Tensor stored = toTensor(context, value);
  if (stored.type.isTile() && stored.type.shape != type.shape)
    context.fail("shape-mismatch", "`store` has a block of shape " + shapeText(type.shape) + " but a value of shape " +
                                       shapeText(stored.type.shape));
  stored = cast(context, broadcastTo(context, stored, type.shape), type.dtype);
  std::vector<int32_t> checked = checkedDimensions(context, options.boundaryCheck, type.shape.size());
  tile::BlockStoreOp::create(context.builder, context.loc(), block.base.value, valuesOf(context, block.shape, int64),
                             valuesOf(context, block.strides, int64), valuesOf(context, block.offsets, int32),
                             stored.value, llvm::ArrayRef<int32_t>(checked), tile::RmwAttr(),
                             storeCache(context, options.cache), evictionOf(context, options.eviction));
}

}  // namespace tandem::frontend::semantic
