// A critical section loads a flag, then in a branch the partial sums that it adds to: one way to memory after the other.
#include "compiler/dialect/tile/attributes.h"
#include "compiler/transform/gpu/passes.h"
#include <llvm/ADT/SetVector.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tandem::transform::gpu {
using namespace mlir;
#define GEN_PASS_DEF_LOADBEFOREBRANCH
#include "compiler/transform/gpu/passes.h.inc"
namespace {

// A thread has this many registers for what it may have loaded in vain.
constexpr int64_t kMostBytes = 256;

int64_t bytesOfThread(tile::LoadOp load) {
  constexpr int64_t kWarp = 32;
  auto type = dyn_cast<RankedTensorType>(load.getType());
  if (!type) return 0;
  int64_t threads = kWarp * tile::numWarps(load->getParentOfType<func::FuncOp>());
  return type.getNumElements() * type.getElementTypeBitWidth() / 8 / threads;
}

// Returns true if `value` waits for memory in the block of `branch`.
bool isLoaded(Value value, scf::IfOp branch) {
  llvm::SetVector<Value> needed;
  needed.insert(value);
  for (size_t i = 0; i < needed.size(); ++i) {
    Operation* op = needed[i].getDefiningOp();
    if (!op || op->getBlock() != branch->getBlock() || isa<RankedTensorType>(needed[i].getType())) continue;
    if (auto load = dyn_cast<tile::LoadOp>(op); load && !load.getIsVolatile()) return true;
    if (isMemoryEffectFree(op) && !op->getNumRegions()) needed.insert_range(op->getOperands());
  }
  return false;
}

struct Touched {
  Value pointer, mask;
};

std::optional<Touched> touchedBy(Operation* op) {
  if (auto load = dyn_cast<tile::LoadOp>(op)) return Touched{load.getPointer(), load.getMask()};
  if (auto store = dyn_cast<tile::StoreOp>(op)) return Touched{store.getPointer(), store.getMask()};
  return std::nullopt;
}

// Returns true if an access beside the branch touches all that the load reads, whichever way the branch goes.
bool isTouchedAnyway(tile::LoadOp load, scf::IfOp branch) {
  return llvm::any_of(load.getPointer().getUsers(), [&](Operation* user) {
    std::optional<Touched> touched = user->getBlock() == branch->getBlock() ? touchedBy(user) : std::nullopt;
    return touched && touched->pointer == load.getPointer() && (!touched->mask || touched->mask == load.getMask());
  });
}

bool areOutside(ValueRange values, scf::IfOp branch) {
  return llvm::none_of(values, [&](Value v) { return branch->isAncestor(v.getParentBlock()->getParentOp()); });
}

// The loads that begin a branch: nothing that others see, or that orders accesses, comes before them.
void moveLoads(Block& block, scf::IfOp branch, int64_t& bytes) {
  for (Operation& op : llvm::make_early_inc_range(block)) {
    auto load = dyn_cast<tile::LoadOp>(op);
    if (load && !load.getIsVolatile() && areOutside(load->getOperands(), branch) && isTouchedAnyway(load, branch) &&
        bytes + bytesOfThread(load) <= kMostBytes) {
      bytes += bytesOfThread(load);
      load->moveBefore(branch);
    } else if (!load && !isMemoryEffectFree(&op)) {
      return;
    }
  }
}

struct LoadBeforeBranch : impl::LoadBeforeBranchBase<LoadBeforeBranch> {
  using Base::Base;
  void runOnOperation() override {
    getOperation().walk([](scf::IfOp branch) {
      if (!isLoaded(branch.getCondition(), branch)) return;
      int64_t bytes = 0;
      for (Region& region : branch->getRegions())
        if (!region.empty()) moveLoads(region.front(), branch, bytes);
    });
  }
};

}  // namespace
}  // namespace tandem::transform::gpu
