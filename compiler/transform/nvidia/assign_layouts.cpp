// The layouts that wgmma, mma.sync and TMA want.
#include "compiler/analysis/boxes.h"
#include "compiler/dialect/tgpu/attributes.h"
#include "compiler/dialect/tgpu/tgpu.h"
#include "compiler/layout/shape.h"
#include "compiler/transform/gpu/units.h"
#include "compiler/transform/nvidia/conversion_remarks.h"
#include "compiler/transform/nvidia/operands.h"
#include "compiler/transform/nvidia/passes.h"
#include "compiler/transform/nvidia/product_layouts.h"
#include "compiler/transform/nvidia/product_remarks.h"

namespace tandem::transform::nvidia {
using namespace mlir;
using layout::Dim;
using layout::LinearLayout;
#define GEN_PASS_DEF_ASSIGNLAYOUTS
#include "compiler/transform/nvidia/passes.h.inc"
namespace {

RankedTensorType typeOf(Value tile) { return cast<RankedTensorType>(tile.getType()); }

// Four warps share a panel; registers and further warps number the panels.
bool panelsInRegisters(const LinearLayout& layout, ArrayRef<int64_t> panel) {
  auto inside = [&](uint64_t basis) {
    SmallVector<int64_t> at = layout.coordinates(basis);
    return at[0] < panel[0] && at[1] < panel[1];
  };
  auto outside = [&](uint64_t basis) {
    SmallVector<int64_t> at = layout.coordinates(basis);
    return basis && at[0] % panel[0] == 0 && at[1] % panel[1] == 0;
  };
  ArrayRef<uint64_t> warps = layout.bases(layout::Dim::Warp);
  return llvm::all_of(layout.bases(layout::Dim::Lane), inside) && llvm::all_of(warps.take_front(2), inside) &&
         llvm::all_of(warps.drop_front(std::min<size_t>(2, warps.size())), outside);
}

class NvidiaUnits : public gpu::Units {
 public:
  explicit NvidiaUnits(const target::TargetInfo& target) : Units(target.warpSize()), target_(target) {}

  std::optional<Anchors> anchorsOf(Operation* op, int numWarps) const override {
    Anchors anchors;
    if (auto o = dyn_cast<tgpu::WgmmaOp>(op)) {
      anchors.result = wgmmaResult(typeOf(o.getResult()), numWarps);
      if (isa<RankedTensorType>(o.getLhs().getType()))
        anchors.operands.emplace_back(&o.getLhsMutable(), wgmmaLhs(typeOf(o.getLhs()), numWarps));
    } else if (auto o = dyn_cast<tgpu::WarpAnyOp>(op)) {
      anchors.operands.emplace_back(&o.getConditionMutable(), wgmmaResult(typeOf(o.getCondition()), numWarps));
    } else if (auto o = dyn_cast<tile::DotOp>(op)) {
      DotPlan plan = planDot(o, numWarps, target_);
      if (!plan.mma) return std::nullopt;
      tgpu::setUsesMma(o);
      anchors.result = plan.result;
      anchors.operands.emplace_back(&o.getLhsMutable(), plan.lhs);
      anchors.operands.emplace_back(&o.getRhsMutable(), plan.rhs);
    } else {
      return std::nullopt;
    }
    return anchors;
  }

  // A tile that goes to shared memory in pieces: registers number these.
  std::optional<LinearLayout> required(OpOperand& operand, llvm::function_ref<const LinearLayout&()> layout,
                                       int numWarps) const override {
    auto stage = dyn_cast<tgpu::StageOp>(operand.getOwner());
    if (!stage || cast<tile::SmemType>(stage.getBuffer().getType()).getShape().size() < 2) return std::nullopt;
    int64_t width = cast<tile::SmemType>(stage.getBuffer().getType()).getShape()[1];
    const LinearLayout& have = layout();
    auto isInside = [&](uint64_t basis) { return have.coordinates(basis)[1] < width; };
    if (llvm::all_of(have.bases(Dim::Lane), isInside) && llvm::all_of(have.bases(Dim::Warp), isInside))
      return std::nullopt;
    return wgmmaResult(typeOf(stage.getValue()), numWarps);
  }

  // Maps that the kernel makes are for programs with roles, whose loads have taken the time to make theirs.
  bool mayStore(tile::BlockStoreOp op) const override {
    return target_.hasTma() && fitsTma(op) && (isMapOnHost(op) || op->getParentOfType<tgpu::WarpSpecializeOp>());
  }

  // A store by TMA goes panel by panel.
  bool takeStore(tile::BlockStoreOp op, const LinearLayout& layout,
                 const analysis::AxisInfoAnalysis& axes) const override {
    RankedTensorType matrix = analysis::matrixOf(typeOf(op.getValue()));
    if (!panelsInRegisters(layout::inferReshape(layout, matrix.getShape()), analysis::tmaStoreBox(matrix)))
      return false;
    tgpu::setBulk(op, uncertainOffsets(op, axes));
    return true;
  }

 private:
  const target::TargetInfo& target_;
};

struct AssignLayouts : impl::AssignLayoutsBase<AssignLayouts> {
  using Base::Base;
  void runOnOperation() override {
    const target::TargetInfo* gpu = targetOf(target);
    if (!gpu) return;
    remarkProducts(getOperation(), *gpu);
    if (failed(gpu::assignLayouts(getOperation(), NvidiaUnits(*gpu)))) return signalPassFailure();
    remarkConversions(getOperation(), *gpu);
  }
};

}  // namespace
}  // namespace tandem::transform::nvidia
