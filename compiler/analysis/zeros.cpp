// Zeros are found through ops that spread or convert a constant.
#include "compiler/analysis/zeros.h"
#include "compiler/dialect/tile/tile.h"
#include <mlir/IR/BuiltinAttributes.h>
#include <mlir/IR/Matchers.h>

namespace tandem::analysis {
using namespace mlir;

bool isZero(Value value) {
  Operation* op = value.getDefiningOp();
  if (!op) return false;
  if (isa<tile::SplatOp, tile::BroadcastOp, tile::FpToFpOp>(op)) return isZero(op->getOperand(0));
  Attribute constant;
  if (!matchPattern(value, m_Constant(&constant))) return false;
  if (auto elements = dyn_cast<DenseElementsAttr>(constant)) {
    if (!elements.isSplat()) return false;
    constant = elements.getSplatValue<Attribute>();
  }
  if (auto number = dyn_cast<FloatAttr>(constant)) return number.getValue().isPosZero();
  auto number = dyn_cast<IntegerAttr>(constant);
  return number && number.getValue().isZero();
}

}  // namespace tandem::analysis
