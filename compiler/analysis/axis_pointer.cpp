// Addresses: their divisibility counts bytes, their runs count elements. What is read through equal ones is equal.
#include "compiler/analysis/axis_transfer.h"
#include "compiler/dialect/dist/dist.h"
#include "compiler/dialect/tile/tile.h"
#include <llvm/ADT/TypeSwitch.h>

namespace tandem::analysis {
using namespace mlir;

// Every rank's symmetric heap, and its multicast view, begins at a multiple of this.
constexpr int64_t kHeapAlignment = 256;

static AxisInfo addPointer(tile::AddPtrOp op, const AxisInfo& pointer, const AxisInfo& offset) {
  int64_t unit = unitOf(op.getType());
  return eachDim(pointer, offset, false, [&](const DimInfo& p, const DimInfo& o) {
    int64_t run = std::max(std::min(p.contiguity, o.constancy), std::min(p.constancy, o.contiguity));
    int64_t bytes = timesPowers(startDivisibility(o, run), unit);
    return DimInfo{run, std::min(startDivisibility(p, run, unit), bytes), std::min(p.constancy, o.constancy)};
  });
}

// The same numbers seen with another distance between consecutive elements.
static AxisInfo reread(const AxisInfo& source, Type from, Type to, bool sameStep) {
  AxisInfo info = source;
  for (DimInfo& dim : info.dims) dim = withRuns(dim, sameStep ? dim.contiguity : 1, unitOf(from));
  bool isPointer = isa<tile::PtrType>(getElementTypeOrSelf(to));
  if (isPointer) info.constant.reset();
  info.nonNegative = !isPointer && source.nonNegative;
  return info;
}

static AxisInfo bitcast(tile::BitcastOp op, const AxisInfo& source) {
  Type from = op.getSource().getType(), to = op.getType();
  bool fromPointer = isa<tile::PtrType>(getElementTypeOrSelf(from)),
       toPointer = isa<tile::PtrType>(getElementTypeOrSelf(to));
  if (fromPointer != toPointer || !isTracked(from)) return unknownInfo(to);
  return reread(source, from, to, !fromPointer || pointeeBytes(from) == pointeeBytes(to));
}

static AxisInfo onOtherRank(const AxisInfo& pointer) {
  AxisInfo info = pointer;
  for (DimInfo& dim : info.dims) dim.divisibility = std::min(dim.divisibility, kHeapAlignment);
  return info;
}

// Reads of one place by one op give one value, unless the kernel says that the value may change meanwhile.
static AxisInfo loaded(tile::LoadOp op, Lookup of) {
  AxisInfo info = unknownInfo(op.getType());
  if (op.getIsVolatile()) return info;
  for (auto [number, dim] : llvm::enumerate(info.dims)) {
    dim.constancy = of(op.getPointer()).constancy(number);
    for (Value value : {op.getMask(), op.getOther()})
      if (value) dim.constancy = std::min(dim.constancy, of(value).constancy(number));
  }
  return info;
}

std::optional<AxisInfo> pointerInfo(Operation* op, Lookup of) {
  using Info = std::optional<AxisInfo>;
  return llvm::TypeSwitch<Operation*, Info>(op)
      .Case<tile::AddPtrOp>([&](auto o) { return addPointer(o, of(o.getPointer()), of(o.getOffset())); })
      .Case<tile::BitcastOp>([&](auto o) { return bitcast(o, of(o.getSource())); })
      .Case<tile::IntToPtrOp>([&](auto o) {
        return reread(of(o.getSource()), o.getSource().getType(), o.getType(), pointeeBytes(o.getType()) == 1);
      })
      .Case<tile::PtrToIntOp>([&](auto o) {
        return reread(of(o.getSource()), o.getSource().getType(), o.getType(),
                      pointeeBytes(o.getSource().getType()) == 1);
      })
      .Case<tile::LoadOp>([&](auto o) { return loaded(o, of); })
      .Case<dist::SymmAtOp, dist::MulticastAtOp>([&](auto o) { return onOtherRank(of(o.getPointer())); })
      .Case<dist::ConsumeTokenOp, dist::ArrivingOp, dist::LeavingOp, dist::OrderedOp, dist::DividedOp, dist::DealtOp,
            dist::SpreadOp>([&](auto o) { return of(o.getValue()); })
      .Default([](Operation*) { return Info(); });
}

}  // namespace tandem::analysis
