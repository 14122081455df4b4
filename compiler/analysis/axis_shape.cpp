// Ops that move elements to other places of a tile.
#include "compiler/analysis/axis_transfer.h"
#include "compiler/dialect/tgpu/tgpu.h"
#include "compiler/dialect/tile/tile.h"
#include <llvm/ADT/TypeSwitch.h>

namespace tandem::analysis {
using namespace mlir;

namespace {

// `source`'s claims that hold whatever the dimension, for a result of rank `type`.
AxisInfo elementsOf(const AxisInfo& source, Type type) {
  AxisInfo info = unknownInfo(type);
  int64_t divisibility = 1;
  for (const DimInfo& dim : source.dims) divisibility = std::max(divisibility, startDivisibility(dim, 1, unitOf(type)));
  for (DimInfo& dim : info.dims) dim.divisibility = divisibility;
  info.constant = source.constant;
  info.nonNegative = source.nonNegative;
  return info;
}

AxisInfo splat(tile::SplatOp op, const AxisInfo& source) {
  AxisInfo info = elementsOf(source, op.getType());
  auto shape = cast<ShapedType>(op.getType()).getShape();
  for (auto [dim, size] : llvm::zip(info.dims, shape)) dim.constancy = powerOfTwoIn(size);
  return info;
}

AxisInfo expandDims(tile::ExpandDimsOp op, const AxisInfo& source) {
  AxisInfo info = elementsOf(source, op.getType());
  auto axis = op.getAxis();
  for (unsigned from = 0; from < source.rank() && from + 1 < info.rank(); ++from)
    info.dims[from < axis ? from : from + 1] = source.dims[from];
  return info;
}

AxisInfo broadcast(tile::BroadcastOp op, const AxisInfo& source) {
  AxisInfo info = source;
  auto from = cast<ShapedType>(op.getSource().getType()).getShape(), to = cast<ShapedType>(op.getType()).getShape();
  for (auto [number, dim] : llvm::enumerate(info.dims))
    if (number < to.size() && from[number] != to[number]) dim.constancy = powerOfTwoIn(to[number]);
  return info;
}

AxisInfo permute(tile::PermuteOp op, const AxisInfo& source) {
  AxisInfo info = source;
  for (auto [to, from] : llvm::enumerate(op.getOrder())) info.dims[to] = source.dims[from];
  return info;
}

// Elements that follow each other along `dim` are this far apart in row-major order.
int64_t rowMajorStep(ArrayRef<int64_t> shape, size_t dim) {
  int64_t step = 1;
  for (int64_t size : shape.drop_front(dim + 1)) step *= size;
  return step;
}

// Equal values from `dim` outward: a dimension constant from end to end lets the next one go on.
int64_t constancyFrom(const AxisInfo& source, ArrayRef<int64_t> shape, size_t dim) {
  int64_t run = source.dims[dim].constancy;
  for (; dim > 0 && source.dims[dim].constancy == shape[dim]; --dim)
    run = timesPowers(run, source.dims[dim - 1].constancy);
  return run;
}

AxisInfo reshape(tile::ReshapeOp op, const AxisInfo& source) {
  AxisInfo info = elementsOf(source, op.getType());
  auto from = cast<ShapedType>(op.getSource().getType()).getShape(), to = cast<ShapedType>(op.getType()).getShape();
  if (op.getReorder()) return info;
  for (size_t result = 0; result < to.size(); ++result)
    for (size_t dim = 0; dim < from.size(); ++dim) {
      if (from[dim] == 1 || rowMajorStep(from, dim) != rowMajorStep(to, result)) continue;
      int64_t run = std::min(source.dims[dim].contiguity, powerOfTwoIn(to[result]));
      info.dims[result] = withRuns(source.dims[dim], run, unitOf(op.getType()));
      info.dims[result].constancy = constancyFrom(source, from, dim);
    }
  return info;
}

AxisInfo join(tile::JoinOp op, const AxisInfo& l, const AxisInfo& r) {
  Type from = op.getLhs().getType(), to = op.getType();
  AxisInfo either = joined(l, r, from), info = elementsOf(either, to);
  if (!isa<ShapedType>(from)) return info;
  for (unsigned dim = 0; dim < either.rank() && dim + 1 < info.rank(); ++dim) info.dims[dim] = either.dims[dim];
  return info;
}

AxisInfo split(tile::SplitOp op, const AxisInfo& source) {
  AxisInfo info = elementsOf(source, op.getLhs().getType());
  if (!isa<ShapedType>(op.getLhs().getType())) return info;
  for (unsigned dim = 0; dim < info.rank() && dim + 1 < source.rank(); ++dim) info.dims[dim] = source.dims[dim];
  return info;
}

}  // namespace

std::optional<AxisInfo> shapeInfo(Operation* op, Lookup of) {
  using Info = std::optional<AxisInfo>;
  return llvm::TypeSwitch<Operation*, Info>(op)
      .Case<tile::SplatOp>([&](auto o) { return splat(o, of(o.getSource())); })
      .Case<tile::ExpandDimsOp>([&](auto o) { return expandDims(o, of(o.getSource())); })
      .Case<tile::BroadcastOp>([&](auto o) { return broadcast(o, of(o.getSource())); })
      .Case<tile::PermuteOp>([&](auto o) { return permute(o, of(o.getSource())); })
      .Case<tile::ReshapeOp>([&](auto o) { return reshape(o, of(o.getSource())); })
      .Case<tile::JoinOp>([&](auto o) { return join(o, of(o.getLhs()), of(o.getRhs())); })
      .Case<tgpu::ConvertLayoutOp>([&](auto o) { return of(o.getSource()); })
      .Case<tile::SplitOp>([&](auto o) { return split(o, of(o.getSource())); })
      .Default([](Operation*) { return Info(); });
}

}  // namespace tandem::analysis
