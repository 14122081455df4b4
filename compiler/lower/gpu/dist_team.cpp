// Barriers over the ranks of a team, and the collectives that are copies between two of them (M12).
#include "abi/dist_context.h"
#include "compiler/lower/gpu/dist.h"
#include "compiler/lower/gpu/trace.h"
#include <cstddef>

namespace tandem::lower::gpu {
using namespace mlir;

// A call of a team's collective: its number in tandem_dist_collective; bytes and root where it has them.
struct TeamCall {
  mlir::Location where;
  uint64_t kind = 0;
  llvm::Value *bytes = nullptr, *root = nullptr;
};

// A slot has these bits of a call beside its number: the collective, and a hash of its size and root.
static llvm::Value* markOf(KernelContext& cx, const TeamCall& call) {
  constexpr uint64_t spread = 0x9e3779b97f4a7c15, spreadRoot = 0xc2b2ae3d27d4eb4f;  // odd
  constexpr int kindBits = TANDEM_DIST_KIND_BITS, bits = TANDEM_DIST_MARK_BITS;
  llvm::Value* kind = cx.b.getInt64(call.kind);
  if (!call.bytes) return kind;
  llvm::Value* mixed = cx.b.CreateMul(call.bytes, cx.b.getInt64(spread));
  if (call.root)
    mixed =
        cx.b.CreateAdd(mixed, cx.b.CreateMul(cx.b.CreateZExt(call.root, cx.b.getInt64Ty()), cx.b.getInt64(spreadRoot)));
  return cx.b.CreateOr(
      cx.b.CreateShl(cx.b.CreateLShr(mixed, cx.b.getInt64(64 - (bits - kindBits))), cx.b.getInt64(kindBits)), kind);
}

// Each member writes the number of this call, with its mark, into its slot on every other, then waits until all slots
// of its own have come as far. A member whose mark is another one can't have gone past this call, so both see it. The
// lanes of one warp share the members.
static void meet(KernelContext& cx, const Callers& callers, mlir::Value team, bool quiet, const TeamCall& call) {
  llvm::Type *word = cx.b.getInt32Ty(), *wide = cx.b.getInt64Ty(), *pointer = cx.b.getPtrTy(1);
  cx.emit.completeStores();
  syncCallers(cx, callers);
  if (cx.peers) cx.peers->order(callers, quiet);
  llvm::Value* lanes = callers.group == dist::Group::Thread ? cx.b.getInt32(1) : cx.b.getInt32(cx.warpSize());
  llvm::Value* inFirstWarp = callers.group == dist::Group::Block ? cx.b.CreateICmpULT(callers.index, lanes) : nullptr;
  cx.when(inFirstWarp, [&] {
    llvm::Value* size = teamField(cx, team, offsetof(tandem_dist_team, size), word);
    llvm::Value* mine = teamField(cx, team, offsetof(tandem_dist_team, rank), word);
    llvm::Value* members = teamField(cx, team, offsetof(tandem_dist_team, members), pointer);
    llvm::Value* signals = teamField(cx, team, offsetof(tandem_dist_team, signals), pointer);
    llvm::Value* counter = teamField(cx, team, offsetof(tandem_dist_team, epoch), pointer);
    AccessOptions strong;
    strong.order = Order::Relaxed;
    llvm::Value* epoch = cx.b.CreateAdd(cx.emit.load(wide, 1, counter, nullptr, {}, strong)[0], cx.b.getInt64(1));
    llvm::Value* own = cx.b.CreateOr(cx.b.CreateShl(epoch, cx.b.getInt64(TANDEM_DIST_MARK_BITS)), markOf(cx, call));
    llvm::Value* first = cx.b.CreateAnd(own, cx.b.getInt64(~((int64_t(1) << TANDEM_DIST_MARK_BITS) - 1)));
    strong.scope = Scope::System;
    cx.emit.fence(Scope::System);
    cx.forEach(callers.index, size, lanes, [&](llvm::Value* i) {
      llvm::Value* slot = cx.b.CreateGEP(wide, signals, mine);
      signalPeer(cx, {slot, loadElement(cx, members, word, i), wide, own, dist::SignalKind::Set}, Order::Release,
                 Scope::System);
    });
    cx.forEach(callers.index, size, lanes, [&](llvm::Value* i) {
      strong.order = Order::Acquire;
      llvm::Value* slot = cx.b.CreateGEP(wide, signals, i);
      llvm::Value* seen = pollSignal(cx, {call.where, dist::Compare::Ge, wide, slot, first, strong});
      llvm::Value* unlike = cx.b.CreateSub(cx.b.CreateXor(seen, own), cx.b.getInt64(1));
      cx.when(cx.b.CreateICmpULT(unlike, cx.b.getInt64((1 << TANDEM_DIST_MARK_BITS) - 1)), [&] {
        llvm::Value* watch = rankField(cx, offsetof(tandem_dist_context, watch), pointer);
        cx.when(cx.b.CreateIsNotNull(watch), [&] {
          llvm::Value* bytes = call.bytes ? call.bytes : cx.b.getInt64(0);
          tellWatch(cx, watch, {call.where, TANDEM_DIST_UNLIKE + int(call.kind), slot, bytes, seen});
        });
      });
    });
    if (callers.group != dist::Group::Thread) cx.emit.warpBarrier();
    strong.order = Order::Relaxed;
    strong.scope = Scope::Device;
    onceIn(cx, callers, [&] { cx.emit.store({epoch}, counter, nullptr, strong); });
  });
  syncCallers(cx, callers);
}

// Every member fetches from the root when all sources are ready; the second meeting frees them.
static void lowerBroadcast(KernelContext& cx, dist::BroadcastOp op) {
  Callers callers = callersOf(cx, op, op.getGroup());
  TeamCall call{op.getLoc(), TANDEM_DIST_BROADCAST, cx.useScalar(op.getBytes()), cx.useScalar(op.getRoot())};
  meet(cx, callers, op.getTeam(), true, call);
  llvm::Value* members = teamField(cx, op.getTeam(), offsetof(tandem_dist_team, members), cx.b.getPtrTy(1));
  llvm::Value* root = loadElement(cx, members, cx.b.getInt32Ty(), cx.useScalar(op.getRoot()));
  getBytes(cx, callers, {cx.useScalar(op.getDest()), cx.useScalar(op.getSource()), call.bytes, root});
  meet(cx, callers, op.getTeam(), true, call);
}

static void lowerFcollect(KernelContext& cx, dist::FcollectOp op) {
  Callers callers = callersOf(cx, op, op.getGroup());
  llvm::Value* bytes = cx.useScalar(op.getBytes());
  TeamCall call{op.getLoc(), TANDEM_DIST_FCOLLECT, bytes};
  meet(cx, callers, op.getTeam(), true, call);
  llvm::Value* members = teamField(cx, op.getTeam(), offsetof(tandem_dist_team, members), cx.b.getPtrTy(1));
  llvm::Value* size = teamField(cx, op.getTeam(), offsetof(tandem_dist_team, size), cx.b.getInt32Ty());
  cx.forEach(cx.b.getInt32(0), size, cx.b.getInt32(1), [&](llvm::Value* i) {
    llvm::Value* place = cx.b.CreateMul(cx.b.CreateZExt(i, cx.b.getInt64Ty()), bytes);
    llvm::Value* dest = cx.b.CreateGEP(cx.b.getInt8Ty(), cx.useScalar(op.getDest()), place);
    getBytes(cx, callers, {dest, cx.useScalar(op.getSource()), bytes, loadElement(cx, members, cx.b.getInt32Ty(), i)});
  });
  meet(cx, callers, op.getTeam(), true, call);
}

void registerDistTeam(Lowerings& table) {
  table.on<dist::BarrierOp>([](KernelContext& cx, auto o) {
    traced(cx, "barrier", o, nullptr,
           [&] { meet(cx, callersOf(cx, o, o.getGroup()), o.getTeam(), !o.getSyncOnly(), {o.getLoc()}); });
  });
  table.on<dist::BroadcastOp>(
      [](KernelContext& cx, auto o) { traced(cx, "get", o, nullptr, [&] { lowerBroadcast(cx, o); }); });
  table.on<dist::FcollectOp>(
      [](KernelContext& cx, auto o) { traced(cx, "get", o, nullptr, [&] { lowerFcollect(cx, o); }); });
}

}  // namespace tandem::lower::gpu
