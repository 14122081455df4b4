// The dialect simt: each op is one instruction. An op that each thread executes for itself has an operand for each
// thread.
#include "compiler/dialect/simt/simt.h"
#include "compiler/lower/sim/function_lowering.h"
#include "compiler/lower/sim/types.h"
#include <llvm/ADT/TypeSwitch.h>

namespace tandem::lower {
using namespace mlir;
using namespace interpreter;
namespace {

int64_t number(auto value) { return static_cast<int64_t>(value); }

}  // namespace

void FunctionLowering::emitPerThread(Operation* op, Code code, ArrayRef<int64_t> immediates) {
  Registers operands = useAllLanes(op->getOperands());
  build_.emit(code, operands, defineAll(op->getResults()), immediates);
}

bool FunctionLowering::lowerSimt(Operation* op) {
  if (lowerSimtMemory(op) || lowerSimtShared(op) || lowerSimtBulk(op)) return true;
  auto plain = [&](Op code, Elem kind, ArrayRef<int64_t> immediates = {}) {
    return emitPlain(op, {code, 0, kind}, immediates), true;
  };
  return llvm::TypeSwitch<Operation*, bool>(op)
      .Case<simt::TidOp>([&](auto o) { return plain(Op::Tid, Elem::I32, imm::Tid{.axis = o.getAxis()}); })
      .Case<simt::NtidOp>([&](auto o) { return plain(Op::Ntid, Elem::I32, imm::Ntid{.axis = o.getAxis()}); })
      .Case<simt::SpecialOp>([&](auto o) {
        return plain(Op::Special, elemOf(o.getType()).value_or(Elem::I64), imm::Special{.which = number(o.getWhich())});
      })
      .Case<simt::BarrierOp>([&](auto) { return plain(Op::ThreadBarrier, {}); })
      .Case<simt::NamedBarrierOp>([&](auto o) {
        return plain(Op::NamedBarrier, {},
                     imm::NamedBarrier{.id = o.getId(), .threads = o.getThreads(), .arriveOnly = o.getArriveOnly()});
      })
      .Case<simt::GridBarrierOp>([&](auto) { return plain(Op::GridBarrier, {}); })
      .Case<simt::WarpBarrierOp>([&](auto) { return plain(Op::WarpBarrier, {}); })
      .Case<simt::FenceOp>([&](auto o) {
        return plain(Op::ThreadFence, {},
                     imm::ThreadFence{.semantic = number(o.getSem()), .scope = number(o.getScope())});
      })
      .Case<simt::ShuffleOp>([&](auto o) {
        return emitPerThread(o, {Op::Shuffle, 0, elem(o.getValue())}, imm::Shuffle{.mode = number(o.getMode())}), true;
      })
      .Case<simt::BallotOp>([&](auto o) { return emitPerThread(o, {Op::Ballot, 0, Elem::I32}, {}), true; })
      .Case<simt::ElectOp>([&](auto) { return plain(Op::Elect, Elem::I1); })
      .Case<simt::VectorOp>([&](auto o) {
        if (o.getElements().empty()) failUnsupported(o);
        return plain(Op::Vector, elem(o.getElements()[0]));
      })
      .Case<simt::VectorExtractOp>([&](auto o) {
        if (o.getIndex() >= static_cast<uint64_t>(o.getVector().getType().getNumElements()))
          locations_.fail(o, "unsupported",
                          "element " + std::to_string(o.getIndex()) + " of a vector of " +
                              std::to_string(o.getVector().getType().getNumElements()));
        return plain(Op::VectorExtract, elem(o.getVector()), imm::VectorExtract{.index = number(o.getIndex())});
      })
      .Case<simt::VectorBitcastOp>([&](auto o) { return plain(Op::VectorBitcast, elem(o.getSource())); })
      .Default([](Operation*) { return false; });
}

bool FunctionLowering::lowerSimtMemory(Operation* op) {
  auto plain = [&](Op code, Elem kind, ArrayRef<int64_t> immediates = {}) {
    return emitPlain(op, {code, 0, kind}, immediates), true;
  };
  return llvm::TypeSwitch<Operation*, bool>(op)
      .Case<simt::LdOp>([&](auto o) {
        return plain(Op::Ld, elemOf(o.getType()).value_or(Elem::I32),
                     imm::Ld{.semantic = number(o.getSem()), .scope = number(o.getScope()), .weak = o.getWeak()});
      })
      .Case<simt::StOp>([&](auto o) {
        return plain(Op::St, elem(o.getValue()),
                     imm::St{.semantic = number(o.getSem()), .scope = number(o.getScope()), .weak = o.getWeak()});
      })
      .Case<simt::AtomicRmwOp>([&](auto o) {
        Code code{Op::AtomicRmw, static_cast<uint8_t>(o.getRmw()), elem(o.getValue())};
        Registers operands{useLanes(o.getPointer()), useLanes(o.getValue()), kNone};
        build_.emit(code, operands, {define(o.getResult())},
                    imm::AtomicRmw{.semantic = number(o.getSem()), .scope = number(o.getScope()), .perThread = 1});
        return true;
      })
      .Case<simt::AtomicCasOp>([&](auto o) {
        return emitPerThread(
                   o, {Op::AtomicCas, 0, elem(o.getValue())},
                   imm::AtomicCas{.semantic = number(o.getSem()), .scope = number(o.getScope()), .perThread = 1}),
               true;
      })
      .Case<simt::MultimemStOp>([&](auto o) { return plain(Op::MultimemSt, elem(o.getValue())); })
      .Case<simt::MultimemLdReduceOp>(
          [&](auto o) { return plain(Op::MultimemLdReduce, elemOf(o.getType()).value_or(Elem::F32)); })
      .Default([](Operation*) { return false; });
}

bool FunctionLowering::lowerSimtShared(Operation* op) {
  auto plain = [&](Op code, Value of) { return emitPlain(op, {code, 0, elem(of)}), true; };
  return llvm::TypeSwitch<Operation*, bool>(op)
      .Case<simt::SmemAllocOp>([&](auto o) {
        Elem kind = elemOf(o.getType()).value_or(Elem::I32);
        SmallVector<int64_t> swizzle;
        if (o.getSwizzle()) llvm::append_range(swizzle, *o.getSwizzle());
        return emitValues(o, {Op::SmemAlloc, 0, kind}, {o.getInit()}, swizzle), true;
      })
      .Case<simt::SmemReadOp>([&](auto o) { return plain(Op::SmemRead, o.getBuffer()); })
      .Case<simt::SmemLoadOp>([&](auto o) { return plain(Op::SmemLoad, o.getBuffer()); })
      .Case<simt::SmemStoreOp>([&](auto o) {
        SmallVector<Value> operands{o.getBuffer(), o.getValue()};
        llvm::append_range(operands, o.getIndices());
        return emitValues(o, {Op::SmemStore, 0, elem(o.getValue())}, operands), true;
      })
      .Case<simt::SmemIndexOp>([&](auto o) { return plain(Op::SmemIndex, o.getBuffer()); })
      .Case<simt::SmemPtrOp>([&](auto o) { return plain(Op::SmemPtr, o.getBuffer()); })
      .Case<simt::SmemAtOp>([&](auto o) { return plain(Op::SmemAt, o.getAddress()); })
      .Case<simt::DynamicSmemOp>([&](auto o) { return emitPlain(o, {Op::DynamicSmem, 0, Elem::I64}), true; })
      .Default([](Operation*) { return false; });
}

}  // namespace tandem::lower
