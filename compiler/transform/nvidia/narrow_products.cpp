// Looks through forms of operands for the conversion that made them wide.
#include "compiler/dialect/tile/tile.h"
#include "compiler/target/nvidia_units.h"
#include "compiler/transform/nvidia/passes.h"
#include "compiler/transform/nvidia/products_in_parts.h"
#include "compiler/transform/nvidia/scaled_products.h"
#include <mlir/IR/IRMapping.h>

namespace tandem::transform::nvidia {
using namespace mlir;
#define GEN_PASS_DEF_NARROWPRODUCTS
#include "compiler/transform/nvidia/passes.h.inc"
namespace {

// A tile of 16-bit floats, and the ops that make a float32 operand of it: the conversion last, other forms before it.
struct Widened {
  SmallVector<Operation*> forms;
  Value source;  // null: the operand is none
};

Widened widened(Value operand) {
  Widened out;
  for (Operation* op = operand.getDefiningOp(); op; op = op->getOperand(0).getDefiningOp()) {
    out.forms.push_back(op);
    if (isa<tile::PermuteOp, tile::ReshapeOp>(op)) continue;
    auto conversion = dyn_cast<tile::FpToFpOp>(op);
    if (conversion && getElementTypeOrSelf(conversion.getSource().getType()).getIntOrFloatBitWidth() == 16)
      out.source = conversion.getSource();
    break;
  }
  return out;
}

// The operand without its conversion.
Value narrow(const Widened& operand, OpBuilder& builder) {
  Value value = operand.source;
  for (Operation* form : llvm::drop_begin(llvm::reverse(operand.forms))) {
    IRMapping mapping;
    mapping.map(form->getOperand(0), value);
    Operation* copy = builder.clone(*form, mapping);
    auto type = cast<RankedTensorType>(form->getResult(0).getType());
    copy->getResult(0).setType(type.clone(getElementTypeOrSelf(value.getType())));
    value = copy->getResult(0);
  }
  return value;
}

bool narrowOperands(tile::DotOp dot) {
  auto lhsType = cast<RankedTensorType>(dot.getLhs().getType());
  if (!lhsType.getElementType().isF32() || dot.getPrecision() == tile::Precision::Ieee ||
      lhsType.getShape().back() < target::kMmaSync.depth(16))
    return false;
  Widened lhs = widened(dot.getLhs()), rhs = widened(dot.getRhs());
  if (!lhs.source || !rhs.source ||
      getElementTypeOrSelf(lhs.source.getType()) != getElementTypeOrSelf(rhs.source.getType()))
    return false;
  OpBuilder builder(dot);
  dot.getLhsMutable().assign(narrow(lhs, builder));
  dot.getRhsMutable().assign(narrow(rhs, builder));
  return true;
}

struct NarrowProducts : impl::NarrowProductsBase<NarrowProducts> {
  void runOnOperation() override {
    bool changed = multiplyDecoded(getOperation());
    getOperation().walk([&](tile::DotOp dot) { changed |= narrowOperands(dot); });
    changed |= multiplyInParts(getOperation());
    cleanUp(changed);
  }
};

}  // namespace
}  // namespace tandem::transform::nvidia
