// Follows tokens forwards.
#include "compiler/transform/gpu/waits.h"
#include "compiler/dialect/dist/dist.h"
#include "compiler/dialect/tgpu/tgpu.h"
#include "compiler/transform/gpu/accesses.h"
#include <llvm/ADT/DenseSet.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/IR/Diagnostics.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tandem::transform::gpu {
using namespace mlir;
namespace {

class TokenFlow {
 public:
  bool follow(Value token) {
    push(token);
    while (!todo_.empty())
      for (OpOperand& use : todo_.pop_back_val().getUses())
        if (!pass(use)) return false;
    return true;
  }

  llvm::SetVector<Operation*> accesses;

 private:
  void push(Value value) {
    if (seen_.insert(value).second) todo_.push_back(value);
  }

  bool pass(OpOperand& use) {
    Operation* op = use.getOwner();
    if (isa<scf::YieldOp>(op)) return leave(op->getParentOp(), use.getOperandNumber());
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      if (use.getOperandNumber() < loop.getNumControlOperands()) return false;
      push(loop.getTiedLoopRegionIterArg(&use));
      push(loop.getTiedLoopResult(&use));
      return true;
    }
    if (op->getNumRegions() || op->hasTrait<OpTrait::IsTerminator>()) return false;
    // The values of a load are there after the wait.
    if (!isMemoryEffectFree(op)) return accesses.insert(op), true;
    for (Value result : op->getResults()) push(result);
    return true;
  }

  bool leave(Operation* parent, unsigned index) {
    if (!isa<scf::IfOp, scf::ForOp>(parent)) return false;
    push(parent->getResult(index));
    if (auto loop = dyn_cast<scf::ForOp>(parent)) push(loop.getRegionIterArg(index));
    return true;
  }

  llvm::DenseSet<Value> seen_;
  SmallVector<Value> todo_;
};

// Returns true if an op of the kernel shows that others write the memory of `buffer`.
bool isShared(BlockArgument buffer) {
  auto leadsThere = [&](Value pointer) {
    SmallVector<BlockArgument> behind;
    addArgumentsBehind(pointer, behind);
    return llvm::is_contained(behind, buffer);
  };
  return cast<func::FuncOp>(buffer.getOwner()->getParentOp())
      .walk([&](Operation* op) {
        bool says = false;
        if (auto consume = dyn_cast<dist::ConsumeTokenOp>(op))
          says = isa<tile::PtrType>(getElementTypeOrSelf(consume.getType())) && leadsThere(consume.getValue());
        else if (auto at = dyn_cast<dist::SymmAtOp>(op))
          says = leadsThere(at.getPointer());
        else if (std::optional<tile::Concurrency> does = tile::concurrencyOf(op))
          says = llvm::any_of(does->accesses, [&](const tile::MemoryAccess& access) {
            bool ofData = access.memory == tile::Memory::Peer && access.writes && !access.strong;
            return ofData && leadsThere(access.address);
          });
        return says ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

}  // namespace

bool isWait(Operation* op) {
  std::optional<tile::Concurrency> does = tile::concurrencyOf(op);
  return does && does->waits;
}

bool ordersAll(Operation* op) {
  auto wait = dyn_cast<dist::WaitOp>(op);
  if (!wait) return true;
  return wait.getToken().use_empty() && wait.getSem() != tile::Semantic::Relaxed;
}

bool mayPrecede(Operation* op, Operation* access) {
  auto roles = access->getParentOfType<tgpu::WarpSpecializeOp>();
  Block& body = roles ? roles.getConsumer().front() : access->getParentOfType<func::FuncOp>().getBody().front();
  Operation *first = body.findAncestorOpInBlock(*op), *second = body.findAncestorOpInBlock(*access);
  return first && second && !second->isBeforeInBlock(first);
}

bool mayWaitForOthers(func::FuncOp kernel, const llvm::SetVector<Operation*>& harmless) {
  auto waits = [&](Operation* op) {
    if (harmless.contains(op)) return false;
    std::optional<tile::Concurrency> does = tile::concurrencyOf(op);
    if (!does) return isa<scf::WhileOp>(op);
    auto mayLook = [](const tile::MemoryAccess& access) { return access.strong || !access.address; };
    return does->waits || does->meetsOthers || llvm::any_of(does->accesses, mayLook);
  };
  return kernel.walk([&](Operation* op) { return waits(op) ? WalkResult::interrupt() : WalkResult::advance(); })
      .wasInterrupted();
}

std::optional<llvm::SetVector<Operation*>> reachedBy(Value token) {
  TokenFlow flow;
  if (!flow.follow(token)) return std::nullopt;
  return std::move(flow.accesses);
}

void warnOfOvertaking(Operation* load, ArrayRef<BlockArgument> bases, Operation* wait) {
  if (llvm::none_of(bases, isShared)) return;
  InFlightDiagnostic warning =
      emitWarning(load->getLoc(), "this load may start before the wait, because the wait's token does not reach it");
  warning.attachNote(wait->getLoc())
      << "the wait is here; `dl.consume_token(x, token)` on the load's pointer or descriptor orders them";
}

}  // namespace tandem::transform::gpu
