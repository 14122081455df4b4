// Looks at who reads each load; at most ops come in that nobody uses yet.
#include "compiler/transform/nvidia/plan_rings.h"
#include "compiler/analysis/zeros.h"
#include "compiler/dialect/tgpu/cluster.h"
#include "compiler/dialect/tile/attributes.h"
#include "compiler/transform/gpu/thread_dependence.h"
#include "compiler/transform/nvidia/carried_sums.h"
#include "compiler/transform/nvidia/copied_loads.h"
#include "compiler/transform/nvidia/operands.h"
#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tandem::transform::nvidia {
using namespace mlir;
using namespace gpu;
namespace {

constexpr int64_t kFewestStages = 2, kWidestCopy = 16;

using Readers = llvm::MapVector<Operation*, SmallVector<tile::DotOp>>;

// Returns the products that read each load that TMA can bring to where wgmma reads it.
Readers readersOf(ArrayRef<tile::DotOp> dots, RingPlans& plans) {
  Readers readers;
  auto add = [&](tile::BlockLoadOp load, tile::DotOp dot) {  // once, though both its operands may be of the load
    auto& of = readers[load];
    if (!llvm::is_contained(of, dot)) of.push_back(dot);
  };
  for (tile::DotOp dot : dots)
    for (bool isLhs : {true, false}) {
      OperandSource operand = throughTranspose(isLhs ? dot.getLhs() : dot.getRhs());
      tile::BlockLoadOp load = blockLoadBehind(operand.source);
      if (!load) continue;
      if (std::optional<remark::Reason> why = whyNotTma(load))
        plans.refused[load] = *why;
      else if (readsFromShared(dot, isLhs, operand))
        add(load, dot);
      else
        plans.refused[load] = {"wgmma reads rows of 8 and 32 bits only along K",
                               "the operand with K last, or 16-bit elements"};
    }
  return readers;
}

// The loops in the load's block, each with some of the products in its body or in loops there.
bool inLoopsBehind(tile::BlockLoadOp load, ArrayRef<tile::DotOp> dots) {
  auto isInLoop = [&](tile::DotOp dot) {
    Operation* parent = dot->getParentOp();
    while (isa<scf::ForOp>(parent) && parent->getBlock() != load->getBlock()) parent = parent->getParentOp();
    return isa<scf::ForOp>(parent);
  };
  auto rounds = dyn_cast<scf::WhileOp>(load->getParentOp());
  bool isRun =
      isa<func::FuncOp, scf::ForOp>(load->getParentOp()) || (rounds && load->getBlock() == rounds.getAfterBody());
  return isRun && llvm::all_of(dots, isInLoop);
}

// Loads of one block that the same products read share a ring.
void addLoad(tile::BlockLoadOp load, ArrayRef<tile::DotOp> dots, RingPlans& plans) {
  bool inLoop = isa<scf::ForOp>(load->getParentOp()) &&
                llvm::all_of(dots, [&](tile::DotOp dot) { return dot->getBlock() == load->getBlock(); });
  if (!onlyProductsRead(load, dots) || !(inLoop || inLoopsBehind(load, dots))) {
    plans.refused[load] = {"not only products of one loop read it", "a load of its own for what else reads it"};
    return;
  }
  RingPlan* plan = nullptr;
  for (RingPlan& p : plans.rings)
    if (p.loads.front()->getBlock() == load->getBlock() && p.dots == dots) plan = &p;
  if (!plan) {
    plan = &plans.rings.emplace_back();
    if (inLoop) plan->loop = cast<scf::ForOp>(load->getParentOp());
    plan->dots.assign(dots.begin(), dots.end());
  }
  plan->loads.push_back(load);
  plan->bytes += bytesOf(cast<RankedTensorType>(load.getResult().getType()));
}

// Returns true if the product adds to what the loop carries and nothing else, or to nothing.
bool isSum(tile::DotOp dot, scf::ForOp loop) {
  return onlyAdds(dot.getAcc(), dot.getResult(), loop) || analysis::isZero(dot.getAcc());
}

// Returns true if the loop's products, each a sum of its own or added to one that the loop carries, are of what the
// producer brings and of tiles that threads can copy 16 bytes at a time, to slots of their own.
bool isCopiedBeside(scf::ForOp loop, ArrayRef<RingPlan> rings) {
  auto kernel = loop->getParentOfType<func::FuncOp>();
  if (tgpu::blocksOf(kernel) > 1 || tile::numStages(loop).value_or(kFewestStages) < kFewestStages ||
      tile::numStages(kernel).value_or(kFewestStages) < kFewestStages || isDivergent(loop.getBody()->getTerminator()))
    return false;
  SmallVector<tile::BlockLoadOp> blocks;
  llvm::SetVector<tile::DotOp> dots;
  for (const RingPlan& p : rings) {
    if (p.loop != loop) continue;
    blocks.append(p.loads);
    dots.insert_range(p.dots);
  }
  Reasons reasons;
  CopiedLoads copied = chooseLoads(loop, reasons);
  return llvm::all_of(dots, [&](tile::DotOp dot) {
    auto isReady = [&](bool isLhs) {
      OperandSource operand = throughTranspose(isLhs ? dot.getLhs() : dot.getRhs());
      if (llvm::is_contained(blocks, blockLoadBehind(operand.source))) return true;
      auto load = operand.source.getDefiningOp<tile::LoadOp>();
      return load && onlyProductsRead(load, dots.getArrayRef()) && readsFromShared(dot, isLhs, operand) &&
             llvm::any_of(copied.loads, [&](const CopiedLoad& c) {
               return c.load == load && c.bytesAtOnce() == kWidestCopy && c.swizzle() != layout::Swizzle::None &&
                      !c.fillsIn();
             });
    };
    return isSum(dot, loop) && isReady(true) && isReady(false);
  });
}

// The threads of a block copy all that a loop reads if they copy some of it otherwise.
void refuseTilesOfThreads(RingPlans& plans) {
  llvm::DenseSet<Operation*> beside;
  for (const RingPlan& p : plans.rings)
    if (p.loop && llvm::any_of(p.dots, readsTileOfThreads) && isCopiedBeside(p.loop, plans.rings))
      beside.insert(p.loop);
  llvm::erase_if(plans.rings, [&](const RingPlan& p) {
    if (!p.loop || llvm::none_of(p.dots, readsTileOfThreads) || beside.contains(p.loop)) return false;
    for (auto load : p.loads)
      plans.refused[load] = {"threads load the other operand of its product, or what they compute it from",
                             "a descriptor for that operand as it is"};
    return true;
  });
}

// Returns true if the products are sums of one kind, of what the ring holds and of what threads copy.
bool sumsBeside(const RingPlan& plan) {
  auto isThere = [&](Value operand) {
    Value source = throughTranspose(operand).source;
    return llvm::is_contained(plan.loads, blockLoadBehind(source)) || source.getDefiningOp<tile::LoadOp>();
  };
  auto beginsAtZero = [](tile::DotOp dot) { return analysis::isZero(dot.getAcc()); };
  return llvm::all_of(plan.dots, [&](tile::DotOp dot) {
    return isSum(dot, plan.loop) && beginsAtZero(dot) == beginsAtZero(plan.dots.front()) && isThere(dot.getLhs()) &&
           isThere(dot.getRhs());
  });
}

// Sums of one loop whose products share operands, which a ring or threads bring: one ring for all that they read. If all
// add to what the loop carries, those of an iteration stay under way.
void joinRings(SmallVectorImpl<RingPlan>& rings) {
  auto share = [](const RingPlan& a, const RingPlan& b) {
    return a.loop && a.loop == b.loop && llvm::any_of(a.dots, [&](tile::DotOp dot) {
             return llvm::any_of(b.dots,
                                 [&](tile::DotOp other) { return dot == other || dot.getLhs() == other.getLhs(); });
           });
  };
  for (size_t i = 0; i < rings.size(); ++i) {
    RingPlan joined = rings[i];
    llvm::SmallDenseSet<size_t> members{i};
    for (size_t j = i + 1; j < rings.size(); ++j) {
      if (members.contains(j) || !share(joined, rings[j])) continue;
      join(joined, rings[j]);
      members.insert(j);
      j = i;
    }
    if (members.size() == 1 || !sumsBeside(joined)) continue;
    size_t at = 0;
    llvm::erase_if(rings, [&](const RingPlan&) { return members.contains(at++); });
    rings.insert(rings.begin() + i, joined);
  }
}

// Tiles that products of a loop with one ring read through pointers are copied into that ring's slots, beside its blocks.
void gather(RingPlan& plan, ArrayRef<RingPlan> rings) {
  bool isAlone = llvm::count_if(rings, [&](const RingPlan& p) { return p.loop == plan.loop; }) == 1;
  if (!plan.loop || !isAlone || !sumsBeside(plan) || !isCopiedBeside(plan.loop, rings)) return;
  Reasons reasons;
  CopiedLoads copied = chooseLoads(plan.loop, reasons);
  llvm::SetVector<Operation*> read;
  for (tile::DotOp dot : plan.dots)
    for (Value operand : {dot.getLhs(), dot.getRhs()})
      if (auto load = throughTranspose(operand).source.getDefiningOp<tile::LoadOp>()) read.insert(load);
  for (const CopiedLoad& c : copied.loads)
    if (read.contains(c.load) && !c.end) plan.gathered.push_back(c);
  if (plan.gathered.size() != read.size()) plan.gathered.clear();
}

// Loops one after the other, or in two branches, fill the same slots in turn, if the later one's tiles have the types of
// the other's, or of some of these: then the rest of a slot stays as it is. Producer and consumers go through the slots
// in the program's order, so it does not matter which loop a slot was filled for.
void chooseOwner(size_t index, MutableArrayRef<RingPlan> rings) {
  RingPlan& plan = rings[index];
  plan.owner = index;
  plan.places = *placesIn(plan, plan);
  for (size_t i = 0; i < index; ++i) {
    if (rings[i].owner != int(i)) continue;
    auto places = placesIn(rings[i], plan);
    bool isTaken =
        llvm::any_of(rings, [&](const RingPlan& p) { return &p != &plan && p.owner == int(i) && !areInTurn(p, plan); });
    if (!places || isTaken) continue;
    plan.owner = i;
    plan.places = *places;
    return;
  }
}

}  // namespace

RingPlans planRings(ArrayRef<tile::DotOp> dots) {
  RingPlans plans;
  for (auto& [load, readers] : readersOf(dots, plans)) addLoad(cast<tile::BlockLoadOp>(load), readers, plans);
  refuseTilesOfThreads(plans);
  joinRings(plans.rings);
  for (RingPlan& p : plans.rings) gather(p, plans.rings);
  // The slot is acquired before the program's first load and committed behind its last.
  for (RingPlan& p : plans.rings)
    llvm::sort(p.loads, [](tile::BlockLoadOp a, tile::BlockLoadOp b) { return a->isBeforeInBlock(b); });
  for (size_t i = 0; i < plans.rings.size(); ++i) chooseOwner(i, plans.rings);
  return plans;
}

}  // namespace tandem::transform::nvidia
