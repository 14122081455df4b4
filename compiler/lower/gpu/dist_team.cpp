// Barriers over the ranks of a team, and the collectives that are copies between two of them (M12).
#include "abi/dist_context.h"
#include "compiler/lower/nvidia/kernel_lowering.h"
#include <cstddef>
#include <llvm/ADT/TypeSwitch.h>

namespace tandem::lower::nvidia {
using namespace mlir;

bool KernelLowering::lowerDistTeam(Operation* op) {
  return llvm::TypeSwitch<Operation*, bool>(op)
      .Case<dist::BarrierOp>([&](auto o) {
        traced("barrier", o, nullptr, [&] { meet(callersOf(o, o.getGroup()), o.getTeam(), !o.getSyncOnly(), {o.getLoc()}); });
        return true;
      })
      .Case<dist::BroadcastOp>([&](auto o) { return traced("get", o, nullptr, [&] { lowerBroadcast(o); }), true; })
      .Case<dist::FcollectOp>([&](auto o) { return traced("get", o, nullptr, [&] { lowerFcollect(o); }), true; })
      .Default([](Operation*) { return false; });
}

// A slot has these bits of a call beside its number: the collective, and a hash of its size and root.
llvm::Value* KernelLowering::markOf(const TeamCall& call) {
  constexpr uint64_t spread = 0x9e3779b97f4a7c15, spreadRoot = 0xc2b2ae3d27d4eb4f;  // odd
  constexpr int kindBits = TANDEM_DIST_KIND_BITS, bits = TANDEM_DIST_MARK_BITS;
  llvm::Value* kind = b_.getInt64(call.kind);
  if (!call.bytes) return kind;
  llvm::Value* mixed = b_.CreateMul(call.bytes, b_.getInt64(spread));
  if (call.root) mixed = b_.CreateAdd(mixed, b_.CreateMul(b_.CreateZExt(call.root, b_.getInt64Ty()), b_.getInt64(spreadRoot)));
  return b_.CreateOr(b_.CreateShl(b_.CreateLShr(mixed, b_.getInt64(64 - (bits - kindBits))), b_.getInt64(kindBits)), kind);
}

// Each member writes the number of this call, with its mark, into its slot on every other, then waits until all slots of its own have come
// as far. A member whose mark is another one can't have gone past this call, so both see it. The lanes of one warp share the members.
void KernelLowering::meet(const Callers& callers, mlir::Value team, bool quiet, const TeamCall& call) {
  llvm::Type *word = b_.getInt32Ty(), *wide = b_.getInt64Ty(), *pointer = b_.getPtrTy(1);
  if (quiet) completeBulkStores();
  syncCallers(callers);
  if (throughNvshmem()) orderNvshmem(callers, quiet ? "quiet" : "fence");
  llvm::Value* lanes = callers.group == dist::Group::Thread ? b_.getInt32(1) : b_.getInt32(32);
  llvm::Value* inFirstWarp = callers.group == dist::Group::Block ? b_.CreateICmpULT(callers.index, lanes) : nullptr;
  when(inFirstWarp, [&] {
    llvm::Value* size = teamField(team, offsetof(tandem_dist_team, size), word);
    llvm::Value* mine = teamField(team, offsetof(tandem_dist_team, rank), word);
    llvm::Value* members = teamField(team, offsetof(tandem_dist_team, members), pointer);
    llvm::Value* signals = teamField(team, offsetof(tandem_dist_team, signals), pointer);
    llvm::Value* counter = teamField(team, offsetof(tandem_dist_team, epoch), pointer);
    ptx::AccessOptions strong;
    strong.order = ptx::Order::Relaxed;
    llvm::Value* epoch = b_.CreateAdd(ptx::load(b_, wide, 1, counter, nullptr, {}, strong)[0], b_.getInt64(1));
    llvm::Value* own = b_.CreateOr(b_.CreateShl(epoch, b_.getInt64(TANDEM_DIST_MARK_BITS)), markOf(call));
    llvm::Value* first = b_.CreateAnd(own, b_.getInt64(~((int64_t(1) << TANDEM_DIST_MARK_BITS) - 1)));
    strong.scope = ptx::Scope::System;
    ptx::fence(b_, ptx::Scope::System);
    forEach(callers.index, size, lanes, [&](llvm::Value* i) {
      llvm::Value* slot = b_.CreateGEP(wide, signals, mine);
      signalPeer({slot, loadElement(members, word, i), wide, own, dist::SignalKind::Set}, ptx::Order::Release, ptx::Scope::System);
    });
    forEach(callers.index, size, lanes, [&](llvm::Value* i) {
      strong.order = ptx::Order::Acquire;
      llvm::Value* slot = b_.CreateGEP(wide, signals, i);
      llvm::Value* seen = pollSignal({call.where, dist::Compare::Ge, wide, slot, first, strong});
      llvm::Value* unlike = b_.CreateSub(b_.CreateXor(seen, own), b_.getInt64(1));
      when(b_.CreateICmpULT(unlike, b_.getInt64((1 << TANDEM_DIST_MARK_BITS) - 1)), [&] {
        llvm::Value* watch = rankField(offsetof(tandem_dist_context, watch), pointer);
        when(b_.CreateIsNotNull(watch), [&] {
          llvm::Value* bytes = call.bytes ? call.bytes : b_.getInt64(0);
          tellWatch(watch, {call.where, TANDEM_DIST_UNLIKE + int(call.kind), slot, bytes, seen});
        });
      });
    });
    if (callers.group != dist::Group::Thread) ptx::syncWarp(b_);
    strong.order = ptx::Order::Relaxed;
    strong.scope = ptx::Scope::Device;
    onceIn(callers, [&] { ptx::store(b_, {epoch}, counter, nullptr, strong); });
  });
  syncCallers(callers);
}

// Every member fetches from the root when all sources are ready; the second meeting frees them.
void KernelLowering::lowerBroadcast(dist::BroadcastOp op) {
  Callers callers = callersOf(op, op.getGroup());
  TeamCall call{op.getLoc(), TANDEM_DIST_BROADCAST, useScalar(op.getBytes()), useScalar(op.getRoot())};
  meet(callers, op.getTeam(), true, call);
  llvm::Value* members = teamField(op.getTeam(), offsetof(tandem_dist_team, members), b_.getPtrTy(1));
  llvm::Value* root = loadElement(members, b_.getInt32Ty(), useScalar(op.getRoot()));
  getBytes(callers, {useScalar(op.getDest()), useScalar(op.getSource()), call.bytes, root});
  meet(callers, op.getTeam(), true, call);
}

void KernelLowering::lowerFcollect(dist::FcollectOp op) {
  Callers callers = callersOf(op, op.getGroup());
  llvm::Value* bytes = useScalar(op.getBytes());
  TeamCall call{op.getLoc(), TANDEM_DIST_FCOLLECT, bytes};
  meet(callers, op.getTeam(), true, call);
  llvm::Value* members = teamField(op.getTeam(), offsetof(tandem_dist_team, members), b_.getPtrTy(1));
  llvm::Value* size = teamField(op.getTeam(), offsetof(tandem_dist_team, size), b_.getInt32Ty());
  forEach(b_.getInt32(0), size, b_.getInt32(1), [&](llvm::Value* i) {
    llvm::Value* place = b_.CreateMul(b_.CreateZExt(i, b_.getInt64Ty()), bytes);
    llvm::Value* dest = b_.CreateGEP(b_.getInt8Ty(), useScalar(op.getDest()), place);
    getBytes(callers, {dest, useScalar(op.getSource()), bytes, loadElement(members, b_.getInt32Ty(), i)});
  });
  meet(callers, op.getTeam(), true, call);
}

}  // namespace tandem::lower::nvidia
