// Events of rings are put around the products that read them.
#include "compiler/transform/nvidia/consumer.h"
#include "compiler/analysis/zeros.h"
#include "compiler/dialect/tgpu/tgpu.h"
#include "compiler/target/nvidia_units.h"
#include "compiler/transform/nvidia/carried_sums.h"
#include "compiler/transform/nvidia/joined_products.h"
#include <mlir/Dialect/Arith/IR/Arith.h>

namespace tandem::transform::nvidia {
using namespace mlir;
namespace {

// Returns the number of products that an iteration starts if each that can be part of the one before is.
int startedTogether(const RingPlan& plan, int numWarps, ProductTimings& timings) {
  int started = 0;
  int64_t columns = 0;
  tile::DotOp before;
  for (tile::DotOp dot : plan.dots) {
    int64_t own = cast<RankedTensorType>(dot.getType()).getDimSize(1);
    bool joins = before && columns + own <= target::kWgmma.mostColumns && canJoin(before, dot, plan.dots, numWarps);
    if (joins && timings[before].beginsAtZero == timings[dot].beginsAtZero) {
      timings[dot].joinsPrevious = true;
      columns += own;
    } else {
      ++started;
      columns = own;
    }
    before = dot;
  }
  return started;
}

// Returns true if the products only add to what the loop carries, which is zero at first for all of them or for none.
bool beginAlike(const RingPlan& plan) {
  scf::ForOp loop = plan.loop;
  auto isSum = [&](tile::DotOp dot) { return onlyAdds(dot.getAcc(), dot.getResult(), loop); };
  auto isZero = [&](tile::DotOp dot) { return analysis::isZero(loop.getInitArgs()[carriedIndex(dot.getAcc(), loop)]); };
  return llvm::all_of(plan.dots, isSum) &&
         llvm::all_of(plan.dots, [&](tile::DotOp dot) { return isZero(dot) == isZero(plan.dots.front()); });
}

// An iteration releases the slot of the one before, whose products are done when its own have started.
void overlapIterations(const RingPlan& plan, int numWarps, OpBuilder& builder, ProductTimings& timings) {
  scf::ForOp loop = plan.loop;
  tile::DotOp last = plan.dots.back();
  for (tile::DotOp dot : plan.dots) {
    timings[dot].pending = std::nullopt;
    timings[dot].beginsAtZero = analysis::isZero(loop.getInitArgs()[carriedIndex(dot.getAcc(), loop)]);
  }
  timings[last].pending = startedTogether(plan, numWarps, timings);
  Value later = arith::CmpIOp::create(builder, last.getLoc(), arith::CmpIPredicate::ne, loop.getInductionVar(),
                                      loop.getLowerBound());
  auto branch = scf::IfOp::create(builder, last.getLoc(), later, false);
  OpBuilder then(branch.thenYield());
  tgpu::ReleaseOp::create(then, last.getLoc(), plan.ring);
  OpBuilder end = awaitSums(
      loop, llvm::map_to_vector(plan.dots, [&](tile::DotOp dot) { return carriedIndex(dot.getAcc(), loop); }));
  tgpu::ReleaseOp::create(end, last.getLoc(), plan.ring);
}

void consumeInLoop(const RingPlan& plan, ArrayRef<RingPlan> rings, int numWarps, ProductTimings& timings) {
  tile::DotOp first = plan.dots.front(), last = plan.dots.back();
  OpBuilder builder(first);
  tgpu::AwaitOp::create(builder, first.getLoc(), plan.ring);
  builder.setInsertionPointAfter(last);
  bool overlaps = canStayUnderWay(plan, rings);
  tgpu::AdvanceOp::create(builder, last.getLoc(), plan.ring);
  if (overlaps) return overlapIterations(plan, numWarps, builder, timings);
  tgpu::ReleaseOp::create(builder, last.getLoc(), plan.ring);
  if (beginAlike(plan)) startedTogether(plan, numWarps, timings);
}

// The slot is read until the last loop with one of the products ends.
void consumeOnce(const RingPlan& plan) {
  tile::BlockLoadOp load = plan.loads.back();
  tile::DotOp product = plan.dots.back();
  Operation* last = load->getBlock()->findAncestorOpInBlock(*product);
  OpBuilder builder(load);
  tgpu::AwaitOp::create(builder, load.getLoc(), plan.ring);
  builder.setInsertionPointAfter(last);
  tgpu::AdvanceOp::create(builder, last->getLoc(), plan.ring);
  tgpu::ReleaseOp::create(builder, last->getLoc(), plan.ring);
}

}  // namespace

ProductTimings consumeRings(ArrayRef<RingPlan> rings, int numWarps) {
  ProductTimings timings;
  for (const RingPlan& plan : rings)
    if (plan.loop)
      consumeInLoop(plan, rings, numWarps, timings);
    else
      consumeOnce(plan);
  return timings;
}

}  // namespace tandem::transform::nvidia
