// Compares the places of loads and products in the program.
#include "compiler/transform/nvidia/ring_plan.h"
#include "compiler/transform/nvidia/carried_sums.h"
#include "compiler/transform/nvidia/operands.h"

namespace tandem::transform::nvidia {
using namespace mlir;

void RingPlans::drop(const remark::Reason& why) {
  for (const RingPlan& p : rings)
    for (tile::BlockLoadOp load : p.loads) refused[load] = why;
  rings.clear();
}

bool RingPlans::leaveGathered() {
  bool had = haveGathered();
  for (RingPlan& p : rings) p.gathered.clear();
  return had;
}

bool areInTurn(const RingPlan& a, const RingPlan& b) {
  if (a.loop && b.loop) return !isNested(a.loop, b.loop);
  auto endsBefore = [](const RingPlan& first, const RingPlan& second) {
    tile::DotOp product = first.dots.back();
    Operation* next = tile::BlockLoadOp(second.loads.front());
    Operation* last = next->getBlock()->findAncestorOpInBlock(*product);
    return last && last->isBeforeInBlock(next);
  };
  return !a.loop && !b.loop && (endsBefore(a, b) || endsBefore(b, a));
}

void join(RingPlan& into, const RingPlan& other) {
  into.loads.append(other.loads);
  into.bytes += other.bytes;
  for (tile::DotOp dot : other.dots)
    if (!llvm::is_contained(into.dots, dot)) into.dots.push_back(dot);
  llvm::sort(into.dots, [](tile::DotOp a, tile::DotOp b) { return a->isBeforeInBlock(b); });
}

std::optional<SmallVector<unsigned>> placesIn(const RingPlan& owner, const RingPlan& plan) {
  auto areAlike = [](const CopiedLoad& a, const CopiedLoad& b) {
    return a.type() == b.type() && a.swizzle() == b.swizzle();
  };
  if (!llvm::equal(owner.gathered, plan.gathered, areAlike)) return std::nullopt;
  SmallVector<unsigned> places;
  unsigned at = 0;
  for (tile::BlockLoadOp load : plan.loads) {
    auto isAlike = [&](tile::BlockLoadOp other) { return other.getResult().getType() == load.getResult().getType(); };
    while (at < owner.loads.size() && !isAlike(owner.loads[at])) ++at;
    if (at == owner.loads.size()) return std::nullopt;
    places.push_back(at++);
  }
  return places;
}

bool onlyAccumulates(const RingPlan& plan) {
  auto isLoaded = [&](Value operand) {
    Value source = throughTranspose(operand).source;
    return llvm::is_contained(plan.loads, blockLoadBehind(source)) || plan.gathers(source.getDefiningOp());
  };
  return llvm::all_of(plan.dots, [&](tile::DotOp dot) {
    return onlyAdds(dot.getAcc(), dot.getResult(), plan.loop) && isLoaded(dot.getLhs()) && isLoaded(dot.getRhs());
  });
}

bool canStayUnderWay(const RingPlan& plan, ArrayRef<RingPlan> rings) {
  bool isAlone = llvm::all_of(rings, [&](const RingPlan& other) {
    return &other == &plan || (other.loop && !isNested(other.loop, plan.loop));
  });
  return isAlone && onlyAccumulates(plan);
}

}  // namespace tandem::transform::nvidia
