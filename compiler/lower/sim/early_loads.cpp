// This file follows a load's operands, and the conditions under which it runs, back to the waits.
#include "compiler/lower/sim/early_loads.h"
#include "compiler/dialect/dist/dist.h"
#include "compiler/dialect/tile/tile.h"
#include <llvm/ADT/DenseSet.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <set>

namespace tandem::lower {
using namespace mlir;
namespace {

// The ops that something is computed from.
class Origins {
 public:
  explicit Origins(Operation* of) {
    need(of);
    while (!todo_.empty()) {
      Value value = todo_.pop_back_val();
      if (auto argument = dyn_cast<BlockArgument>(value))
        needArgument(argument);
      else
        needResult(cast<OpResult>(value));
    }
  }
  bool contain(Operation* op) const { return ops_.contains(op); }

 private:
  void push(ValueRange values) {
    for (Value v : values)
      if (seen_.insert(v).second) todo_.push_back(v);
  }

  void need(Operation* op) {
    if (!ops_.insert(op).second) return;
    push(isa<scf::ForOp>(op) ? op->getOperands().take_front(3) : op->getOperands());
    if (isa<scf::IfOp, scf::ForOp, func::FuncOp>(op) || op->getNumRegions() == 0) return needParent(op);
    for (Region& region : op->getRegions())
      for (Block& block : region) push(block.getTerminator()->getOperands());
    needParent(op);
  }
  void needParent(Operation* op) {
    if (Operation* parent = op->getParentOp(); parent && !isa<func::FuncOp>(parent)) need(parent);
  }

  void needResult(OpResult result) {
    Operation* op = result.getOwner();
    need(op);
    if (auto loop = dyn_cast<scf::ForOp>(op)) needCarried(loop, result.getResultNumber());
    if (auto branch = dyn_cast<scf::IfOp>(op))
      push({branch.thenYield().getOperand(result.getResultNumber()),
            branch.elseYield().getOperand(result.getResultNumber())});
  }
  void needArgument(BlockArgument argument) {
    Operation* parent = argument.getOwner()->getParentOp();
    if (isa<func::FuncOp>(parent)) return;
    need(parent);
    if (auto loop = dyn_cast<scf::ForOp>(parent); loop && argument.getArgNumber() > 0)
      needCarried(loop, argument.getArgNumber() - 1);
  }
  void needCarried(scf::ForOp loop, unsigned index) {
    push({loop.getInitArgs()[index], loop.getYieldedValues()[index]});
  }

  llvm::DenseSet<Operation*> ops_;
  llvm::DenseSet<Value> seen_;
  SmallVector<Value> todo_;
};

// Returns true if the tile goes into products of the load's own loop, or of loops behind the load, and nowhere else.
bool onlyProductsRead(Operation* load, Operation* tile) {
  return !tile->use_empty() && llvm::all_of(tile->getUsers(), [&](Operation* user) {
    if (isa<tile::PermuteOp, tile::ReshapeOp>(user)) return onlyProductsRead(load, user);
    if (!isa<tile::DotOp>(user)) return false;
    auto loop = dyn_cast<scf::ForOp>(user->getParentOp());
    return loop && (load->getParentOp() == loop || loop->getBlock() == load->getBlock());
  });
}

bool isOfProducts(Operation* op) {
  auto load = dyn_cast<tile::LoadOp>(op);
  if (!(load && !load.getIsVolatile()) && !isa<tile::BlockLoadOp>(op)) return false;
  return isa<RankedTensorType>(op->getResult(0).getType()) && onlyProductsRead(op, op);
}

// A wait whose token goes somewhere orders the loads of products that it reaches; any other orders all.
bool ordersByToken(dist::WaitOp wait) {
  return !wait.getToken().use_empty() && wait.getSem() != tile::Semantic::Relaxed;
}

}  // namespace

std::vector<interpreter::EarlyLoad> findEarlyLoads(func::FuncOp kernel, Locations& locations) {
  SmallVector<dist::WaitOp> waits;
  kernel.walk([&](dist::WaitOp wait) { waits.push_back(wait); });
  if (llvm::none_of(waits, ordersByToken)) return {};
  // Copies of one line, of an unrolled loop, share its location: an order for one of them is taken for all.
  std::map<uint32_t, std::set<uint32_t>> ordered;
  kernel.walk([&](Operation* op) {
    if (!isOfProducts(op)) return;
    std::set<uint32_t>& before = ordered[locations.indexOf(op->getLoc())];
    Origins origins(op);
    for (dist::WaitOp wait : waits)
      if (!ordersByToken(wait) || origins.contain(wait)) before.insert(locations.indexOf(wait.getLoc()));
  });
  std::vector<interpreter::EarlyLoad> loads;
  for (auto& [location, before] : ordered) {
    std::set<uint32_t> overtaken;
    for (dist::WaitOp wait : waits)
      if (uint32_t at = locations.indexOf(wait.getLoc()); !before.contains(at)) overtaken.insert(at);
    if (!overtaken.empty()) loads.push_back({location, {overtaken.begin(), overtaken.end()}});
  }
  return loads;
}

}  // namespace tandem::lower
