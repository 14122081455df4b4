// Waiting for a signal, and how that ends when nobody sends it: the watch of abi/dist_context.h.
#include "abi/dist_context.h"
#include "compiler/dialect/dist/compare.h"
#include "compiler/lower/gpu/debug.h"
#include "compiler/lower/gpu/dist.h"
#include <cstddef>

namespace tandem::lower::gpu {
using namespace mlir;
namespace {

constexpr int kEager = 64;  // polls without a pause
constexpr int kPause = 32;  // nanoseconds between later ones
// Polls between looks at the watch, a power of two: some 10 ms. It is in the host's memory, where one look follows the
// other, a microsecond each, so a thousand waiting programs that look at once hold up what they wait for.
constexpr int kLookEvery = 1 << 15;

AccessOptions relaxedSystem() {
  AccessOptions options;
  options.order = Order::Relaxed;
  options.scope = Scope::System;
  return options;
}

}  // namespace

static llvm::Value* compare(KernelContext& cx, dist::Compare how, llvm::Value* seen, llvm::Value* value) {
  using P = llvm::CmpInst;
  P::Predicate predicate = P::ICMP_EQ;
  switch (how) {
    case dist::Compare::Eq: break;
    case dist::Compare::Ne: predicate = P::ICMP_NE; break;
    case dist::Compare::Gt: predicate = P::ICMP_SGT; break;
    case dist::Compare::Le: predicate = P::ICMP_SLE; break;
    case dist::Compare::Lt: predicate = P::ICMP_SLT; break;
    case dist::Compare::Ge: predicate = P::ICMP_SGE; break;
  }
  return cx.b.CreateICmp(predicate, seen, value);
}

static llvm::Value* watchField(KernelContext& cx, llvm::Value* watch, size_t offset) {
  return cx.b.CreateGEP(cx.b.getInt8Ty(), watch, cx.b.getInt64(offset));
}

// The deadline is taken at the first look, as the time before that is of no account.
llvm::Value* pollSignal(KernelContext& cx, const Awaited& a) {
  llvm::BasicBlock *before = cx.b.GetInsertBlock(), *poll = cx.newBlock("poll"), *again = cx.newBlock("again"),
                   *pause = cx.newBlock("pause"), *look = cx.newBlock("look"), *judge = cx.newBlock("judge"),
                   *giveUp = cx.newBlock("give_up"), *after = cx.newBlock("seen");
  llvm::Type *word = cx.b.getInt32Ty(), *wide = cx.b.getInt64Ty();
  cx.b.CreateBr(poll);
  cx.b.SetInsertPoint(poll);
  llvm::PHINode *polls = cx.b.CreatePHI(word, 5), *deadline = cx.b.CreatePHI(wide, 5);
  llvm::Value* seen = cx.emit.load(a.width, 1, a.signal, nullptr, {}, a.access)[0];
  cx.b.CreateCondBr(compare(cx, a.how, seen, a.expected), after, again);
  cx.b.SetInsertPoint(again);
  llvm::Value* count = cx.b.CreateAdd(polls, cx.b.getInt32(1));
  cx.b.CreateCondBr(cx.b.CreateICmpULT(count, cx.b.getInt32(kEager)), poll, pause);
  cx.b.SetInsertPoint(pause);
  cx.emit.sleepNanoseconds(cx.b.getInt32(kPause));
  cx.b.CreateCondBr(cx.b.CreateICmpEQ(cx.b.CreateAnd(count, cx.b.getInt32(kLookEvery - 1)), cx.b.getInt32(0)), look,
                    poll);

  cx.b.SetInsertPoint(look);
  llvm::Value* watch = rankField(cx, offsetof(tandem_dist_context, watch), cx.b.getPtrTy(1));
  cx.b.CreateCondBr(cx.b.CreateIsNull(watch), poll, judge);
  cx.b.SetInsertPoint(judge);
  auto get = [&](llvm::Type* type, size_t offset) {
    return cx.emit.load(type, 1, watchField(cx, watch, offset), nullptr, {}, relaxedSystem())[0];
  };
  llvm::Value *stop = get(word, offsetof(tandem_dist_watch, stop)),
              *timeout = get(wide, offsetof(tandem_dist_watch, timeout_ns));
  llvm::Value *now = cx.emit.globalTimer(), *none = cx.b.getInt64(0);
  llvm::Value *limited = cx.b.CreateICmpNE(timeout, none), *first = cx.b.CreateICmpEQ(deadline, none);
  llvm::Value* isLate =
      cx.b.CreateAnd(cx.b.CreateAnd(limited, cx.b.CreateNot(first)), cx.b.CreateICmpUGE(now, deadline));
  llvm::Value* taken = cx.b.CreateSelect(cx.b.CreateAnd(limited, first), cx.b.CreateAdd(now, timeout), deadline);
  cx.b.CreateCondBr(cx.b.CreateOr(cx.b.CreateICmpNE(stop, cx.b.getInt32(0)), isLate), giveUp, poll);
  cx.b.SetInsertPoint(giveUp);
  tellWatch(cx, watch, {a.where, int(dist::compareOf(a.how)), a.signal, a.expected, seen});
  cx.b.CreateBr(after);

  polls->addIncoming(cx.b.getInt32(0), before);
  deadline->addIncoming(none, before);
  for (llvm::BasicBlock* from : {again, pause, look, judge}) {
    polls->addIncoming(count, from);
    deadline->addIncoming(from == judge ? taken : deadline, from);
  }
  cx.b.SetInsertPoint(after);
  return seen;
}

static llvm::Value* placeText(KernelContext& cx, Location where) {
  std::string place = "<unknown>:0:0";
  if (auto at = filePosition(where))
    place =
        at.getFilename().str() + ":" + std::to_string(at.getStartLine()) + ":" + std::to_string(at.getStartColumn());
  place.push_back('\0');
  return text(cx, place + cx.image.name);
}

// The first wait that gives up says where it is; the others follow it.
void tellWatch(KernelContext& cx, llvm::Value* watch, const GivenUp& what) {
  auto put = [&](size_t offset, llvm::Value* value) {
    cx.emit.store({value}, watchField(cx, watch, offset), nullptr, relaxedSystem());
  };
  auto wide = [&](llvm::Value* value) { return cx.b.CreateSExt(value, cx.b.getInt64Ty()); };
  llvm::Value* found = watchField(cx, watch, offsetof(tandem_dist_watch, found));
  llvm::Value* old = cx.emit.compareAndSwap(found, cx.b.getInt32(0), cx.b.getInt32(1),
                                            {Order::Relaxed, Scope::System, Space::Global, nullptr});
  cx.when(cx.b.CreateICmpEQ(old, cx.b.getInt32(0)), [&] {
    put(offsetof(tandem_dist_watch, place), cx.b.CreatePtrToInt(placeText(cx, what.where), cx.b.getInt64Ty()));
    for (auto [i, index] : llvm::enumerate(programIndex(cx))) put(offsetof(tandem_dist_watch, program) + 4 * i, index);
    put(offsetof(tandem_dist_watch, compare), cx.b.getInt32(what.compare));
    put(offsetof(tandem_dist_watch, signal), cx.b.CreatePtrToInt(what.signal, cx.b.getInt64Ty()));
    put(offsetof(tandem_dist_watch, expected), wide(what.expected));
    put(offsetof(tandem_dist_watch, seen), wide(what.seen));
    AccessOptions release = relaxedSystem();
    release.order = Order::Release;
    cx.emit.store({cx.b.getInt32(2)}, found, nullptr, release);
  });
  put(offsetof(tandem_dist_watch, stop), cx.b.getInt32(1));
}

}  // namespace tandem::lower::gpu
