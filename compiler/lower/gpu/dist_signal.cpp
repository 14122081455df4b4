// This file lowers signals: waits that poll, updates, and the fences that order them (M5, M6, M9, M11).
#include "compiler/dialect/dist/attributes.h"
#include "compiler/lower/gpu/dist.h"
#include "compiler/lower/gpu/trace.h"
#include "compiler/lower/gpu/orders.h"

namespace tandem::lower::gpu {
using namespace mlir;
namespace {

llvm::Type* pointeeOf(mlir::Value pointer, llvm::IRBuilder<>& b) {
  return b.getIntNTy(cast<tile::PtrType>(pointer.getType()).getPointee().getIntOrFloatBitWidth());
}

// The class keeps, in each thread, the signal and the value that it has waited for last at one place of the program: none when the
// kernel begins.
class LastWait {
 public:
  LastWait(KernelContext& cx, llvm::Value* signal, llvm::Value* value)
      : cx_(cx), signal_(signal), value_(value), lastSignal_(cx.temporary(signal->getType())),
        lastValue_(cx.temporary(value->getType())) {
    for (llvm::AllocaInst* last : {lastSignal_, lastValue_})
      llvm::IRBuilder<>(last->getNextNode()).CreateStore(llvm::Constant::getNullValue(last->getAllocatedType()), last);
  }

  void unlessSame(llvm::function_ref<void()> wait) {
    auto isOther = [&](llvm::Value* now, llvm::AllocaInst* last) {
      return cx_.b.CreateICmpNE(now, cx_.b.CreateLoad(now->getType(), last));
    };
    cx_.when(cx_.b.CreateOr(isOther(signal_, lastSignal_), isOther(value_, lastValue_)), [&] {
      wait();
      cx_.b.CreateStore(signal_, lastSignal_);
      cx_.b.CreateStore(value_, lastValue_);
    });
  }

 private:
  KernelContext& cx_;
  llvm::Value *signal_, *value_;
  llvm::AllocaInst *lastSignal_, *lastValue_;
};

bool isOne(mlir::Value count) {
  APInt number;
  return matchPattern(count, m_ConstantInt(&number)) && number.isOne();
}

}  // namespace

// One warp polls, a lane a signal; code that only some threads run polls for itself. Copies by TMA may follow.
static void lowerWait(KernelContext& cx, dist::WaitOp op) {
  llvm::Type* width = pointeeOf(op.getPointer(), cx.b);
  llvm::Value* value = cx.b.CreateSExtOrTrunc(cx.useScalar(op.getValue()), width);
  AccessOptions strong;
  strong.order = op.getSem() == tile::Semantic::Relaxed ? Order::Relaxed : Order::Acquire;
  strong.scope = scopeOf(op.getScope());
  Callers callers = callersOf(cx, op, dist::Group::Thread);
  bool together = callers.group == dist::Group::Block;
  cx.define(op.getToken(), {cx.b.getInt32(0)});
  auto pollAll = [&](llvm::Value* first, int step) {
    cx.forEach(first, cx.useScalar(op.getCount()), cx.b.getInt32(step), [&](llvm::Value* i) {
      llvm::Value* signal = cx.b.CreateGEP(width, cx.useScalar(op.getPointer()), i);
      pollSignal(cx, {op.getLoc(), op.getCompare(), width, signal, value, strong});
    });
  };
  if (together) {
    cx.when(cx.b.CreateICmpULT(cx.threadId(), cx.b.getInt32(cx.warpSize())),
            [&] { pollAll(cx.laneId(), cx.warpSize()); });
    cx.emit.blockBarrier();
    return cx.emit.orderAsyncReads();
  }
  auto poll = [&] {
    pollAll(cx.b.getInt32(0), 1);
    cx.emit.orderAsyncReads();
  };
  if (dist::stays(op) && isOne(op.getCount()))
    LastWait(cx, cx.useScalar(op.getPointer()), value).unlessSame(poll);
  else
    cx.when(cx.b.CreateICmpSGT(cx.useScalar(op.getCount()), cx.b.getInt32(0)), poll);
}

static void lowerNotify(KernelContext& cx, dist::NotifyOp op) {
  PeerSignal signal{cx.useScalar(op.getPointer()), cx.useScalar(op.getPeer()), pointeeOf(op.getPointer(), cx.b),
                    cx.useScalar(op.getValue()), op.getSignal()};
  auto update = [&] { signalPeer(cx, signal, Order::Release, cx.emit.signalScope(op.getScope())); };
  cx.emit.completeStores();
  if (cx.role == Role::Signaller) return update();
  cx.emit.blockBarrier();
  cx.when(cx.isFirstThread(), update);
}

// The value is one for all threads: the first one's, unless each waits for itself.
static void lowerSignalWait(KernelContext& cx, dist::SignalWaitOp op) {
  llvm::Type* width = pointeeOf(op.getPointer(), cx.b);
  llvm::Value* value = cx.b.CreateTrunc(cx.useScalar(op.getValue()), width);
  AccessOptions strong;
  strong.order = Order::Acquire;
  strong.scope = Scope::System;
  auto poll = [&] {
    return pollSignal(cx, {op.getLoc(), op.getCompare(), width, cx.useScalar(op.getPointer()), value, strong});
  };
  llvm::Value* seen = nullptr;
  if (callersOf(cx, op, dist::Group::Thread).group == dist::Group::Block) {
    llvm::Value* place = cx.scratch(8, op.getLoc());
    cx.emit.blockBarrier();
    cx.when(cx.isFirstThread(), [&] { cx.storeShared(place, {poll()}); });
    cx.emit.blockBarrier();
    seen = cx.loadShared(place, width->getIntegerBitWidth(), 1)[0];
  } else {
    seen = poll();
  }
  cx.emit.orderAsyncReads();
  cx.define(op.getResult(), {cx.b.CreateSExt(seen, cx.b.getInt64Ty())});
}

static void updateSignal(KernelContext& cx, llvm::Value* pointer, llvm::Type* width, llvm::Value* value,
                         dist::SignalKind kind, Order order, Scope scope) {
  value = cx.b.CreateTrunc(value, width);
  if (kind == dist::SignalKind::Add) {
    AtomicType type = width->isIntegerTy(64) ? AtomicType::U64 : AtomicType::U32;
    return cx.emit.reduceInto(AtomicOp::Add, type, pointer, value, {order, scope, Space::Global, nullptr});
  }
  AccessOptions strong;
  strong.order = order;
  strong.scope = scope;
  cx.emit.store({value}, pointer, nullptr, strong);
}

void signalPeer(KernelContext& cx, const PeerSignal& s, Order order, Scope scope) {
  if (cx.peers) return cx.peers->signal(s, order);
  updateSignal(cx, addressOn(cx, s.pointer, s.peer), s.width, s.value, s.kind, order, scope);
}

void registerDistSignal(Lowerings& table) {
  table.on<dist::WaitOp>([](KernelContext& cx, auto o) { traced(cx, "wait", o, nullptr, [&] { lowerWait(cx, o); }); });
  table.on<dist::NotifyOp>([](KernelContext& cx, auto o) {
    lowerNotify(cx, o);
    traceInstant(cx, "signal", o, cx.useScalar(o.getPeer()));
  });
  table.on<dist::SignalWaitOp>(
      [](KernelContext& cx, auto o) { traced(cx, "wait", o, nullptr, [&] { lowerSignalWait(cx, o); }); });
  table.on<dist::SignalOp>([](KernelContext& cx, auto o) {
    PeerSignal signal{cx.useScalar(o.getPointer()), cx.useScalar(o.getPeer()), pointeeOf(o.getPointer(), cx.b),
                      cx.useScalar(o.getValue()), o.getSignal()};
    onceIn(cx, callersOf(cx, o, dist::Group::Thread), [&] { signalPeer(cx, signal, Order::Relaxed, Scope::System); });
    traceInstant(cx, "signal", o, signal.peer);
  });
  // The whole program's earlier accesses are in order before the thread that signals later.
  table.on<dist::FenceOp, dist::QuietOp>([](KernelContext& cx, auto o) {
    cx.emit.completeStores();
    Callers callers = callersOf(cx, o, dist::Group::Thread);
    syncCallers(cx, callers);
    cx.emit.fence(Scope::System);
    if (cx.peers) cx.peers->order(callers, isa<dist::QuietOp>(o));
  });
}

}  // namespace tandem::lower::gpu
