// The text and the rules of the types `!tile.ptr<f16>` and `!tile.smem<4x32xf16>`.
#include "compiler/dialect/tile/tile.h"

using namespace mlir;

// Far above any target's shared memory; keeps sizes in bytes small numbers.
static constexpr int64_t kMostElements = 1 << 24;

Type tandem::tile::SmemType::parse(AsmParser& parser) {
  SmallVector<int64_t> shape;
  Type elementType;
  SMLoc start = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseDimensionList(shape, /*allowDynamic=*/false) || parser.parseType(elementType) ||
      parser.parseGreater())
    return {};
  return parser.getChecked<SmemType>(start, parser.getContext(), ArrayRef<int64_t>(shape), elementType);
}

void tandem::tile::SmemType::print(AsmPrinter& printer) const {
  printer << "<";
  printer.printDimensionList(getShape());
  if (!getShape().empty()) printer << "x";
  printer << getElementType() << ">";
}

LogicalResult tandem::tile::SmemType::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> shape,
                                             Type elementType) {
  if (shape.empty()) return emitError() << "`!tile.smem` has no dimensions";
  int64_t elementCount = 1;
  for (int64_t size : shape) {
    if (size < 1) return emitError() << "`!tile.smem` has a dimension of size " << size;
    if (size > kMostElements / elementCount)
      return emitError() << "`!tile.smem` has more than " << kMostElements << " elements";
    elementCount *= size;
  }
  if (!elementType.isIntOrFloat() && !isa<PtrType>(elementType))
    return emitError() << "`!tile.smem` has elements of type " << elementType << ", not a number or a pointer";
  return success();
}

LogicalResult tandem::tile::PtrType::verify(function_ref<InFlightDiagnostic()> emitError, Type pointee) {
  if (pointee.isIntOrFloat() || isa<PtrType>(pointee)) return success();
  return emitError() << "`!tile.ptr` points to " << pointee << ", not to a number or a pointer";
}
