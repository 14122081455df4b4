// Tensor descriptors: blocks of a strided tensor whose every dimension is checked.
#include "compiler/frontend/semantic/access.h"
#include "compiler/frontend/semantic/typed_op.h"
#include <limits>
#include <numeric>

namespace tandem::frontend::semantic {
namespace {

constexpr size_t maxRank = 5;
constexpr int64_t minRowBytes = 16;

Type blockType(const Descriptor& descriptor) {
  return {descriptor.base.type.dtype.pointee(), descriptor.blockShape, 0};
}

std::vector<int32_t> allDimensions(const Descriptor& descriptor) {
  std::vector<int32_t> axes(descriptor.blockShape.size());
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

std::vector<mlir::Value> offsetsOf(Context& context, const Descriptor& descriptor, const Value& offsets) {
  std::vector<Tensor> scalars = placeScalars(context, offsets, int32, "offsets");
  if (scalars.size() != descriptor.blockShape.size())
    context.fail("shape-mismatch", "descriptor of rank " + std::to_string(descriptor.blockShape.size()) +
                                       " is accessed with " + std::to_string(scalars.size()) + " offsets");
  return valuesOf(context, scalars, int32);
}

void checkRowBytes(Context& context, const Descriptor& descriptor) {
  int64_t row = descriptor.blockShape.back(), bytes = descriptor.base.type.dtype.pointee().bitWidth() / 8;
  if (row * bytes < minRowBytes)
    context.fail("shape", "descriptor block has " + std::to_string(row) + " * " + std::to_string(bytes) + " = " +
                              std::to_string(row * bytes) + " bytes in its last dimension; at least " +
                              std::to_string(minRowBytes) + " are needed");
}

void checkLastStride(Context& context, const Value& strides) {
  const Value& last = strides.elements().back();
  if (!last.isTensor() && constexprInt(context, last, "strides") != 1)
    context.fail("unsupported", "descriptor has stride " + repr(last) + " in its last dimension, not 1");
}

// Sizes have 32 bits; as in Triton, wider ones are cut.
Value narrowed(Context& context, const Value& sizes) {
  std::vector<Value> out = listOf(sizes);
  for (Value& size : out) {
    if (!size.isTensor()) continue;
    const Tensor& tensor = size.as<Tensor>();
    if (tensor.type.isScalar() && tensor.type.dtype.isInt() && tensor.type.dtype.bitWidth() > 32)
      size = cast(context, tensor, int32);
  }
  return makeTuple(std::move(out));
}

// The update for elements of `dtype`; nothing when there is none.
std::optional<tile::Rmw> updateFor(tile::Rmw reduce, DType dtype) {
  bool wide = dtype.bitWidth() >= 32, half = dtype.isFloat() && dtype.bitWidth() == 16;
  switch (reduce) {
    case tile::Rmw::Add:
    case tile::Rmw::FAdd:
      if (dtype.isFloat()) return half || wide ? std::optional(tile::Rmw::FAdd) : std::nullopt;
      return wide ? std::optional(tile::Rmw::Add) : std::nullopt;
    case tile::Rmw::Max:
    case tile::Rmw::UMax:
      return half                      ? tile::Rmw::Max
             : !dtype.isInt() || !wide ? std::nullopt
                                       : std::optional(dtype.isSigned() ? tile::Rmw::Max : tile::Rmw::UMax);
    case tile::Rmw::Min:
    case tile::Rmw::UMin:
      return half                      ? tile::Rmw::Min
             : !dtype.isInt() || !wide ? std::nullopt
                                       : std::optional(dtype.isSigned() ? tile::Rmw::Min : tile::Rmw::UMin);
    case tile::Rmw::Xchg: return std::nullopt;
    default: return dtype.isInt() && wide ? std::optional(reduce) : std::nullopt;
  }
}

tile::RmwAttr reduceAttribute(Context& context, std::optional<tile::Rmw> reduce, DType dtype) {
  if (!reduce) return {};
  std::optional<tile::Rmw> update = updateFor(*reduce, dtype);
  if (!update)
    context.fail("unsupported-type",
                 "descriptor cannot reduce `" + dtype.name() + "` with `" + tile::stringifyRmw(*reduce).str() + "`");
  return tile::RmwAttr::get(context.builder.getContext(), *update);
}

// The rows that a gather or a scatter names, as pointers with a mask of the elements inside the tensor.
struct Rows {
  Tensor pointers, mask;
};

Rows rowsOf(Context& context, const Descriptor& descriptor, const Value& xOffsets, const Value& yOffset) {
  if (descriptor.blockShape.size() != 2 || descriptor.blockShape[0] != 1)
    context.fail("shape-mismatch",
                 "gather and scatter need a descriptor block of one row, not " + shapeText(descriptor.blockShape));
  Tensor x = toTensor(context, xOffsets);
  if (x.type.shape.size() != 1 || !x.type.dtype.isInt())
    context.fail("shape-mismatch", "`x_offsets` needs a tile of integers of rank 1, not a " + describe(x));
  if (x.type.shape[0] < 8)
    context.fail("shape-mismatch", "gather and scatter need at least 8 rows, not " + std::to_string(x.type.shape[0]));
  std::vector<Tensor> start = placeScalars(context, yOffset, int32, "y_offset");
  if (start.size() != 1)
    context.fail("shape-mismatch", "`y_offset` is one offset, not " + std::to_string(start.size()));
  using ast::BinaryOp, ast::CompareOp;
  Tensor rows = expandDims(context, cast(context, x, int64), 1);
  Tensor columns = expandDims(context, arange(context, 0, descriptor.blockShape[1]), 0);
  columns = cast(context, binary(context, BinaryOp::Add, columns, start[0]).as<Tensor>(), int64);
  auto inside = [&](const Tensor& at, const Tensor& size) {
    Value above = compare(context, CompareOp::Ge, at, Int(0)), below = compare(context, CompareOp::Lt, at, size);
    return binary(context, BinaryOp::And, above, below);
  };
  auto scaled = [&](const Tensor& at, const Tensor& stride) { return binary(context, BinaryOp::Mul, at, stride); };
  Value offsets =
      binary(context, BinaryOp::Add, scaled(rows, descriptor.strides[0]), scaled(columns, descriptor.strides[1]));
  Value mask = binary(context, BinaryOp::And, inside(rows, descriptor.shape[0]), inside(columns, descriptor.shape[1]));
  return {addPointer(context, descriptor.base, offsets.as<Tensor>()), mask.as<Tensor>()};
}

}  // namespace

Value makeDescriptor(Context& context, const Value& base, const Value& shape, const Value& strides,
                     const Value& blockShape, const Value& padding) {
  auto descriptor = std::make_shared<Descriptor>();
  descriptor->base = pointerOperand(context, base, "make_tensor_descriptor");
  if (!descriptor->base.type.isScalar())
    context.fail("type-mismatch", "`make_tensor_descriptor` needs a pointer, not a " + describe(base));
  if (descriptor->base.type.dtype.pointee().isBool())
    descriptor->base = cast(context, descriptor->base, descriptor->base.type.dtype.withPointee(int8));
  descriptor->blockShape = constexprShape(context, blockShape, "block_shape");
  size_t rank = listOf(shape).size();
  if (rank < 1 || rank > maxRank)
    context.fail("shape",
                 "descriptor has " + std::to_string(rank) + " dimensions, not 1 to " + std::to_string(maxRank));
  if (listOf(strides).size() != rank || descriptor->blockShape.size() != rank)
    context.fail("shape-mismatch", "descriptor has " + std::to_string(rank) + " sizes, " +
                                       std::to_string(listOf(strides).size()) + " strides and a block of rank " +
                                       std::to_string(descriptor->blockShape.size()));
  checkRowBytes(context, *descriptor);
  checkLastStride(context, makeTuple(listOf(strides)));
  descriptor->shape = placeScalars(context, narrowed(context, shape), int32, "shape");
  descriptor->strides = placeScalars(context, strides, int64, "strides");
  descriptor->nanPadding = paddingOf(context, padding) == tile::Padding::Nan;
  if (descriptor->nanPadding && !blockType(*descriptor).dtype.isFloat())
    context.fail("unsupported", "`padding_option` \"nan\" is not supported for blocks of `" +
                                    blockType(*descriptor).dtype.name() + "`");
  return descriptor;
}

Value descriptorLoad(Context& context, const Descriptor& descriptor, const Value& offsets) {
  std::vector<mlir::Value> at = offsetsOf(context, descriptor, offsets);
  std::vector<int32_t> checked = allDimensions(descriptor);
  return make<tile::BlockLoadOp>(
      context, blockType(descriptor), descriptor.base.value, valuesOf(context, descriptor.shape, int64),
      valuesOf(context, descriptor.strides, int64), at, llvm::ArrayRef<int32_t>(checked),
      descriptor.nanPadding ? tile::Padding::Nan : tile::Padding::Zero, tile::Cache::None, tile::Evict::Normal,
      /*descriptor=*/true);
}

void descriptorStore(Context& context, const Descriptor& descriptor, const Value& offsets, const Value& value,
                     std::optional<tile::Rmw> reduce) {
  checkWritable(context, descriptor.base.type.dtype, "store");
  Type type = blockType(descriptor);
  Tensor stored = toTensor(context, value);
  if (stored.type.shape != type.shape)
    context.fail("shape-mismatch", "descriptor has a block of shape " + shapeText(type.shape) + " but the value is a " +
                                       describe(stored));
  stored = cast(context, stored, type.dtype);
  std::vector<mlir::Value> at = offsetsOf(context, descriptor, offsets);
  std::vector<int32_t> checked = allDimensions(descriptor);
  tile::BlockStoreOp::create(
      context.builder, context.loc(), descriptor.base.value, valuesOf(context, descriptor.shape, int64),
      valuesOf(context, descriptor.strides, int64), at, stored.value, llvm::ArrayRef<int32_t>(checked),
      reduceAttribute(context, reduce, type.dtype), tile::Cache::None, tile::Evict::Normal, /*descriptor=*/true);
}

Value descriptorGather(Context& context, const Descriptor& descriptor, const Value& xOffsets, const Value& yOffset) {
  Rows rows = rowsOf(context, descriptor, xOffsets, yOffset);
  Value outside = descriptor.nanPadding ? Value(std::numeric_limits<double>::quiet_NaN()) : Value(Int(0));
  LoadOptions options;
  options.mask = rows.mask;
  options.other = outside;
  return load(context, rows.pointers, options);
}

void descriptorScatter(Context& context, const Descriptor& descriptor, const Value& value, const Value& xOffsets,
                       const Value& yOffset) {
  Rows rows = rowsOf(context, descriptor, xOffsets, yOffset);
  Tensor stored = toTensor(context, value);
  if (stored.type.shape != rows.pointers.type.shape)
    context.fail("shape-mismatch", "scatter writes a tile of shape " + shapeText(rows.pointers.type.shape) +
                                       " but the value is a " + describe(stored));
  LoadOptions options;
  options.mask = rows.mask;
  store(context, rows.pointers, stored, options);
}

}  // namespace tandem::frontend::semantic
