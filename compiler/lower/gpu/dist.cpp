// Ranks and addresses of symmetric memory are computed from the context that the hidden last parameter points to
// (abi/dist_context.h). This file also decides which threads make a call together.
#include "abi/dist_context.h"
#include "compiler/lower/nvidia/kernel_lowering.h"
#include "compiler/lower/gpu/orders.h"
#include <cstddef>
#include <llvm/ADT/TypeSwitch.h>

namespace tandem::lower::nvidia {
using namespace mlir;

bool KernelLowering::usesRanks(func::FuncOp kernel) {
  return kernel
      ->walk([](Operation* op) {
        bool localOnly = isa<dist::ConsumeTokenOp, dist::FenceOp, dist::QuietOp>(op);
        return isa<dist::DistDialect>(op->getDialect()) && !localOnly ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

// The context does not change while a kernel runs.
llvm::Value* KernelLowering::loadElement(llvm::Value* array, llvm::Type* type, llvm::Value* index) {
  llvm::LoadInst* load = b_.CreateLoad(type, b_.CreateGEP(type, array, index));
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
  return load;
}

llvm::Value* KernelLowering::rankField(size_t offset, llvm::Type* type) {
  llvm::Value* context = function_->getArg(function_->arg_size() - 1);
  return loadElement(b_.CreateGEP(b_.getInt8Ty(), context, b_.getInt64(offset)), type, b_.getInt32(0));
}

// A call without a team is for the world.
llvm::Value* KernelLowering::teamField(mlir::Value team, size_t offset, llvm::Type* type) {
  llvm::Value* at = rankField(offsetof(tandem_dist_context, teams), b_.getPtrTy(1));
  llvm::Value* index = team ? b_.CreateSExt(useScalar(team), b_.getInt64Ty()) : b_.getInt64(0);
  llvm::Value* bytes = b_.CreateAdd(b_.CreateMul(index, b_.getInt64(sizeof(tandem_dist_team))), b_.getInt64(offset));
  return loadElement(b_.CreateGEP(b_.getInt8Ty(), at, bytes), type, b_.getInt32(0));
}

llvm::Value* KernelLowering::addressOn(llvm::Value* pointer, llvm::Value* peer) {
  llvm::Value* rank = rankField(offsetof(tandem_dist_context, rank), b_.getInt32Ty());
  llvm::Value* steps = b_.CreateSExt(b_.CreateSub(peer, rank), b_.getInt64Ty());
  llvm::Value* stride = rankField(offsetof(tandem_dist_context, stride), b_.getInt64Ty());
  return b_.CreateGEP(b_.getInt8Ty(), pointer, b_.CreateMul(steps, stride));
}

bool KernelLowering::lowerDist(Operation* op) {
  if (!isa<dist::DistDialect>(op->getDialect())) return false;
  if (lowerDistCopy(op) || lowerDistSignal(op) || lowerDistTeam(op)) return true;
  return llvm::TypeSwitch<Operation*, bool>(op)
      .Case<dist::RankOp>([&](auto o) {
        llvm::Value* rank = o.getTeam() ? teamField(o.getTeam(), offsetof(tandem_dist_team, rank), b_.getInt32Ty())
                                        : rankField(offsetof(tandem_dist_context, rank), b_.getInt32Ty());
        return define(o.getResult(), {rank}), true;
      })
      .Case<dist::NumRanksOp>([&](auto o) {
        llvm::Value* count = o.getTeam() ? teamField(o.getTeam(), offsetof(tandem_dist_team, size), b_.getInt32Ty())
                                         : rankField(offsetof(tandem_dist_context, rank_count), b_.getInt32Ty());
        return define(o.getResult(), {count}), true;
      })
      .Case<dist::TranslateRankOp>([&](auto o) { return define(o.getResult(), {translateRank(o)}), true; })
      .Case<dist::SymmAtOp>([&](auto o) {
        bool mapped = throughNvshmem();
        auto one = [&](Scalars v) { return mapped ? mappedAddress(v[0], v[1], o.getLoc()) : addressOn(v[0], v[1]); };
        return mapRegisters(o, one), true;
      })
      .Case<dist::MulticastAtOp>([&](auto o) {
        llvm::Value* base = teamField(o.getTeam(), offsetof(tandem_dist_team, multicast), b_.getInt64Ty());
        llvm::Value* offset = b_.CreateSub(b_.CreatePtrToInt(useScalar(o.getPointer()), b_.getInt64Ty()),
                                           rankField(offsetof(tandem_dist_context, heap_base), b_.getInt64Ty()));
        return define(o.getResult(), {b_.CreateIntToPtr(b_.CreateAdd(base, offset), b_.getPtrTy(1))}), true;
      })
      .Case<dist::ConsumeTokenOp>([&](auto o) {
        Regs same = use(o.getValue());
        return define(o.getResult(), same), true;
      })
      .Default([](Operation*) { return false; });
}

// The translation goes through the rank in the world; a number that the source team does not have gives -1.
llvm::Value* KernelLowering::translateRank(dist::TranslateRankOp op) {
  llvm::Value *index = useScalar(op.getRank()), *none = b_.getInt32(-1);
  llvm::Value* size = teamField(op.getSourceTeam(), offsetof(tandem_dist_team, size), b_.getInt32Ty());
  llvm::Value* known = b_.CreateICmpULT(index, size);
  llvm::Value* members = teamField(op.getSourceTeam(), offsetof(tandem_dist_team, members), b_.getPtrTy(1));
  llvm::Value* rank = loadElement(members, b_.getInt32Ty(), b_.CreateSelect(known, index, b_.getInt32(0)));
  llvm::Value* indices = teamField(op.getDestTeam(), offsetof(tandem_dist_team, indices), b_.getPtrTy(1));
  return b_.CreateSelect(known, loadElement(indices, b_.getInt32Ty(), rank), none);
}

// Tile code calls as the whole block, whatever group it names; where threads differ each group calls for itself. A call that `repeats`
// acts once for each group in a kernel with per-thread code, even if all come to it.
KernelLowering::Callers KernelLowering::callersOf(Operation* op, dist::Group group, bool repeats) {
  bool apart = threadValues(op).isDivergent(op) || threadValues(op).anyDiffers(op->getOperands()) ||
               (repeats && isPerThread(op));
  if (role_ >= 2)
    group = dist::Group::Thread;
  else if (!apart)
    group = dist::Group::Block;
  switch (group) {
    case dist::Group::Thread: return {b_.getInt32(0), b_.getInt32(1), group};
    case dist::Group::Warp: return {laneId(), b_.getInt32(32), group};
    case dist::Group::Block: break;
  }
  return {threadId(), b_.getInt32(32 * numWarps_), group};
}

void KernelLowering::syncCallers(const Callers& callers) {
  if (callers.group == dist::Group::Block) blockBarrier();
  if (callers.group == dist::Group::Warp) ptx::syncWarp(b_);
}

void KernelLowering::onceIn(const Callers& callers, llvm::function_ref<void()> body) {
  when(callers.group == dist::Group::Thread ? nullptr : b_.CreateICmpEQ(callers.index, b_.getInt32(0)), body);
}

// Each thread waits for the stores by TMA that it has issued.
void KernelLowering::completeBulkStores() {
  if (role_ == 3 ? !signallerStores_ : !stagingBytes_) return;
  ptx::waitBulk(b_, 0, false);
  ptx::fenceProxyAsync(b_);
}

}  // namespace tandem::lower::nvidia
