// Accesses are loads and stores; any other effect may be a meeting with other programs.
#include "compiler/transform/gpu/accesses.h"
#include "compiler/dialect/tile/tile.h"
#include <llvm/ADT/DenseSet.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tandem::transform::gpu {
using namespace mlir;
namespace {

// What an op does to memory, if it is a plain access.
struct Effect {
  Value pointer;
  bool writes = false;
};

std::optional<Effect> effectOf(Operation* op) {
  if (auto o = dyn_cast<tile::LoadOp>(op); o && !o.getIsVolatile()) return Effect{o.getPointer(), false};
  if (auto o = dyn_cast<tile::StoreOp>(op)) return Effect{o.getPointer(), true};
  if (auto o = dyn_cast<tile::BlockLoadOp>(op)) return Effect{o.getBase(), false};
  if (auto o = dyn_cast<tile::BlockStoreOp>(op)) return Effect{o.getBase(), true};
  return std::nullopt;
}

// Control flow is walked into; checks and promises touch no memory of the program's.
bool isHarmless(Operation* op) {
  return isa<scf::ForOp, scf::IfOp, scf::WhileOp, func::ReturnOp, tile::AssumeOp, tile::AssertOp, tile::PrintOp>(op) ||
         isMemoryEffectFree(op);
}

Operation* outermost(Operation* op, Block& body) { return body.findAncestorOpInBlock(*op); }

class Origin {
 public:
  // False when some pointer comes from elsewhere, or from two arguments.
  bool collect(Value pointer) {
    if (!seen_.insert(pointer).second) return true;
    if (auto argument = dyn_cast<BlockArgument>(pointer)) return collectArgument(argument);
    Operation* op = pointer.getDefiningOp();
    if (isa<tile::AddPtrOp, tile::BitcastOp, tile::SplatOp, tile::BroadcastOp, tile::ExpandDimsOp, tile::ReshapeOp,
            tile::PermuteOp>(op))
      return collect(op->getOperand(0));
    if (auto loop = dyn_cast<scf::ForOp>(op)) return collectCarried(loop, cast<OpResult>(pointer).getResultNumber());
    return false;
  }

  BlockArgument argument;

 private:
  bool collectArgument(BlockArgument from) {
    Operation* parent = from.getOwner()->getParentOp();
    if (auto loop = dyn_cast<scf::ForOp>(parent))
      return from.getArgNumber() > 0 && collectCarried(loop, from.getArgNumber() - 1);
    if (!isa<func::FuncOp>(parent) || (argument && argument != from)) return false;
    argument = from;
    return true;
  }

  bool collectCarried(scf::ForOp loop, unsigned index) {
    return collect(loop.getInitArgs()[index]) && collect(loop.getYieldedValues()[index]);
  }

  llvm::DenseSet<Value> seen_;
};

// Calls `isFine` for each op of the kernel around `op`, until one is not.
bool all(Operation* op, llvm::function_ref<bool(Operation*)> isFine) {
  auto kernel = op->getParentOfType<func::FuncOp>();
  return !kernel
              .walk([&](Operation* other) {
                return other == kernel || isFine(other) ? WalkResult::advance() : WalkResult::interrupt();
              })
              .wasInterrupted();
}

}  // namespace

BlockArgument argumentBehind(Value pointer) {
  Origin origin;
  return origin.collect(pointer) ? origin.argument : BlockArgument();
}

bool mayRunAhead(Operation* load, BlockArgument base) {
  Block& body = load->getParentOfType<func::FuncOp>().getBody().front();
  Operation* nest = outermost(load, body);
  return all(load, [&](Operation* op) {
    if (isHarmless(op) || nest->isBeforeInBlock(outermost(op, body))) return true;
    std::optional<Effect> effect = effectOf(op);
    if (!effect) return false;
    if (!effect->writes) return true;
    BlockArgument written = argumentBehind(effect->pointer);
    return written && written != base;
  });
}

bool isOnlyAccess(Operation* store, BlockArgument base) {
  return all(store, [&](Operation* op) {
    if (op == store || isHarmless(op)) return true;
    std::optional<Effect> effect = effectOf(op);
    if (!effect) return false;
    BlockArgument accessed = argumentBehind(effect->pointer);
    return accessed && accessed != base;
  });
}

}  // namespace tandem::transform::gpu
