// Waiting for a signal, and how that ends when nobody sends it: the watch of abi/dist_context.h.
#include "abi/dist_context.h"
#include "compiler/dialect/dist/compare.h"
#include "compiler/lower/nvidia/kernel_lowering.h"
#include <cstddef>

namespace tandem::lower::nvidia {
using namespace mlir;
namespace {

constexpr int kEager = 64;        // polls without a pause
constexpr int kPause = 32;        // nanoseconds between later ones
constexpr int kLookEvery = 1024;  // polls between looks at the watch; a power of two

ptx::AccessOptions relaxedSystem() {
  ptx::AccessOptions options;
  options.order = ptx::Order::Relaxed;
  options.scope = ptx::Scope::System;
  return options;
}

}  // namespace

llvm::Value* KernelLowering::compare(dist::Compare how, llvm::Value* seen, llvm::Value* value) {
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
  return b_.CreateICmp(predicate, seen, value);
}

llvm::Value* KernelLowering::watchField(llvm::Value* watch, size_t offset) {
  return b_.CreateGEP(b_.getInt8Ty(), watch, b_.getInt64(offset));
}

// The deadline is taken at the first look, as the time before that is of no account.
llvm::Value* KernelLowering::pollSignal(const Awaited& a) {
  llvm::BasicBlock *before = b_.GetInsertBlock(), *poll = newBlock("poll"), *again = newBlock("again"), *pause = newBlock("pause"),
                   *look = newBlock("look"), *judge = newBlock("judge"), *giveUp = newBlock("give_up"), *after = newBlock("seen");
  llvm::Type *word = b_.getInt32Ty(), *wide = b_.getInt64Ty();
  b_.CreateBr(poll);
  b_.SetInsertPoint(poll);
  llvm::PHINode *polls = b_.CreatePHI(word, 5), *deadline = b_.CreatePHI(wide, 5);
  llvm::Value* seen = ptx::load(b_, a.width, 1, a.signal, nullptr, {}, a.access)[0];
  b_.CreateCondBr(compare(a.how, seen, a.expected), after, again);
  b_.SetInsertPoint(again);
  llvm::Value* count = b_.CreateAdd(polls, b_.getInt32(1));
  b_.CreateCondBr(b_.CreateICmpULT(count, b_.getInt32(kEager)), poll, pause);
  b_.SetInsertPoint(pause);
  ptx::sleepNanoseconds(b_, b_.getInt32(kPause));
  b_.CreateCondBr(b_.CreateICmpEQ(b_.CreateAnd(count, b_.getInt32(kLookEvery - 1)), b_.getInt32(0)), look, poll);

  b_.SetInsertPoint(look);
  llvm::Value* watch = rankField(offsetof(tandem_dist_context, watch), b_.getPtrTy(1));
  b_.CreateCondBr(b_.CreateIsNull(watch), poll, judge);
  b_.SetInsertPoint(judge);
  auto get = [&](llvm::Type* type, size_t offset) {
    return ptx::load(b_, type, 1, watchField(watch, offset), nullptr, {}, relaxedSystem())[0];
  };
  llvm::Value *stop = get(word, offsetof(tandem_dist_watch, stop)), *timeout = get(wide, offsetof(tandem_dist_watch, timeout_ns));
  llvm::Value *now = ptx::globalTimer(b_), *none = b_.getInt64(0);
  llvm::Value *limited = b_.CreateICmpNE(timeout, none), *first = b_.CreateICmpEQ(deadline, none);
  llvm::Value* isLate = b_.CreateAnd(b_.CreateAnd(limited, b_.CreateNot(first)), b_.CreateICmpUGE(now, deadline));
  llvm::Value* taken = b_.CreateSelect(b_.CreateAnd(limited, first), b_.CreateAdd(now, timeout), deadline);
  b_.CreateCondBr(b_.CreateOr(b_.CreateICmpNE(stop, b_.getInt32(0)), isLate), giveUp, poll);
  b_.SetInsertPoint(giveUp);
  tellWatch(watch, {a.where, int(dist::compareOf(a.how)), a.signal, a.expected, seen});
  b_.CreateBr(after);

  polls->addIncoming(b_.getInt32(0), before);
  deadline->addIncoming(none, before);
  for (llvm::BasicBlock* from : {again, pause, look, judge}) {
    polls->addIncoming(count, from);
    deadline->addIncoming(from == judge ? taken : deadline, from);
  }
  b_.SetInsertPoint(after);
  return seen;
}

// The first wait that gives up says where it is; the others follow it.
void KernelLowering::tellWatch(llvm::Value* watch, const GivenUp& what) {
  auto put = [&](size_t offset, llvm::Value* value) { ptx::store(b_, {value}, watchField(watch, offset), nullptr, relaxedSystem()); };
  auto wide = [&](llvm::Value* value) { return b_.CreateSExt(value, b_.getInt64Ty()); };
  llvm::Value* found = watchField(watch, offsetof(tandem_dist_watch, found));
  llvm::Value* old = ptx::compareAndSwap(b_, found, b_.getInt32(0), b_.getInt32(1),
                                         {ptx::Order::Relaxed, ptx::Scope::System, ptx::Space::Global, nullptr});
  when(b_.CreateICmpEQ(old, b_.getInt32(0)), [&] {
    put(offsetof(tandem_dist_watch, place), b_.CreatePtrToInt(placeText(what.where), b_.getInt64Ty()));
    for (auto [i, index] : llvm::enumerate(programIndex())) put(offsetof(tandem_dist_watch, program) + 4 * i, index);
    put(offsetof(tandem_dist_watch, compare), b_.getInt32(what.compare));
    put(offsetof(tandem_dist_watch, signal), b_.CreatePtrToInt(what.signal, b_.getInt64Ty()));
    put(offsetof(tandem_dist_watch, expected), wide(what.expected));
    put(offsetof(tandem_dist_watch, seen), wide(what.seen));
    ptx::AccessOptions release = relaxedSystem();
    release.order = ptx::Order::Release;
    ptx::store(b_, {b_.getInt32(2)}, found, nullptr, release);
  });
  put(offsetof(tandem_dist_watch, stop), b_.getInt32(1));
}

llvm::Value* KernelLowering::placeText(Location where) {
  std::string place = "<unknown>:0:0";
  if (auto at = filePosition(where))
    place = at.getFilename().str() + ":" + std::to_string(at.getStartLine()) + ":" + std::to_string(at.getStartColumn());
  place.push_back('\0');
  return text(place + image_.name);
}

}  // namespace tandem::lower::nvidia
