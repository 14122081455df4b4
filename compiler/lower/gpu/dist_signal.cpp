// This file lowers signals: waits that poll, updates, and the fences that order them (M5, M6, M9, M11).
#include "compiler/lower/nvidia/kernel_lowering.h"
#include "compiler/lower/gpu/orders.h"
#include <llvm/ADT/TypeSwitch.h>

namespace tandem::lower::nvidia {
using namespace mlir;
namespace {

llvm::Type* pointeeOf(mlir::Value pointer, llvm::IRBuilder<>& b) {
  return b.getIntNTy(cast<tile::PtrType>(pointer.getType()).getPointee().getIntOrFloatBitWidth());
}

}  // namespace

bool KernelLowering::lowerDistSignal(Operation* op) {
  return llvm::TypeSwitch<Operation*, bool>(op)
      .Case<dist::WaitOp>([&](auto o) { return traced("wait", o, nullptr, [&] { lowerWait(o); }), true; })
      .Case<dist::NotifyOp>([&](auto o) { return lowerNotify(o), traceInstant("signal", o, useScalar(o.getPeer())), true; })
      .Case<dist::SignalWaitOp>([&](auto o) { return traced("wait", o, nullptr, [&] { lowerSignalWait(o); }), true; })
      .Case<dist::SignalOp>([&](auto o) {
        PeerSignal signal{useScalar(o.getPointer()), useScalar(o.getPeer()), pointeeOf(o.getPointer(), b_), useScalar(o.getValue()),
                          o.getSignal()};
        onceIn(callersOf(o, dist::Group::Thread, o.getSignal() == dist::SignalKind::Add),
               [&] { signalPeer(signal, ptx::Order::Relaxed, ptx::Scope::System); });
        traceInstant("signal", o, signal.peer);
        return true;
      })
      // The whole program's earlier accesses are in order before the thread that signals later.
      .Case<dist::FenceOp, dist::QuietOp>([&](auto o) {
        completeBulkStores();
        Callers callers = callersOf(o, dist::Group::Thread);
        syncCallers(callers);
        ptx::fence(b_, ptx::Scope::System);
        if (throughNvshmem()) orderNvshmem(callers, isa<dist::FenceOp>(o) ? "fence" : "quiet");
        return true;
      })
      .Default([](Operation*) { return false; });
}

// One warp polls, a lane a signal; code that only some threads run polls for itself. Copies by TMA may follow.
void KernelLowering::lowerWait(dist::WaitOp op) {
  llvm::Type* width = pointeeOf(op.getPointer(), b_);
  llvm::Value* value = b_.CreateSExtOrTrunc(useScalar(op.getValue()), width);
  ptx::AccessOptions strong;
  strong.order = op.getSem() == tile::Semantic::Relaxed ? ptx::Order::Relaxed : ptx::Order::Acquire;
  strong.scope = scopeOf(op.getScope());
  Callers callers = callersOf(op, dist::Group::Thread);
  bool together = callers.group == dist::Group::Block;
  auto pollAll = [&](llvm::Value* first, int step) {
    forEach(first, useScalar(op.getCount()), b_.getInt32(step), [&](llvm::Value* i) {
      llvm::Value* signal = b_.CreateGEP(width, useScalar(op.getPointer()), i);
      pollSignal({op.getLoc(), op.getCompare(), width, signal, value, strong});
    });
  };
  if (together) {
    when(b_.CreateICmpULT(threadId(), b_.getInt32(32)), [&] { pollAll(laneId(), 32); });
    blockBarrier();
  } else {
    pollAll(b_.getInt32(0), 1);
  }
  if (target_.hasTma()) ptx::fenceProxyAsync(b_, ptx::ProxySpace::Global);
  define(op.getToken(), {b_.getInt32(0)});
}

void KernelLowering::lowerNotify(dist::NotifyOp op) {
  PeerSignal signal{useScalar(op.getPointer()), useScalar(op.getPeer()), pointeeOf(op.getPointer(), b_), useScalar(op.getValue()),
                    op.getSignal()};
  auto update = [&] { signalPeer(signal, ptx::Order::Release, scopeOf(op.getScope())); };
  completeBulkStores();
  if (role_ == 3) return update();
  blockBarrier();
  when(isFirstThread(), update);
}

// The value is one for all threads: the first one's, unless each waits for itself.
void KernelLowering::lowerSignalWait(dist::SignalWaitOp op) {
  llvm::Type* width = pointeeOf(op.getPointer(), b_);
  llvm::Value* value = b_.CreateTrunc(useScalar(op.getValue()), width);
  ptx::AccessOptions strong;
  strong.order = ptx::Order::Acquire;
  strong.scope = ptx::Scope::System;
  auto poll = [&] {
    return pollSignal({op.getLoc(), op.getCompare(), width, useScalar(op.getPointer()), value, strong});
  };
  llvm::Value* seen = nullptr;
  if (callersOf(op, dist::Group::Thread).group == dist::Group::Block) {
    llvm::Value* place = scratch(8, op.getLoc());
    blockBarrier();
    when(isFirstThread(), [&] { storeShared(place, {poll()}); });
    blockBarrier();
    seen = loadShared(place, width->getIntegerBitWidth(), 1)[0];
  } else {
    seen = poll();
  }
  if (target_.hasTma()) ptx::fenceProxyAsync(b_, ptx::ProxySpace::Global);
  define(op.getResult(), {b_.CreateSExt(seen, b_.getInt64Ty())});
}

void KernelLowering::signalPeer(const PeerSignal& s, ptx::Order order, ptx::Scope scope) {
  if (throughNvshmem()) return signalThroughNvshmem(s, order);
  updateSignal(addressOn(s.pointer, s.peer), s.width, s.value, s.kind, order, scope);
}

void KernelLowering::updateSignal(llvm::Value* pointer, llvm::Type* width, llvm::Value* value, dist::SignalKind kind,
                                  ptx::Order order, ptx::Scope scope) {
  value = b_.CreateTrunc(value, width);
  if (kind == dist::SignalKind::Add) {
    ptx::AtomicType type = width->isIntegerTy(64) ? ptx::AtomicType::U64 : ptx::AtomicType::U32;
    return ptx::reduceInto(b_, ptx::AtomicOp::Add, type, pointer, value, {order, scope, ptx::Space::Global, nullptr});
  }
  ptx::AccessOptions strong;
  strong.order = order;
  strong.scope = scope;
  ptx::store(b_, {value}, pointer, nullptr, strong);
}

}  // namespace tandem::lower::nvidia
