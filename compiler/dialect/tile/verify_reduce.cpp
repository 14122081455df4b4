// Verifiers of the ops that hold a region of scalars: reduce, scan, map_elementwise.
#include "compiler/dialect/tile/type_rules.h"

using namespace mlir;

namespace tandem::tile {

static LogicalResult verifySources(Operation* op, ValueRange sources) {
  if (sources.empty()) return fault(op) << "has no sources";
  for (Value source : sources)
    if (!sameShape(source.getType(), sources[0].getType()))
      return fault(op) << "has sources of shape " << shapeText(shapeOf(sources[0].getType())) << " and "
                       << shapeText(shapeOf(source.getType()));
  return success();
}

static LogicalResult verifyTypes(Operation* op, TypeRange seen, TypeRange expected, StringRef what) {
  if (seen.size() != expected.size())
    return fault(op) << "region " << what << " " << seen.size() << " values, not " << expected.size();
  for (auto [index, pair] : llvm::enumerate(llvm::zip(seen, expected)))
    if (std::get<0>(pair) != std::get<1>(pair))
      return fault(op) << "region " << what << " " << std::get<0>(pair) << " at position " << index << ", not "
                       << std::get<1>(pair);
  return success();
}

static LogicalResult verifyRegion(Operation* op, Region& region, TypeRange arguments, TypeRange yields) {
  Block& block = region.front();
  auto yield = block.empty() ? YieldOp() : dyn_cast<YieldOp>(block.back());
  if (!yield) return fault(op) << "region does not end in `tile.yield`";
  if (failed(verifyTypes(op, block.getArgumentTypes(), arguments, "takes"))) return failure();
  return verifyTypes(op, yield.getOperandTypes(), yields, "yields");
}

static SmallVector<Type> repeatEach(TypeRange types, int64_t count) {
  SmallVector<Type> repeated;
  for (Type type : types) repeated.append(count, getElementTypeOrSelf(type));
  return repeated;
}

/// The region of a reduction or a scan: two rows of elements in, one out.
static LogicalResult verifyCombine(Operation* op, Region& region, ValueRange sources) {
  SmallVector<Type> row = repeatEach(sources.getTypes(), 1), rows(row);
  rows.append(row);
  return verifyRegion(op, region, rows, row);
}

static LogicalResult verifyResults(Operation* op, TypeRange results, TypeRange expected) {
  if (results.size() != expected.size())
    return fault(op) << "has " << expected.size() << " sources but " << results.size() << " results";
  for (auto [result, type] : llvm::zip(results, expected))
    if (result != type) return fault(op) << "result has type " << result << " but its source gives " << type;
  return success();
}

LogicalResult ReduceOp::verify() {
  if (failed(verifySources(*this, getSources()))) return failure();
  SmallVector<int64_t> shape(shapeOf(getSources()[0].getType()));
  if (failed(verifyAxis(*this, getAxis(), shape.size()))) return failure();
  shape.erase(shape.begin() + getAxis());
  SmallVector<Type> expected;
  for (Value source : getSources()) expected.push_back(tileOrScalar(shape, getElementTypeOrSelf(source)));
  if (failed(verifyResults(*this, getResultTypes(), expected))) return failure();
  return verifyCombine(*this, getCombine(), getSources());
}

LogicalResult ScanOp::verify() {
  if (failed(verifySources(*this, getSources())) ||
      failed(verifyAxis(*this, getAxis(), shapeOf(getSources()[0].getType()).size())) ||
      failed(verifyResults(*this, getResultTypes(), getSources().getTypes())))
    return failure();
  return verifyCombine(*this, getCombine(), getSources());
}

LogicalResult MapElementwiseOp::verify() {
  if (failed(verifySources(*this, getSources()))) return failure();
  auto first = cast<RankedTensorType>(getSources()[0].getType());
  int32_t pack = getPack();
  if (pack < 1 || first.getNumElements() % pack != 0)
    return fault(*this) << "cannot pack " << first.getNumElements() << " elements by " << pack;
  for (Type result : getResultTypes())
    if (!sameShape(result, first))
      return fault(*this) << "has a source of shape " << shapeText(first.getShape()) << " and a result of shape "
                          << shapeText(shapeOf(result));
  return verifyRegion(*this, getBody(), repeatEach(getSources().getTypes(), pack), repeatEach(getResultTypes(), pack));
}

}  // namespace tandem::tile
