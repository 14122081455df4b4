// This file lowers put and get (M8, M9, M10) to ordinary copies through the peer's addresses, which leave nothing to
// complete later, or to NVSHMEM.
#include "compiler/lower/gpu/dist.h"
#include "compiler/lower/gpu/trace.h"

namespace tandem::lower::gpu {
using namespace mlir;

// Copies from byte `first` to byte `end`. Four wide words at a time are under way in each thread.
static void copyWords(KernelContext& cx, const Callers& callers, llvm::Value* dest, llvm::Value* source,
                      llvm::Value* first, llvm::Value* end, unsigned wordBytes) {
  llvm::Type* part = cx.b.getIntNTy(wordBytes == 1 ? 8 : 32);
  unsigned parts = wordBytes == 16 ? 4 : 1;
  llvm::Value* begin = cx.b.CreateAdd(
      first, cx.b.CreateMul(cx.b.CreateZExt(callers.index, cx.b.getInt64Ty()), cx.b.getInt64(wordBytes)));
  llvm::Value* step = cx.b.CreateMul(cx.b.CreateZExt(callers.count, cx.b.getInt64Ty()), cx.b.getInt64(wordBytes));
  AccessOptions generic;
  generic.space = Space::Generic;
  auto move = [&](llvm::Value* at, unsigned count) {
    llvm::SmallVector<Values> words;
    SmallVector<llvm::Value*> offsets;
    for (unsigned i = 0; i < count; ++i) {
      offsets.push_back(i ? cx.b.CreateAdd(offsets.back(), step) : at);
      words.push_back(
          cx.emit.load(part, parts, cx.b.CreateGEP(cx.b.getInt8Ty(), source, offsets[i]), nullptr, {}, generic));
    }
    for (unsigned i = 0; i < count; ++i)
      cx.emit.store(words[i], cx.b.CreateGEP(cx.b.getInt8Ty(), dest, offsets[i]), nullptr, generic);
  };
  if (wordBytes == 16) {
    llvm::Value* four = cx.b.CreateMul(step, cx.b.getInt64(4));
    // The last of four words must lie before the end; the steps until then are whole.
    llvm::Value* reach = cx.b.CreateMul(step, cx.b.getInt64(3));
    llvm::Value* limit =
        cx.b.CreateSelect(cx.b.CreateICmpUGT(end, reach), cx.b.CreateSub(end, reach), cx.b.getInt64(0));
    llvm::Value* span =
        cx.b.CreateSelect(cx.b.CreateICmpUGT(limit, begin), cx.b.CreateSub(limit, begin), cx.b.getInt64(0));
    llvm::Value* rounds = cx.b.CreateUDiv(cx.b.CreateAdd(span, cx.b.CreateSub(four, cx.b.getInt64(1))), four);
    cx.forEach(begin, limit, four, [&](llvm::Value* at) { move(at, 4); });
    begin = cx.b.CreateAdd(begin, cx.b.CreateMul(rounds, four));
  }
  cx.forEach(begin, end, step, [&](llvm::Value* at) { move(at, 1); });
}

// Copies as many 16-byte words as the addresses allow, then 4-byte words, then bytes.
static void copyBytes(KernelContext& cx, const Callers& callers, llvm::Value* dest, llvm::Value* source,
                      llvm::Value* bytes) {
  llvm::Type* wide = cx.b.getInt64Ty();
  llvm::Value* both = cx.b.CreateOr(cx.b.CreatePtrToInt(dest, wide), cx.b.CreatePtrToInt(source, wide));
  llvm::Value* done = cx.b.getInt64(0);
  for (unsigned word : {16u, 4u, 1u}) {
    llvm::Value* fits = cx.b.CreateICmpEQ(cx.b.CreateAnd(both, cx.b.getInt64(word - 1)), cx.b.getInt64(0));
    llvm::Value* end = cx.b.CreateSelect(fits, cx.b.CreateAnd(bytes, cx.b.getInt64(-int64_t(word))), done);
    copyWords(cx, callers, dest, source, done, end, word);
    done = end;
  }
}

static void putBytes(KernelContext& cx, const Callers& callers, const Copy& copy) {
  if (cx.peers) return cx.peers->put(callers, copy);
  llvm::Value* dest = addressOn(cx, copy.dest, copy.peer);
  syncCallers(cx, callers);
  copyBytes(cx, callers, dest, copy.source, copy.bytes);
  syncCallers(cx, callers);
}

void getBytes(KernelContext& cx, const Callers& callers, const Copy& copy) {
  if (cx.peers) return cx.peers->get(callers, copy);
  llvm::Value* source = addressOn(cx, copy.source, copy.peer);
  syncCallers(cx, callers);
  copyBytes(cx, callers, copy.dest, source, copy.bytes);
  syncCallers(cx, callers);
}

template <class Op>
static Copy copyOf(KernelContext& cx, Op o) {
  return {cx.useScalar(o.getDest()), cx.useScalar(o.getSource()), cx.useScalar(o.getBytes()), cx.useScalar(o.getPeer()),
          o.getNbi()};
}

void registerDistCopy(Lowerings& table) {
  table.on<dist::PutOp>([](KernelContext& cx, auto o) {
    Copy copy = copyOf(cx, o);
    traced(cx, "put", o, copy.peer, [&] { putBytes(cx, callersOf(cx, o, o.getGroup()), copy); });
  });
  table.on<dist::GetOp>([](KernelContext& cx, auto o) {
    Copy copy = copyOf(cx, o);
    traced(cx, "get", o, copy.peer, [&] { getBytes(cx, callersOf(cx, o, o.getGroup()), copy); });
  });
  table.on<dist::PutSignalOp>([](KernelContext& cx, auto o) {
    Callers callers = callersOf(cx, o, o.getGroup());
    PeerSignal signal{cx.useScalar(o.getSignalPointer()), cx.useScalar(o.getPeer()),
                      cx.typeOf(cast<tile::PtrType>(o.getSignalPointer().getType()).getPointee()),
                      cx.useScalar(o.getValue()), o.getSignal()};
    traced(cx, "put", o, signal.peer, [&] {
      if (cx.peers) return cx.peers->putSignal(callers, copyOf(cx, o), signal);
      putBytes(cx, callers, copyOf(cx, o));
      onceIn(cx, callers, [&] { signalPeer(cx, signal, Order::Release, Scope::System); });
    });
    traceInstant(cx, "signal", o, signal.peer);
  });
  table.on<dist::PutValueOp>([](KernelContext& cx, auto o) {
    llvm::Value *dest = cx.useScalar(o.getDest()), *value = cx.toBits(cx.useScalar(o.getValue())),
                *peer = cx.useScalar(o.getPeer());
    onceIn(cx, callersOf(cx, o, dist::Group::Thread), [&] {
      if (cx.peers)
        cx.peers->putValue(dest, value, peer);
      else
        cx.emit.store({value}, addressOn(cx, dest, peer), nullptr);
    });
  });
}

}  // namespace tandem::lower::gpu
