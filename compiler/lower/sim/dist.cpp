// The dialect dist: one instruction an op.
#include "compiler/dialect/dist/compare.h"
#include "compiler/lower/sim/function_lowering.h"
#include "compiler/lower/sim/types.h"
#include <llvm/ADT/TypeSwitch.h>

namespace tandem::lower {
using namespace mlir;
using namespace interpreter;
namespace {

int64_t number(auto value) { return static_cast<int64_t>(value); }

// A signal's width is its pointer's.
Elem pointeeOf(Value pointer) {
  auto type = dyn_cast<tile::PtrType>(getElementTypeOrSelf(pointer.getType()));
  return type ? elemOf(type.getPointee()).value_or(Elem::I64) : Elem::I64;
}

}  // namespace

bool FunctionLowering::lowerDist(Operation* op) {
  if (lowerDistTransfer(op) || lowerDistSignal(op)) return true;
  auto values = [&](Code code, ArrayRef<Value> operands, ArrayRef<int64_t> immediates = {}) {
    return emitValues(op, code, operands, immediates), true;
  };
  return llvm::TypeSwitch<Operation*, bool>(op)
      .Case<dist::RankOp>([&](auto o) { return values({Op::Rank, 0, Elem::I32}, {o.getTeam()}); })
      .Case<dist::NumRanksOp>([&](auto o) { return values({Op::NumRanks, 0, Elem::I32}, {o.getTeam()}); })
      .Case<dist::ConsumeTokenOp>([&](auto o) {
        // The token only orders: the value stays the same, even when each thread has a token.
        build_.emit({Op::ConsumeToken, 0, elem(o.getValue())}, {use(o.getValue()), use(o.getToken())},
                    {define(o.getResult())});
        return true;
      })
      .Case<dist::FenceOp>([&](auto o) { return values({Op::Fence, 0, Elem::I32}, {o.getPeer()}); })
      .Case<dist::QuietOp>([&](auto o) { return values({Op::Quiet, 0, Elem::I32}, {o.getPeer()}); })
      .Case<dist::BarrierOp>([&](auto o) {
        return values({Op::Barrier, 0, Elem::I32}, {o.getTeam()},
                      imm::Barrier{.syncOnly = o.getSyncOnly(), .group = number(o.getGroup())});
      })
      .Case<dist::BroadcastOp>([&](auto o) {
        return values({Op::Broadcastmem, 0, pointeeOf(o.getDest())},
                      {o.getTeam(), o.getDest(), o.getSource(), o.getBytes(), o.getRoot()},
                      imm::Broadcastmem{.group = number(o.getGroup()),
                                        .isBarrier = o.getBarrier(),
                                        .type = o.getElement() ? build_.string(*o.getElement()) : -1});
      })
      .Case<dist::FcollectOp>([&](auto o) {
        return values({Op::Fcollect, 0, pointeeOf(o.getDest())},
                      {o.getTeam(), o.getDest(), o.getSource(), o.getBytes()},
                      imm::Fcollect{.group = number(o.getGroup()),
                                    .isBarrier = o.getBarrier(),
                                    .type = o.getElement() ? build_.string(*o.getElement()) : -1});
      })
      .Default([](Operation*) { return false; });
}

bool FunctionLowering::lowerDistTransfer(Operation* op) {
  auto values = [&](Code code, ArrayRef<Value> operands, ArrayRef<int64_t> immediates = {}) {
    return emitValues(op, code, operands, immediates), true;
  };
  return llvm::TypeSwitch<Operation*, bool>(op)
      .Case<dist::PutOp>([&](auto o) {
        return values({Op::Put, 0, pointeeOf(o.getDest())}, {o.getDest(), o.getSource(), o.getBytes(), o.getPeer()},
                      imm::Put{.nbi = o.getNbi(), .group = number(o.getGroup())});
      })
      .Case<dist::PutSignalOp>([&](auto o) {
        return values({Op::PutSignal, 0, pointeeOf(o.getSignalPointer())},
                      {o.getDest(), o.getSource(), o.getBytes(), o.getSignalPointer(), o.getValue(), o.getPeer()},
                      imm::PutSignal{.nbi = o.getNbi(), .kind = number(o.getSignal()), .group = number(o.getGroup())});
      })
      .Case<dist::GetOp>([&](auto o) {
        return values({Op::Get, 0, pointeeOf(o.getDest())}, {o.getDest(), o.getSource(), o.getBytes(), o.getPeer()},
                      imm::Get{.nbi = o.getNbi(), .group = number(o.getGroup())});
      })
      .Case<dist::PutValueOp>([&](auto o) {
        return values({Op::PutValue, 0, elem(o.getValue())}, {o.getDest(), o.getValue(), o.getPeer()});
      })
      .Default([](Operation*) { return false; });
}

bool FunctionLowering::lowerDistSignal(Operation* op) {
  auto values = [&](Code code, ArrayRef<Value> operands, ArrayRef<int64_t> immediates) {
    return emitValues(op, code, operands, immediates), true;
  };
  return llvm::TypeSwitch<Operation*, bool>(op)
      .Case<dist::WaitOp>([&](auto o) {
        return values({Op::Wait, 0, elem(o.getValue())}, {o.getPointer(), o.getCount(), o.getValue()},
                      imm::Wait{.scope = number(o.getScope()),
                                .semantic = number(o.getSem()),
                                .compare = number(dist::compareOf(o.getCompare()))});
      })
      .Case<dist::NotifyOp>([&](auto o) {
        return values({Op::Notify, 0, pointeeOf(o.getPointer())}, {o.getPointer(), o.getPeer(), o.getValue()},
                      imm::Notify{.kind = number(o.getSignal()), .scope = number(dist::memoryScope(o.getScope()))});
      })
      .Case<dist::SignalOp>([&](auto o) {
        return values({Op::Signal, 0, pointeeOf(o.getPointer())}, {o.getPointer(), o.getValue(), o.getPeer()},
                      imm::Signal{.kind = number(o.getSignal())});
      })
      .Case<dist::SignalWaitOp>([&](auto o) {
        return values({Op::SignalWait, 0, pointeeOf(o.getPointer())}, {o.getPointer(), o.getValue()},
                      imm::SignalWait{.compare = number(dist::compareOf(o.getCompare()))});
      })
      .Default([](Operation*) { return false; });
}

}  // namespace tandem::lower
