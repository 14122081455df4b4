// Looks at operands and sizes.
#include "compiler/transform/nvidia/joined_products.h"
#include "compiler/analysis/boxes.h"
#include "compiler/transform/nvidia/operands.h"

namespace tandem::transform::nvidia {
using namespace mlir;
namespace {

// Returns true if the right operand lies with K innermost, in one panel that no other product reads.
bool hasOwnPanel(tile::DotOp dot, ArrayRef<tile::DotOp> all) {
  OperandSource source = throughTranspose(dot.getRhs());
  auto type = cast<RankedTensorType>(source.source.getType());
  int readers = llvm::count_if(all, [&](tile::DotOp other) {
    return throughTranspose(other.getRhs()).source == source.source ||
           throughTranspose(other.getLhs()).source == source.source;
  });
  int64_t rowBytes = type.getDimSize(1) * type.getElementTypeBitWidth() / 8;
  return source.transposed && readers == 1 && rowBytes == analysis::panelBytes(*analysis::panelSwizzle(type));
}

}  // namespace

bool canJoin(tile::DotOp before, tile::DotOp dot, ArrayRef<tile::DotOp> all, int numWarps) {
  auto type = cast<RankedTensorType>(dot.getType());
  bool dividesRows = numWarps / target::kWgmma.warps <= type.getDimSize(0) / target::kWgmma.rows;
  return before.getLhs() == dot.getLhs() && dividesRows && type.getElementType().isF32() && hasOwnPanel(before, all) &&
         hasOwnPanel(dot, all);
}

}  // namespace tandem::transform::nvidia
