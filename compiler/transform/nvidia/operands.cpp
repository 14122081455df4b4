// The conditions of wgmma and TMA.
#include "compiler/transform/nvidia/operands.h"
#include "compiler/analysis/axis_info.h"
#include "compiler/analysis/boxes.h"
#include "compiler/analysis/host_expr.h"
#include "compiler/transform/nvidia/tensor_choice.h"
#include <mlir/IR/Matchers.h>

namespace tandem::transform::nvidia {
using namespace mlir;

bool fitsWgmma(tile::DotOp dot, int numWarps, const target::TargetInfo& target) {
  if (!target.hasWgmma() || numWarps % 4) return false;
  auto lhs = cast<RankedTensorType>(dot.getLhs().getType()), rhs = cast<RankedTensorType>(dot.getRhs().getType());
  auto acc = cast<RankedTensorType>(dot.getAcc().getType());
  if (lhs.getRank() != 2 || acc.getDimSize(0) < 64 || acc.getDimSize(1) < 8) return false;
  // wgmma's accumulators cannot be spilled while it runs.
  if (acc.getNumElements() * acc.getElementTypeBitWidth() >= int64_t(32 * 256) * 32 * numWarps) return false;
  // Warpgroups beyond the rows share the columns.
  int64_t groups = numWarps / 4, rowGroups = acc.getDimSize(0) / 64;
  if (rowGroups < groups && acc.getDimSize(1) / (groups / rowGroups) < 8) return false;
  Type in = lhs.getElementType(), out = acc.getElementType();
  if (in != rhs.getElementType() || lhs.getDimSize(1) * in.getIntOrFloatBitWidth() < 256) return false;
  if (in.isF16()) return out.isF32() || out.isF16();
  if (in.isBF16()) return out.isF32();
  if (in.isF32()) return out.isF32() && dot.getPrecision() == tile::Precision::Tf32;
  if (in.isInteger(8)) return out.isInteger(32);
  return isa<Float8E4M3FNType, Float8E5M2Type>(in) && out.isF32();
}

OperandSource throughTranspose(Value operand) {
  auto permute = operand.getDefiningOp<tile::PermuteOp>();
  if (permute && permute.getOrder() == ArrayRef<int32_t>{1, 0}) return {permute.getSource(), true};
  return {operand, false};
}

static bool isMatrix(RankedTensorType type) {
  return type.getRank() >= 2 && llvm::all_of(type.getShape().drop_back(2), [](int64_t n) { return n == 1; });
}

tile::BlockLoadOp blockLoadBehind(Value tile) {
  auto reshape = tile.getDefiningOp<tile::ReshapeOp>();
  auto load = (reshape ? reshape.getSource() : tile).getDefiningOp<tile::BlockLoadOp>();
  if (!load || !reshape) return load;
  auto loaded = cast<RankedTensorType>(load.getResult().getType());
  return isMatrix(loaded) && loaded.getShape().take_back(2) == cast<RankedTensorType>(tile.getType()).getShape()
             ? load
             : nullptr;
}

// K-major operands of any type; others of 16-bit types only.
bool readsFromShared(tile::DotOp dot, bool isLhs, const OperandSource& operand) {
  auto type = cast<RankedTensorType>(operand.source.getType());
  bool kMajor = isLhs != operand.transposed;
  return (kMajor || type.getElementTypeBitWidth() == 16) && analysis::panelSwizzle(type).has_value();
}

template <class Op>
static bool fitsTma(Op op, RankedTensorType type) {
  APInt last;
  if (!isMatrix(type) || !analysis::panelSwizzle(type) || op.getBoundaryCheck().size() != size_t(type.getRank())) return false;
  // A descriptor's last dimension is contiguous whatever its number says.
  return op.getDescriptor() || (matchPattern(op.getStrides().back(), m_ConstantInt(&last)) && last.isOne());
}

bool fitsTma(tile::BlockLoadOp load) {
  auto type = cast<RankedTensorType>(load.getResult().getType());
  if (load.getPadding() != tile::Padding::Zero || !fitsTma(load, type) || !tensorChoice(load)) return false;
  // TMA loads from whole 16 bytes of a row.
  analysis::AxisInfoAnalysis axes(load->getParentOfType<func::FuncOp>());
  return axes.of(load.getOffsets().back()).divisibility(0) % (128 / type.getElementTypeBitWidth()) == 0;
}

bool fitsTma(tile::BlockStoreOp store) {
  auto onHost = [](Value v) { return analysis::hostExpr(v).has_value(); };
  auto type = cast<RankedTensorType>(store.getValue().getType());
  return !store.getReduce() && fitsTma(store, type) && onHost(store.getBase()) &&
         llvm::all_of(store.getShape(), onHost) && llvm::all_of(store.getStrides(), onHost);
}

SmallVector<tgpu::UncertainOffset> uncertainOffsets(tile::BlockStoreOp store, const analysis::AxisInfoAnalysis& axes) {
  SmallVector<tgpu::UncertainOffset> out;
  for (Value offset : store.getOffsets())
    if (!axes.of(offset).nonNegative) out.push_back({offset, 1});
  int64_t multiple = 128 / cast<RankedTensorType>(store.getValue().getType()).getElementTypeBitWidth();
  Value column = store.getOffsets().back();
  if (axes.of(column).divisibility(0) % multiple != 0) out.push_back({column, multiple});
  return out;
}

}  // namespace tandem::transform::nvidia
