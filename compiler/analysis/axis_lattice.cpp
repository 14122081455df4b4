// Weaker claims, either of two, the type's own limits.
#include "compiler/analysis/axis_lattice.h"
#include "compiler/dialect/tile/tile.h"

namespace tandem::analysis {
using namespace mlir;

int64_t powerOfTwoIn(int64_t value) {
  if (value == 0) return kDividesAll;
  return std::min<uint64_t>(kDividesAll, uint64_t(value) & -uint64_t(value));
}

int64_t timesPowers(int64_t a, int64_t b) { return a > kDividesAll / b ? kDividesAll : a * b; }

bool isTracked(Type type) {
  if (auto shaped = dyn_cast<ShapedType>(type))
    if (!isa<RankedTensorType>(type) || !shaped.hasStaticShape()) return false;
  return isa<IntegerType, IndexType, tile::PtrType>(getElementTypeOrSelf(type));
}

int64_t pointeeBytes(Type pointerOrTile) {
  auto pointer = cast<tile::PtrType>(getElementTypeOrSelf(pointerOrTile));
  Type pointee = pointer.getPointee();
  return pointee.isIntOrFloat() ? std::max(1u, pointee.getIntOrFloatBitWidth() / 8) : 8;
}

int64_t unitOf(Type type) {
  return isa<tile::PtrType>(getElementTypeOrSelf(type)) ? powerOfTwoIn(pointeeBytes(type)) : 1;
}

AxisInfo unknownInfo(Type type) {
  AxisInfo info;
  if (auto shaped = dyn_cast<ShapedType>(type); shaped && shaped.hasRank() && shaped.getRank() > 0)
    info.dims.assign(shaped.getRank(), DimInfo{});
  return info;
}

AxisInfo constantInfo(Type type, int64_t value) {
  AxisInfo info = unknownInfo(type);
  info.constant = value;
  return settled(std::move(info), type);
}

int64_t startDivisibility(const DimInfo& dim, int64_t run, int64_t unit) {
  return run >= dim.contiguity ? dim.divisibility : std::min(dim.divisibility, timesPowers(run, unit));
}

DimInfo withRuns(const DimInfo& dim, int64_t run, int64_t unit) {
  return {run, startDivisibility(dim, run, unit), dim.constancy};
}

AxisInfo joined(const AxisInfo& a, const AxisInfo& b, Type type) {
  AxisInfo info = unknownInfo(type);
  int64_t unit = unitOf(type);
  for (auto [dim, x, y] : llvm::zip_equal(info.dims, a.dims, b.dims)) {
    int64_t run = std::min(x.contiguity, y.contiguity);
    int64_t divisibility = std::min(startDivisibility(x, run, unit), startDivisibility(y, run, unit));
    dim = {run, divisibility, std::min(x.constancy, y.constancy)};
  }
  if (a.constant == b.constant) info.constant = a.constant;
  info.nonNegative = a.nonNegative && b.nonNegative;
  return settled(std::move(info), type);
}

static int64_t sizeOf(Type type, unsigned dim) {
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped && shaped.hasRank() && int64_t(dim) < shaped.getRank() ? std::max<int64_t>(1, shaped.getDimSize(dim))
                                                                       : 1;
}

AxisInfo settled(AxisInfo info, Type type) {
  int64_t unit = unitOf(type), everyElement = 1;
  if (info.constant) {
    everyElement = powerOfTwoIn(*info.constant);
    info.nonNegative = *info.constant >= 0;
  }
  for (auto [number, dim] : llvm::enumerate(info.dims)) {
    int64_t longest = powerOfTwoIn(sizeOf(type, number));
    if (info.constant) dim = {1, everyElement, longest};
    dim = withRuns(dim, std::min(dim.contiguity, longest), unit);
    dim.constancy = std::min(dim.constancy, longest);
    everyElement = std::max(everyElement, startDivisibility(dim, 1, unit));
  }
  for (DimInfo& dim : info.dims) dim.divisibility = std::max(dim.divisibility, everyElement);
  return info;
}

}  // namespace tandem::analysis
