// Integers come from constants, ranges, the numbers of programs and ranks, and from casts between their widths.
#include "compiler/analysis/axis_transfer.h"
#include "compiler/dialect/dist/dist.h"
#include "compiler/dialect/simt/simt.h"
#include "compiler/dialect/tgpu/tgpu.h"
#include "compiler/dialect/tile/tile.h"
#include <llvm/ADT/TypeSwitch.h>
#include <mlir/Dialect/Arith/IR/Arith.h>

namespace tandem::analysis {
using namespace mlir;

using Info = std::optional<AxisInfo>;

static Info integerConstant(arith::ConstantOp op) {
  std::optional<APInt> value;
  if (auto integer = dyn_cast<IntegerAttr>(op.getValue())) value = integer.getValue();
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  if (elements && elements.isSplat()) value = elements.getSplatValue<APInt>();
  if (!value || value->getBitWidth() > 64) return unknownInfo(op.getType());
  return constantInfo(op.getType(), value->getSExtValue());
}

static Info range(tile::MakeRangeOp op) {
  AxisInfo info = unknownInfo(op.getType());
  info.dims[0] = {powerOfTwoIn(cast<ShapedType>(op.getType()).getDimSize(0)), powerOfTwoIn(op.getStart()), 1};
  info.nonNegative = int32_t(op.getStart()) >= 0;
  return info;
}

static Info someNumber(Operation* op) {
  AxisInfo info = unknownInfo(op->getResult(0).getType());
  info.nonNegative = true;
  return info;
}

// Only runs that begin at a multiple of their length, and have half of the values of the narrower type at most, surely do
// not wrap around in it, signed or not.
static AxisInfo withRunsInside(AxisInfo info, unsigned width) {
  int64_t half = int64_t(1) << (std::min(width, 63u) - 1);
  for (DimInfo& dim : info.dims) dim = withRuns(dim, std::min({dim.contiguity, dim.divisibility, half}), 1);
  info.nonNegative = false;
  return info;
}

static Info truncated(Operation* op, const AxisInfo& source) {
  Type type = op->getResult(0).getType();
  if (source.constant)
    return constantInfo(type,
                        APInt(64, *source.constant, true).trunc(std::min(64u, integerWidth(type))).getSExtValue());
  return withRunsInside(source, integerWidth(type));
}

static Info zeroExtended(arith::ExtUIOp op, const AxisInfo& source) {
  unsigned width = integerWidth(op.getIn().getType());
  if (source.constant && width <= 64)
    return constantInfo(op.getType(), APInt(64, *source.constant, true).trunc(width).zext(64).getSExtValue());
  AxisInfo info = source.nonNegative ? source : withRunsInside(source, width);
  info.nonNegative = integerWidth(op.getType()) > width;
  return info;
}

// Indices have 64 bits here; a cast from one to an integer may narrow.
static Info indexCast(arith::IndexCastOp op, const AxisInfo& source) {
  return isa<IndexType>(getElementTypeOrSelf(op.getIn().getType())) ? truncated(op, source) : source;
}

Info sourceInfo(Operation* op, Lookup of) {
  return llvm::TypeSwitch<Operation*, Info>(op)
      .Case<arith::ConstantOp>([](auto o) { return integerConstant(o); })
      .Case<tile::MakeRangeOp>([](auto o) { return range(o); })
      .Case<tile::ProgramIdOp, tile::NumProgramsOp, dist::RankOp, dist::NumRanksOp, simt::TidOp, tgpu::BlockRankOp>(
          [](auto o) { return someNumber(o); })
      .Case<arith::ExtSIOp>([&](auto o) { return of(o.getIn()); })
      .Case<arith::ExtUIOp>([&](auto o) { return zeroExtended(o, of(o.getIn())); })
      .Case<arith::TruncIOp>([&](auto o) { return truncated(o, of(o.getIn())); })
      .Case<arith::IndexCastOp>([&](auto o) { return indexCast(o, of(o.getIn())); })
      .Default([](Operation*) { return Info(); });
}

}  // namespace tandem::analysis
