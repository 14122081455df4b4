// One remark for each product: its unit, its instruction, where its operands are; and why it has no quicker unit.
#include "compiler/dialect/tile/attributes.h"
#include "compiler/transform/nvidia/product_remarks.h"
#include "compiler/layout/matrix_descriptor.h"
#include "compiler/transform/nvidia/product_layouts.h"
#include "compiler/transform/nvidia/operands.h"
#include <llvm/Support/FormatVariadic.h>
#include <mlir/Dialect/SCF/IR/SCF.h>

namespace tandem::transform::nvidia {
using namespace mlir;
namespace {

constexpr remark::Source kRemarks{remark::RemarkKind::Product, "assign-layouts"};

std::string sourceOf(Value operand, Value ring) {
  if (isa<RankedTensorType>(operand.getType())) return "registers";
  if (!ring) return "a buffer that threads store to in between";
  return ring.getDefiningOp<tgpu::CopyRingOp>() ? "a ring that cp.async fills" : "a ring that TMA fills";
}

// Returns true if the loop around the product waits for it before its next iteration begins.
bool isAwaited(tgpu::WgmmaOp product) {
  if (!isa<scf::ForOp>(product->getParentOp())) return false;
  for (Operation* op = product->getNextNode(); op; op = op->getNextNode())
    if (auto wait = dyn_cast<tgpu::WgmmaWaitOp>(op); wait && wait.getPending() == 0) return true;
  return false;
}

void remarkWgmma(tgpu::WgmmaOp product, int numWarps) {
  auto type = cast<RankedTensorType>(product.getType());
  Type element = cast<tile::SmemType>(product.getRhs().getType()).getElementType();
  std::string text =
      llvm::formatv("wgmma m{0}n{1}k{2} of {3}, {4} sums; left operand from {5}, right one from {6}",
                    target::kWgmma.rows, wgmmaColumns(type, numWarps),
                    layout::instructionK(element.getIntOrFloatBitWidth()), element, type.getElementType(),
                    sourceOf(product.getLhs(), product.getLhsRing()), sourceOf(product.getRhs(), product.getRhsRing()));
  if (product.getJoinsPrevious()) text += "; one instruction does it and the product before it";
  if (isAwaited(product)) text += "; waited for in its own iteration";
  remark::passed(product, kRemarks, text);
}

void remarkDot(tile::DotOp dot, int numWarps, const target::TargetInfo& target) {
  Type element = getElementTypeOrSelf(dot.getLhs().getType());
  if (std::optional<remark::Reason> why = whyNotMma(dot, target))
    return remark::missed(dot, kRemarks, "multiply-adds of the threads, not tensor cores", *why);
  bool isWidened = isa<Float8E4M3FNType, Float8E5M2Type>(element) && target.emulatesFp8Mma();
  int64_t depth = layout::instructionK(isWidened ? 16 : target::mmaSyncBits(element.getIntOrFloatBitWidth()));
  std::string text =
      llvm::formatv("mma.sync m{0}n{1}k{2} of {3}{4}, {5} sums", target::kMmaSync.rows, target::kMmaSync.leastColumns,
                    depth, isWidened ? "f16 made of " : "", element, getElementTypeOrSelf(dot.getType()));
  std::optional<remark::Reason> why = whyNotWgmma(dot, numWarps, target);
  if (why && target.hasWgmma()) return remark::missed(dot, kRemarks, text + ", not wgmma", *why);
  remark::passed(dot, kRemarks, text);
}

}  // namespace

void remarkProducts(func::FuncOp kernel, const target::TargetInfo& target) {
  int numWarps = tile::numWarps(kernel);
  kernel.walk([&](Operation* op) {
    if (auto product = dyn_cast<tgpu::WgmmaOp>(op)) remarkWgmma(product, numWarps);
    if (auto dot = dyn_cast<tile::DotOp>(op)) remarkDot(dot, numWarps, target);
  });
}

}  // namespace tandem::transform::nvidia
