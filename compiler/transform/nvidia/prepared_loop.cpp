// Follows results from the early products forwards, and the late products' sums backwards, until both meet.
#include "compiler/transform/nvidia/prepared_loop.h"
#include "compiler/target/nvidia_units.h"
#include "compiler/transform/gpu/waits.h"
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tandem::transform::nvidia {
using namespace mlir;
namespace {

bool isVector(Value v) {
  auto type = dyn_cast<RankedTensorType>(v.getType());
  return type && type.getRank() == 1 && type.getElementType().isF32();
}

class LoopSearch {
 public:
  explicit LoopSearch(tgpu::WarpSpecializeOp roles) : roles_(roles), consumer_(roles.getConsumer().front()) {}

  std::optional<PreparedLoop> run() {
    if (!findProducts() || !findVectors() || !findEarly() || !findFinals() || !mayBeCopied() || !findTold())
      return std::nullopt;
    return found_;
  }

 private:
  // Finds the one loop, whose late products all multiply one tile from registers.
  bool findProducts() {
    bool isOne = true;
    consumer_.walk([&](tgpu::WgmmaOp op) {
      auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
      isOne &= loop && (!found_.loop || loop == found_.loop) && !op.getTakesTurn() && !op.getJoinsPrevious() &&
               !op.getBeginsAtZero();
      if (loop) found_.loop = loop;
      isa<RankedTensorType>(op.getLhs().getType()) ? found_.late.insert(op) : found_.early.insert(op);
    });
    if (!isOne || found_.early.empty() || found_.late.empty()) return false;
    found_.body = found_.loop.getBody();
    found_.weights = tgpu::WgmmaOp(found_.late.front()).getLhs();
    auto type = cast<RankedTensorType>(found_.weights.getType());
    auto isOfRows = [](tgpu::WgmmaOp op) {
      return cast<RankedTensorType>(op.getType()).getDimSize(0) == target::kWgmma.rows;
    };
    constexpr int64_t kMostColumns = 128;  // of early results, which one warpgroup has in registers
    auto isNarrow = [](tgpu::WgmmaOp op) { return cast<RankedTensorType>(op.getType()).getDimSize(1) <= kMostColumns; };
    return found_.weights.getParentBlock() == found_.body && found_.weights.getDefiningOp() && type.getRank() == 2 &&
           type.getElementTypeBitWidth() == 16 && llvm::all_of(found_.early, isOfRows) &&
           llvm::all_of(found_.late, isOfRows) && llvm::all_of(found_.early, isNarrow) &&
           llvm::all_of(found_.early, [](tgpu::WgmmaOp op) { return op.getLhsRing() && op.getRhsRing(); }) &&
           llvm::all_of(found_.late,
                        [&](tgpu::WgmmaOp op) { return op.getLhs() == found_.weights && op.getRhsRing(); });
  }

  // Finds the numbers for rows that the late products' sums are computed with.
  bool findVectors() {
    llvm::SetVector<Value> todo;
    for (tgpu::WgmmaOp op : found_.late) todo.insert(op.getAcc());
    for (size_t i = 0; i < todo.size(); ++i) {
      Value v = todo[i];
      Operation* op = v.getDefiningOp();
      if (!op || !found_.loop->isAncestor(op)) continue;
      if (isVector(v)) {
        found_.vectors.insert(v);
        continue;
      }
      if (auto product = dyn_cast<tgpu::WgmmaOp>(op); product && found_.early.contains(product)) return false;
      found_.ofSums.insert(found_.inBody(op));
      op->walk([&](Operation* inner) { todo.insert(inner->operand_begin(), inner->operand_end()); });
    }
    return true;
  }

  // Checks that what follows from the early products reaches the late ones by the weights and the vectors alone.
  bool findEarly() {
    llvm::SetVector<Value> todo;
    for (tgpu::WgmmaOp op : found_.early) todo.insert(op.getResult());
    for (size_t i = 0; i < todo.size(); ++i)
      for (OpOperand& use : todo[i].getUses()) {
        Operation* user = use.getOwner();
        if (!found_.loop->isProperAncestor(user)) continue;
        if (user == found_.body->getTerminator()) {
          found_.earlyArguments.insert(use.getOperandNumber());
          todo.insert(found_.loop.getRegionIterArg(use.getOperandNumber()));
          continue;
        }
        Operation* here = found_.inBody(user);
        if (auto product = dyn_cast<tgpu::WgmmaOp>(here); product && found_.late.contains(product)) {
          if (todo[i] != found_.weights) return false;
          continue;
        }
        if (found_.ofSums.contains(here)) {
          if (!found_.vectors.contains(todo[i])) return false;
          continue;
        }
        bool isProduct = isa<tgpu::WgmmaOp, tgpu::WgmmaWaitOp>(here);
        if (here != user || (!isProduct && !isMemoryEffectFree(here))) return false;
        todo.insert(here->result_begin(), here->result_end());
      }
    auto isEarly = [&](Value v) { return todo.contains(v); };
    return isEarly(found_.weights) && llvm::all_of(found_.vectors, isEarly);
  }

  // Finds what is left of the early products behind the loop: numbers for rows that it carries, or sums of what it carries.
  bool findFinals() {
    for (unsigned i : found_.earlyArguments) {
      Value result = found_.loop.getResult(i);
      if (result.use_empty()) continue;
      if (isVector(result)) {
        found_.finals.insert(result);
        continue;
      }
      for (Operation* user : result.getUsers()) {
        if (!isa<tile::ReduceOp>(user) || user->getBlock() != found_.loop->getBlock() || !isVector(user->getResult(0)))
          return false;
        found_.finals.insert(user->getResult(0));
      }
    }
    return true;
  }

  // The copy ends with the numbers behind the loop and the early products' slots, and does not do what must be done once.
  bool mayBeCopied() {
    found_.end = consumer_.findAncestorOpInBlock(*found_.loop);
    auto extend = [&](Operation* op) {
      Operation* here = consumer_.findAncestorOpInBlock(*op);
      if (found_.end->isBeforeInBlock(here)) found_.end = here;
    };
    for (Value v : found_.finals) extend(v.getDefiningOp());
    consumer_.walk([&](Operation* op) {
      if (isEvent(op) && found_.isEarlyRing(ringOf(op))) extend(op);
    });
    bool may = true;
    for (Operation& op : consumer_) {
      if (found_.end->isBeforeInBlock(&op)) break;
      op.walk([&](Operation* inner) {
        if (isOnce(inner)) may &= inner->use_empty() && !found_.loop->isAncestor(inner) && !gpu::isWait(inner);
      });
    }
    return may;
  }

  // Finds what the producer is told, at one gate at most: the preparer learns it as well.
  bool findTold() {
    SmallVector<Operation*> gates;
    consumer_.walk([&](tgpu::ReleaseOp op) {
      if (auto ring = op.getRing().getDefiningOp<tgpu::RingOp>(); ring && ring.getGate()) gates.push_back(op);
    });
    if (gates.empty()) return true;
    if (gates.size() > 1 || gates.front()->getBlock() != &consumer_) return false;
    found_.gate = ringOf(gates.front());
    consumer_.walk([&](simt::SmemStoreOp op) {
      auto isLearnt = [&](Operation* user) {
        return isa<simt::SmemLoadOp>(user) && roles_.getProducer().isAncestor(user->getParentRegion());
      };
      if (llvm::any_of(op.getBuffer().getUsers(), isLearnt) && op->getBlock() == &consumer_) found_.told.push_back(op);
    });
    return true;
  }

  tgpu::WarpSpecializeOp roles_;
  Block& consumer_;
  PreparedLoop found_;
};

}  // namespace

bool isEvent(Operation* op) {
  return isa<tgpu::AwaitOp, tgpu::AdvanceOp, tgpu::ReleaseOp, tgpu::AcquireOp, tgpu::CommitOp>(op);
}

bool isOnce(Operation* op) {
  bool waits = isa<tile::InlineAsmOp>(op) && gpu::isWait(op) && op->getNumOperands() == 0;
  bool mayRepeat = isMemoryEffectFree(op) || isEvent(op) || op->getNumRegions() || waits ||
                   isa<tile::LoadOp, simt::SmemLoadOp, tgpu::WgmmaOp, tgpu::WgmmaWaitOp>(op);
  return !mayRepeat && !op->hasTrait<OpTrait::IsTerminator>();
}

bool PreparedLoop::isEarlyRing(Value ring) const {
  auto reads = [&](tgpu::WgmmaOp op) { return op.getLhsRing() == ring || op.getRhsRing() == ring; };
  return llvm::any_of(early, reads) && llvm::none_of(late, reads);
}

bool PreparedLoop::isLateRing(Value ring) const {
  auto reads = [&](tgpu::WgmmaOp op) { return op.getRhsRing() == ring; };
  return llvm::any_of(late, reads) &&
         llvm::none_of(early, [&](tgpu::WgmmaOp op) { return op.getLhsRing() == ring || op.getRhsRing() == ring; });
}

std::optional<PreparedLoop> findPreparedLoop(tgpu::WarpSpecializeOp roles) { return LoopSearch(roles).run(); }

}  // namespace tandem::transform::nvidia
