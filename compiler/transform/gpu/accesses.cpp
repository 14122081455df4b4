// Accesses are loads and stores; any other effect may be a meeting with other programs.
#include "compiler/transform/gpu/accesses.h"
#include "compiler/dialect/dist/dist.h"
#include "compiler/dialect/simt/simt.h"
#include "compiler/dialect/tgpu/tgpu.h"
#include "compiler/dialect/tile/tile.h"
#include "compiler/transform/gpu/waits.h"
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/SetVector.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tandem::transform::gpu {
using namespace mlir;
namespace {

// The effect of an op on memory that others see, if it is one access by which the program learns nothing of others.
struct Effect {
  Value pointer;
  bool writes = false;
};

std::optional<Effect> effectOf(const tile::Concurrency& does) {
  if (does.waits || does.meetsOthers) return std::nullopt;
  std::optional<Effect> only;
  for (const tile::MemoryAccess& access : does.accesses) {
    if (access.memory == tile::Memory::Shared) continue;
    if (only || !access.address || access.reads == access.writes || (access.reads && access.strong))
      return std::nullopt;
    only = Effect{access.address, access.writes};
  }
  return only;
}

std::optional<Effect> effectOf(Operation* op) {
  std::optional<tile::Concurrency> does = tile::concurrencyOf(op);
  return does ? effectOf(*does) : std::nullopt;
}

// An update whose old value nobody looks at has seen nothing of others.
bool isBlind(Operation* op) { return op->getNumResults() && op->use_empty(); }

// Control flow is walked into.
bool isHarmless(Operation* op) {
  if (isa<scf::ForOp, scf::IfOp, scf::WhileOp, func::ReturnOp>(op) || isMemoryEffectFree(op)) return true;
  std::optional<tile::Concurrency> does = tile::concurrencyOf(op);
  return does && tile::isPrivate(*does);
}

class Origin {
 public:
  // False when some pointer comes from elsewhere.
  bool collect(Value pointer) {
    if (!seen_.insert(pointer).second) return true;
    if (auto argument = dyn_cast<BlockArgument>(pointer)) return collectArgument(argument);
    Operation* op = pointer.getDefiningOp();
    if (op->hasTrait<tile::DerivesPointer>()) return collect(op->getOperand(0));
    unsigned index = cast<OpResult>(pointer).getResultNumber();
    if (auto loop = dyn_cast<scf::ForOp>(op)) return collectCarried(loop, index);
    if (auto select = dyn_cast<arith::SelectOp>(op)) return collectBoth(select.getTrueValue(), select.getFalseValue());
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return collectBoth(branch.thenYield().getOperand(index), branch.elseYield().getOperand(index));
    return false;
  }

  llvm::SetVector<BlockArgument> arguments;

 private:
  bool collectArgument(BlockArgument from) {
    Operation* parent = from.getOwner()->getParentOp();
    if (auto loop = dyn_cast<scf::ForOp>(parent))
      return from.getArgNumber() > 0 && collectCarried(loop, from.getArgNumber() - 1);
    if (!isa<func::FuncOp>(parent)) return false;
    arguments.insert(from);
    return true;
  }

  bool collectCarried(scf::ForOp loop, unsigned index) {
    return collectBoth(loop.getInitArgs()[index], loop.getYieldedValues()[index]);
  }

  // Collects both, and returns true if both are known.
  bool collectBoth(Value one, Value other) {
    bool known = collect(one);
    return collect(other) && known;
  }

  llvm::DenseSet<Value> seen_;
};

// Calls `isFine` for each op inside of `around` until one is not, and returns that one, else null.
Operation* firstNot(Operation* around, llvm::function_ref<bool(Operation*)> isFine) {
  Operation* found = nullptr;
  around->walk([&](Operation* op) {
    if (op == around || isFine(op)) return WalkResult::advance();
    found = op;
    return WalkResult::interrupt();
  });
  return found;
}

// The same for all ops of the kernel around `op`.
bool all(Operation* op, llvm::function_ref<bool(Operation*)> isFine) {
  return !firstNot(op->getParentOfType<func::FuncOp>(), isFine);
}

// Returns true if the program may know of others' writes that it has not acquired yet: a blind update may be what does.
bool looksWithoutAcquiring(Operation* op) {
  std::optional<tile::Concurrency> does = tile::concurrencyOf(op);
  if (!does || does->acquires || isBlind(op)) return false;
  return does->waits ||
         llvm::any_of(does->accesses, [](const tile::MemoryAccess& access) { return access.reads && access.strong; });
}

// The effect of an op on a load that would be done before it: a blind update only writes.
std::optional<Effect> effectAhead(Operation* op) {
  auto update = dyn_cast<tile::AtomicRmwOp>(op);
  if (!update || !isBlind(op) || !all(op, [](Operation* other) { return !looksWithoutAcquiring(other); }))
    return effectOf(op);
  return Effect{update.getPointer(), true};
}

}  // namespace

BlockArgument argumentBehind(Value pointer) {
  Origin origin;
  return origin.collect(pointer) && origin.arguments.size() == 1 ? origin.arguments.front() : BlockArgument();
}

void addArgumentsBehind(Value pointer, SmallVectorImpl<BlockArgument>& to) {
  Origin origin;
  origin.collect(pointer);
  llvm::append_range(to, origin.arguments);
}

Operation* holdsBack(Operation* load, BlockArgument base) {
  return firstNot(load->getParentOfType<func::FuncOp>(), [&](Operation* op) {
    if (isHarmless(op) || isWait(op) || !mayPrecede(op, load)) return true;
    std::optional<Effect> effect = effectAhead(op);
    if (!effect) return false;
    if (!effect->writes) return true;
    BlockArgument written = argumentBehind(effect->pointer);
    return written && written != base;
  });
}

Operation* holdsBackIn(scf::ForOp loop, Operation* load) {
  Origin from;
  bool isKnown = from.collect(effectOf(load)->pointer);
  return firstNot(loop, [&](Operation* op) {
    bool isLocal = isa<tgpu::TgpuDialect>(op->getDialect()) || op->hasTrait<OpTrait::IsTerminator>();
    if (isLocal || isHarmless(op)) return true;
    std::optional<Effect> effect = effectAhead(op);
    if (isWait(op) || !effect) return false;
    if (!effect->writes) return true;
    Origin to;
    return isKnown && to.collect(effect->pointer) &&
           llvm::none_of(to.arguments, [&](BlockArgument a) { return from.arguments.contains(a); });
  });
}

remark::Reason heldBackBy(Operation* op) {
  std::string line = remark::lineOf(op);
  if (isWait(op))
    return {line + (isa<tile::InlineAsmOp>(op) ? " waits for the kernel before" : " waits for a signal"), ""};
  std::optional<Effect> effect = effectAhead(op);
  if (effect && effect->writes) return {line + " may write what it reads", "a pointer argument of its own"};
  return {line + " may meet other programs or threads (`" + op->getName().getStringRef().str() + "`)", ""};
}

// Returns true if a thread may have seen other threads' work by accesses of its own, which a barrier then passes on to
// the program.
static bool followsThreads(Operation* barrier) {
  return !all(barrier, [&](Operation* op) {
    std::optional<tile::Concurrency> does = tile::concurrencyOf(op);
    bool sees = does && llvm::any_of(does->accesses, [](const tile::MemoryAccess& access) {
                  return access.order == tile::AccessOrder::Thread && access.reads && access.strong;
                });
    return !sees || !mayPrecede(op, barrier);
  });
}

// Returns true if loads must not move ahead of `op`. The program knows what one thread has seen only behind a barrier.
bool holdsUp(Operation* op, ArrayRef<BlockArgument> bases) {
  if (isHarmless(op) || isWait(op)) return false;
  std::optional<tile::Concurrency> does = tile::concurrencyOf(op);
  if (!does) return true;
  if (std::optional<Effect> effect = effectOf(*does))
    return effect->writes && llvm::is_contained(bases, argumentBehind(effect->pointer));
  if (does->meetsOthers) return true;
  if (does->accesses.empty()) return does->meets >= tile::Meeting::Block && followsThreads(op);
  if (isBlind(op)) return false;
  return llvm::any_of(does->accesses, [](const tile::MemoryAccess& access) {
    return access.order == tile::AccessOrder::Program && access.memory != tile::Memory::Shared;
  });
}

bool isWritten(Operation* load) {
  BlockArgument base = argumentBehind(effectOf(load)->pointer);
  return base && !all(load, [&](Operation* op) {
           std::optional<Effect> effect = effectOf(op);
           return !effect || !effect->writes || !mayPrecede(op, load) || argumentBehind(effect->pointer) != base;
         });
}

namespace {

// Adds the arguments from whose memory `pointer` has been loaded. Returns false if it may come from elsewhere.
bool addTablesBehind(Value pointer, llvm::SmallDenseSet<Value>& seen, llvm::SetVector<BlockArgument>& tables) {
  if (!seen.insert(pointer).second) return true;
  Operation* op = pointer.getDefiningOp();
  if (!op) return false;
  auto go = [&](Value from) { return addTablesBehind(from, seen, tables); };
  if (op->hasTrait<tile::DerivesPointer>() || isa<tile::IntToPtrOp>(op)) return go(op->getOperand(0));
  if (auto select = dyn_cast<arith::SelectOp>(op)) return go(select.getTrueValue()) && go(select.getFalseValue());
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    unsigned index = cast<OpResult>(pointer).getResultNumber();
    return go(branch.thenYield().getOperand(index)) && go(branch.elseYield().getOperand(index));
  }
  auto load = dyn_cast<tile::LoadOp>(op);
  BlockArgument table = load ? argumentBehind(load.getPointer()) : BlockArgument();
  return table && (tables.insert(table), true);
}

}  // namespace

Operation* writesWhereLoaded(Operation* load) {
  Value base = effectOf(load)->pointer;
  if (argumentBehind(base)) return nullptr;
  llvm::SmallDenseSet<Value> seen;
  llvm::SetVector<BlockArgument> tables;
  bool isKnown = addTablesBehind(base, seen, tables);
  return firstNot(load->getParentOfType<func::FuncOp>(), [&](Operation* op) {
    std::optional<Effect> effect = effectOf(op);
    if (!effect || !effect->writes || !mayPrecede(op, load)) return true;
    if (argumentBehind(effect->pointer)) return true;
    llvm::SmallDenseSet<Value> seenOfStore;
    llvm::SetVector<BlockArgument> ofStore;
    return isKnown && addTablesBehind(effect->pointer, seenOfStore, ofStore) &&
           llvm::none_of(ofStore, [&](BlockArgument table) { return tables.contains(table); });
  });
}

bool isOnlyAccess(Operation* store, BlockArgument base) {
  return all(store, [&](Operation* op) {
    if (op == store || isHarmless(op)) return true;
    if (auto wait = dyn_cast<dist::WaitOp>(op); wait && !tile::concurrencyOf(op)->releases) {
      BlockArgument words = argumentBehind(wait.getPointer());
      return words && words != base;
    }
    std::optional<Effect> effect = effectOf(op);
    if (!effect || isa<dist::DistDialect, simt::SimtDialect>(op->getDialect())) return false;
    BlockArgument accessed = argumentBehind(effect->pointer);
    return accessed && accessed != base;
  });
}

bool areOnlyAccesses(ArrayRef<Operation*> stores, BlockArgument base) {
  auto isElsewhere = [&](Value operand) {
    if (!isa<tile::PtrType>(getElementTypeOrSelf(operand.getType()))) return true;
    BlockArgument accessed = argumentBehind(operand);
    return accessed && accessed != base;
  };
  return !base.getOwner()
              ->getParentOp()
              ->walk([&](Operation* op) {
                if (isHarmless(op) || op->hasTrait<OpTrait::IsTerminator>() || llvm::is_contained(stores, op))
                  return WalkResult::advance();
                return llvm::all_of(op->getOperands(), isElsewhere) ? WalkResult::advance() : WalkResult::interrupt();
              })
              .wasInterrupted();
}

}  // namespace tandem::transform::gpu
