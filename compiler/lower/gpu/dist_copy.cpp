// This file lowers put and get (M8, M9, M10) to ordinary copies through the peer's addresses, which leave nothing to
// complete later, or to NVSHMEM.
#include "compiler/lower/nvidia/kernel_lowering.h"
#include <llvm/ADT/TypeSwitch.h>

namespace tandem::lower::nvidia {
using namespace mlir;

bool KernelLowering::lowerDistCopy(Operation* op) {
  auto copyOf = [&](auto o) {
    return Copy{useScalar(o.getDest()), useScalar(o.getSource()), useScalar(o.getBytes()), useScalar(o.getPeer()), o.getNbi()};
  };
  return llvm::TypeSwitch<Operation*, bool>(op)
      .Case<dist::PutOp>([&](auto o) {
        Copy copy = copyOf(o);
        return traced("put", o, copy.peer, [&] { putBytes(callersOf(o, o.getGroup()), copy); }), true;
      })
      .Case<dist::GetOp>([&](auto o) {
        Copy copy = copyOf(o);
        return traced("get", o, copy.peer, [&] { getBytes(callersOf(o, o.getGroup()), copy); }), true;
      })
      .Case<dist::PutSignalOp>([&](auto o) {
        Callers callers = callersOf(o, o.getGroup(), o.getSignal() == dist::SignalKind::Add);
        PeerSignal signal{useScalar(o.getSignalPointer()), useScalar(o.getPeer()),
                          typeOf(cast<tile::PtrType>(o.getSignalPointer().getType()).getPointee()), useScalar(o.getValue()),
                          o.getSignal()};
        traced("put", o, signal.peer, [&] {
          if (throughNvshmem()) return putSignalThroughNvshmem(callers, copyOf(o), signal);
          putBytes(callers, copyOf(o));
          onceIn(callers, [&] { signalPeer(signal, ptx::Order::Release, ptx::Scope::System); });
        });
        traceInstant("signal", o, signal.peer);
        return true;
      })
      .Case<dist::PutValueOp>([&](auto o) {
        llvm::Value *dest = useScalar(o.getDest()), *value = toBits(useScalar(o.getValue())), *peer = useScalar(o.getPeer());
        onceIn(callersOf(o, dist::Group::Thread), [&] {
          if (throughNvshmem()) putValueThroughNvshmem(dest, value, peer);
          else ptx::store(b_, {value}, addressOn(dest, peer), nullptr);
        });
        return true;
      })
      .Default([](Operation*) { return false; });
}

void KernelLowering::putBytes(const Callers& callers, const Copy& copy) {
  if (throughNvshmem()) return copyThroughNvshmem(callers, "putmem", copy);
  llvm::Value* dest = addressOn(copy.dest, copy.peer);
  syncCallers(callers);
  copyBytes(callers, dest, copy.source, copy.bytes);
  syncCallers(callers);
}

void KernelLowering::getBytes(const Callers& callers, const Copy& copy) {
  if (throughNvshmem()) return copyThroughNvshmem(callers, "getmem", copy);
  llvm::Value* source = addressOn(copy.source, copy.peer);
  syncCallers(callers);
  copyBytes(callers, copy.dest, source, copy.bytes);
  syncCallers(callers);
}

// Copies as many 16-byte words as the addresses allow, then 4-byte words, then bytes.
void KernelLowering::copyBytes(const Callers& callers, llvm::Value* dest, llvm::Value* source, llvm::Value* bytes) {
  llvm::Type* wide = b_.getInt64Ty();
  llvm::Value* both = b_.CreateOr(b_.CreatePtrToInt(dest, wide), b_.CreatePtrToInt(source, wide));
  llvm::Value* done = b_.getInt64(0);
  for (unsigned word : {16u, 4u, 1u}) {
    llvm::Value* fits = b_.CreateICmpEQ(b_.CreateAnd(both, b_.getInt64(word - 1)), b_.getInt64(0));
    llvm::Value* end = b_.CreateSelect(fits, b_.CreateAnd(bytes, b_.getInt64(-int64_t(word))), done);
    copyWords(callers, dest, source, done, end, word);
    done = end;
  }
}

// Copies from byte `first` to byte `end`. Four wide words at a time are under way in each thread.
void KernelLowering::copyWords(const Callers& callers, llvm::Value* dest, llvm::Value* source, llvm::Value* first, llvm::Value* end,
                               unsigned wordBytes) {
  llvm::Type* part = b_.getIntNTy(wordBytes == 1 ? 8 : 32);
  unsigned parts = wordBytes == 16 ? 4 : 1;
  llvm::Value* begin = b_.CreateAdd(first, b_.CreateMul(b_.CreateZExt(callers.index, b_.getInt64Ty()), b_.getInt64(wordBytes)));
  llvm::Value* step = b_.CreateMul(b_.CreateZExt(callers.count, b_.getInt64Ty()), b_.getInt64(wordBytes));
  ptx::AccessOptions generic;
  generic.space = ptx::Space::Generic;
  auto move = [&](llvm::Value* at, unsigned count) {
    llvm::SmallVector<ptx::Values> words;
    SmallVector<llvm::Value*> offsets;
    for (unsigned i = 0; i < count; ++i) {
      offsets.push_back(i ? b_.CreateAdd(offsets.back(), step) : at);
      words.push_back(ptx::load(b_, part, parts, b_.CreateGEP(b_.getInt8Ty(), source, offsets[i]), nullptr, {}, generic));
    }
    for (unsigned i = 0; i < count; ++i) ptx::store(b_, words[i], b_.CreateGEP(b_.getInt8Ty(), dest, offsets[i]), nullptr, generic);
  };
  if (wordBytes == 16) {
    llvm::Value* four = b_.CreateMul(step, b_.getInt64(4));
    // The last of four words must lie before the end; the steps until then are whole.
    llvm::Value* reach = b_.CreateMul(step, b_.getInt64(3));
    llvm::Value* limit = b_.CreateSelect(b_.CreateICmpUGT(end, reach), b_.CreateSub(end, reach), b_.getInt64(0));
    llvm::Value* span = b_.CreateSelect(b_.CreateICmpUGT(limit, begin), b_.CreateSub(limit, begin), b_.getInt64(0));
    llvm::Value* rounds = b_.CreateUDiv(b_.CreateAdd(span, b_.CreateSub(four, b_.getInt64(1))), four);
    forEach(begin, limit, four, [&](llvm::Value* at) { move(at, 4); });
    begin = b_.CreateAdd(begin, b_.CreateMul(rounds, four));
  }
  forEach(begin, end, step, [&](llvm::Value* at) { move(at, 1); });
}

}  // namespace tandem::lower::nvidia
