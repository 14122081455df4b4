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
        traced("barrier", o, nullptr, [&] { meet(callersOf(o, o.getGroup()), o.getTeam(), !o.getSyncOnly(), o.getLoc()); });
        return true;
      })
      .Case<dist::BroadcastOp>([&](auto o) { return traced("get", o, nullptr, [&] { lowerBroadcast(o); }), true; })
      .Case<dist::FcollectOp>([&](auto o) { return traced("get", o, nullptr, [&] { lowerFcollect(o); }), true; })
      .Default([](Operation*) { return false; });
}

// Each member writes the number of this barrier into its slot on every other, then waits until all slots of its own have come as far. The
// lanes of one warp share the members.
void KernelLowering::meet(const Callers& callers, mlir::Value team, bool quiet, Location where) {
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
    strong.scope = ptx::Scope::System;
    ptx::fence(b_, ptx::Scope::System);
    forEach(callers.index, size, lanes, [&](llvm::Value* i) {
      llvm::Value* slot = b_.CreateGEP(wide, signals, mine);
      signalPeer({slot, loadElement(members, word, i), wide, epoch, dist::SignalKind::Set}, ptx::Order::Release, ptx::Scope::System);
    });
    forEach(callers.index, size, lanes, [&](llvm::Value* i) {
      strong.order = ptx::Order::Acquire;
      pollSignal({where, dist::Compare::Ge, wide, b_.CreateGEP(wide, signals, i), epoch, strong});
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
  meet(callers, op.getTeam(), true, op.getLoc());
  llvm::Value* members = teamField(op.getTeam(), offsetof(tandem_dist_team, members), b_.getPtrTy(1));
  llvm::Value* root = loadElement(members, b_.getInt32Ty(), useScalar(op.getRoot()));
  getBytes(callers, {useScalar(op.getDest()), useScalar(op.getSource()), useScalar(op.getBytes()), root});
  meet(callers, op.getTeam(), true, op.getLoc());
}

void KernelLowering::lowerFcollect(dist::FcollectOp op) {
  Callers callers = callersOf(op, op.getGroup());
  meet(callers, op.getTeam(), true, op.getLoc());
  llvm::Value* members = teamField(op.getTeam(), offsetof(tandem_dist_team, members), b_.getPtrTy(1));
  llvm::Value* size = teamField(op.getTeam(), offsetof(tandem_dist_team, size), b_.getInt32Ty());
  llvm::Value* bytes = useScalar(op.getBytes());
  forEach(b_.getInt32(0), size, b_.getInt32(1), [&](llvm::Value* i) {
    llvm::Value* place = b_.CreateMul(b_.CreateZExt(i, b_.getInt64Ty()), bytes);
    llvm::Value* dest = b_.CreateGEP(b_.getInt8Ty(), useScalar(op.getDest()), place);
    getBytes(callers, {dest, useScalar(op.getSource()), bytes, loadElement(members, b_.getInt32Ty(), i)});
  });
  meet(callers, op.getTeam(), true, op.getLoc());
}

}  // namespace tandem::lower::nvidia
