// The decisions in their order: rings, their slots, warp roles, what stays under way, units. Each has its own file.
#include "compiler/analysis/zeros.h"
#include "compiler/dialect/tile/attributes.h"
#include "compiler/dialect/tgpu/cluster.h"
#include "compiler/transform/gpu/drop_carried.h"
#include "compiler/transform/nvidia/operands.h"
#include "compiler/transform/nvidia/passes.h"
#include "compiler/transform/nvidia/plan_rings.h"
#include "compiler/transform/nvidia/ring_copies.h"
#include "compiler/transform/nvidia/ring_slots.h"
#include "compiler/transform/nvidia/warp_roles.h"
#include "compiler/transform/nvidia/wgmma_products.h"
#include <mlir/Dialect/Arith/IR/Arith.h>

namespace tandem::transform::nvidia {
using namespace mlir;
using namespace gpu;
#define GEN_PASS_DEF_SELECTPRODUCTS
#include "compiler/transform/nvidia/passes.h.inc"
namespace {

// Returns why the planned rings are given up, or nothing: then a producer fills them.
std::optional<remark::Reason> makeRoles(func::FuncOp kernel, ArrayRef<tile::DotOp> dots, RingPlans& plans,
                                        const target::TargetInfo& target) {
  if (!plans.haveLoop()) return remark::Reason{"the loops behind it load their own tiles otherwise", ""};
  std::optional<Signals> signals = findSignals(kernel.getBody().front());
  if (signals) plans.leaveGathered();  // the signaller is a thread of the group that gathers
  for (remark::Reason whyNot;;) {
    if (!fitSlots(kernel, dots, plans.rings, signals, target))
      return remark::Reason{"shared memory has no room for two slots of the loop's tiles", "smaller tiles"};
    if (tgpu::WarpSpecializeOp roles = addProducer(kernel, plans.rings, whyNot)) {
      if (signals) delegateSignals(roles, *signals);
      return std::nullopt;
    }
    if (!plans.leaveGathered()) return whyNot;
  }
}

void remarkLoads(const RingPlans& plans, int64_t blocks) {
  constexpr remark::Source source{remark::RemarkKind::Load, "select-products"};
  for (const RingPlan& p : plans.rings) {
    std::string into = p.loop ? "into a ring of " + std::to_string(p.slots) + " slots" : "once for the loops behind it";
    for (const CopiedLoad& c : p.gathered)
      remark::passed(c.load, source, "copied by cp.async, by a producer's warpgroup, " + into);
    for (tile::BlockLoadOp load : p.loads) {
      const char* part = isMulticast(load, blocks) ? ", each part by one block for all of the cluster" : "";
      remark::passed(load, source, "copied by TMA, by a producer warp, " + into + part);
    }
  }
  for (const auto& [load, why] : plans.refused)
    if (load->getParentOfType<scf::ForOp>()) remark::missed(load, source, "not copied by TMA", why);
}

// Products of 8-bit floats that mma.sync widens are summed with all bits of the sum, so a kernel that adds them itself gets no more by
// an addition of its own.
void addWidenedToSums(func::FuncOp kernel) {
  SmallVector<tile::DotOp> widened;
  kernel.walk([&](tile::DotOp dot) {
    if (isa<Float8E4M3FNType, Float8E5M2Type>(getElementTypeOrSelf(dot.getLhs())) && analysis::isZero(dot.getAcc()) &&
        dot.getResult().hasOneUse())
      widened.push_back(dot);
  });
  for (tile::DotOp dot : widened) {
    auto sum = dyn_cast<arith::AddFOp>(*dot->user_begin());
    if (!sum || sum->getBlock() != dot->getBlock()) continue;
    dot->moveBefore(sum);
    dot.getAccMutable().assign(sum.getLhs() == dot.getResult() ? sum.getRhs() : sum.getLhs());
    sum.replaceAllUsesWith(dot.getResult());
    sum.erase();
  }
}

struct SelectProducts : impl::SelectProductsBase<SelectProducts> {
  using Base::Base;
  void runOnOperation() override {
    const target::TargetInfo* gpu = targetOf(target);
    if (!gpu) return;
    func::FuncOp kernel = getOperation();
    int numWarps = tile::numWarps(kernel);
    SmallVector<tile::DotOp> dots;
    kernel.walk([&](tile::DotOp dot) {
      if (fitsWgmma(dot, numWarps, *gpu)) dots.push_back(dot);
    });
    RingPlans plans;
    if (gpu->hasTma()) plans = planRings(dots);
    if (auto why = makeRoles(kernel, dots, plans, *gpu)) plans.drop(*why);
    ProductTimings timings = consumeRings(plans.rings, numWarps);
    remarkLoads(plans, tgpu::blocksOf(kernel));
    multiplyByWgmma(kernel, dots, plans.rings, timings);
    if (gpu->emulatesFp8Mma()) addWidenedToSums(kernel);
    if (plans.haveGathered()) dropCarried(kernel);
  }
};

}  // namespace
}  // namespace tandem::transform::nvidia
