// Ranks and addresses of symmetric memory are computed from the context that the hidden last parameter points to
// (abi/dist_context.h). This file also decides which threads make a call together.
#include "abi/dist_context.h"
#include "compiler/lower/gpu/dist.h"
#include <cstddef>

namespace tandem::lower::gpu {
using namespace mlir;

bool usesRanks(func::FuncOp kernel) {
  return kernel
      ->walk([](Operation* op) {
        bool localOnly = isa<dist::ConsumeTokenOp, dist::FenceOp, dist::QuietOp>(op);
        return isa<dist::DistDialect>(op->getDialect()) && !localOnly ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

// The context does not change while a kernel runs.
llvm::Value* loadElement(KernelContext& cx, llvm::Value* array, llvm::Type* type, llvm::Value* index) {
  llvm::LoadInst* load = cx.b.CreateLoad(type, cx.b.CreateGEP(type, array, index));
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(cx.context, {}));
  return load;
}

llvm::Value* rankField(KernelContext& cx, size_t offset, llvm::Type* type) {
  llvm::Value* context = cx.function->getArg(cx.function->arg_size() - 1);
  return loadElement(cx, cx.b.CreateGEP(cx.b.getInt8Ty(), context, cx.b.getInt64(offset)), type, cx.b.getInt32(0));
}

// A call without a team is for the world.
llvm::Value* teamField(KernelContext& cx, mlir::Value team, size_t offset, llvm::Type* type) {
  llvm::Value* at = rankField(cx, offsetof(tandem_dist_context, teams), cx.b.getPtrTy(1));
  llvm::Value* index = team ? cx.b.CreateSExt(cx.useScalar(team), cx.b.getInt64Ty()) : cx.b.getInt64(0);
  llvm::Value* bytes =
      cx.b.CreateAdd(cx.b.CreateMul(index, cx.b.getInt64(sizeof(tandem_dist_team))), cx.b.getInt64(offset));
  return loadElement(cx, cx.b.CreateGEP(cx.b.getInt8Ty(), at, bytes), type, cx.b.getInt32(0));
}

llvm::Value* addressOn(KernelContext& cx, llvm::Value* pointer, llvm::Value* peer) {
  llvm::Value* rank = rankField(cx, offsetof(tandem_dist_context, rank), cx.b.getInt32Ty());
  llvm::Value* steps = cx.b.CreateSExt(cx.b.CreateSub(peer, rank), cx.b.getInt64Ty());
  llvm::Value* stride = rankField(cx, offsetof(tandem_dist_context, stride), cx.b.getInt64Ty());
  return cx.b.CreateGEP(cx.b.getInt8Ty(), pointer, cx.b.CreateMul(steps, stride));
}

// The translation goes through the rank in the world; a number that the source team does not have gives -1.
static llvm::Value* translateRank(KernelContext& cx, dist::TranslateRankOp op) {
  llvm::Value *index = cx.useScalar(op.getRank()), *none = cx.b.getInt32(-1);
  llvm::Value* size = teamField(cx, op.getSourceTeam(), offsetof(tandem_dist_team, size), cx.b.getInt32Ty());
  llvm::Value* known = cx.b.CreateICmpULT(index, size);
  llvm::Value* members = teamField(cx, op.getSourceTeam(), offsetof(tandem_dist_team, members), cx.b.getPtrTy(1));
  llvm::Value* rank = loadElement(cx, members, cx.b.getInt32Ty(), cx.b.CreateSelect(known, index, cx.b.getInt32(0)));
  llvm::Value* indices = teamField(cx, op.getDestTeam(), offsetof(tandem_dist_team, indices), cx.b.getPtrTy(1));
  return cx.b.CreateSelect(known, loadElement(cx, indices, cx.b.getInt32Ty(), rank), none);
}

// Returns true if threads do different things in this kernel: then each executes `op` for itself.
static bool isPerThread(Operation* op) {
  return op->getParentOfType<func::FuncOp>()
      ->walk([](Operation* inner) {
        return tile::variesByThread(inner) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

// Tile code calls as the whole block, whatever group it names; where threads differ each group calls for itself. An op
// that repeats acts once for each group in a kernel with per-thread code, even if all come to it.
Callers callersOf(KernelContext& cx, Operation* op, dist::Group group) {
  bool apart = cx.threadValues(op).isDivergent(op) || cx.threadValues(op).anyDiffers(op->getOperands()) ||
               (tile::concurrencyOf(op)->repeats && isPerThread(op));
  if (cx.isOneThread())
    group = dist::Group::Thread;
  else if (!apart)
    group = dist::Group::Block;
  switch (group) {
    case dist::Group::Thread: return {cx.b.getInt32(0), cx.b.getInt32(1), group};
    case dist::Group::Warp: return {cx.laneId(), cx.b.getInt32(cx.warpSize()), group};
    case dist::Group::Block: break;
  }
  return {cx.threadId(), cx.b.getInt32(cx.numThreads()), group};
}

void syncCallers(KernelContext& cx, const Callers& callers) {
  if (callers.group == dist::Group::Block) cx.emit.blockBarrier();
  if (callers.group == dist::Group::Warp) cx.emit.warpBarrier();
}

void onceIn(KernelContext& cx, const Callers& callers, llvm::function_ref<void()> body) {
  cx.when(callers.group == dist::Group::Thread ? nullptr : cx.b.CreateICmpEQ(callers.index, cx.b.getInt32(0)), body);
}

void registerDist(Lowerings& table) {
  table.on<dist::RankOp>([](KernelContext& cx, auto o) {
    llvm::Value* rank = o.getTeam() ? teamField(cx, o.getTeam(), offsetof(tandem_dist_team, rank), cx.b.getInt32Ty())
                                    : rankField(cx, offsetof(tandem_dist_context, rank), cx.b.getInt32Ty());
    cx.define(o.getResult(), {rank});
  });
  table.on<dist::NumRanksOp>([](KernelContext& cx, auto o) {
    llvm::Value* count = o.getTeam() ? teamField(cx, o.getTeam(), offsetof(tandem_dist_team, size), cx.b.getInt32Ty())
                                     : rankField(cx, offsetof(tandem_dist_context, rank_count), cx.b.getInt32Ty());
    cx.define(o.getResult(), {count});
  });
  table.on<dist::TranslateRankOp>([](KernelContext& cx, auto o) { cx.define(o.getResult(), {translateRank(cx, o)}); });
  table.on<dist::SymmAtOp>([](KernelContext& cx, auto o) {
    cx.mapRegisters(
        o, [&](Scalars v) { return cx.peers ? cx.peers->address(v[0], v[1], o.getLoc()) : addressOn(cx, v[0], v[1]); });
  });
  table.on<dist::MulticastAtOp>([](KernelContext& cx, auto o) {
    llvm::Value* base = teamField(cx, o.getTeam(), offsetof(tandem_dist_team, multicast), cx.b.getInt64Ty());
    llvm::Value* offset = cx.b.CreateSub(cx.b.CreatePtrToInt(cx.useScalar(o.getPointer()), cx.b.getInt64Ty()),
                                         rankField(cx, offsetof(tandem_dist_context, heap_base), cx.b.getInt64Ty()));
    cx.define(o.getResult(), {cx.b.CreateIntToPtr(cx.b.CreateAdd(base, offset), cx.b.getPtrTy(1))});
  });
  table.on<dist::ConsumeTokenOp>([](KernelContext& cx, auto o) {
    Regs same = cx.use(o.getValue());
    cx.define(o.getResult(), same);
  });
}

}  // namespace tandem::lower::gpu
