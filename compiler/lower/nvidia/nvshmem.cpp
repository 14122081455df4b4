// Puts, gets, signals and their order by the device functions of NVSHMEM, for targets that end in "+nvshmem". The
// functions are only named here; codegen links them.
#include "compiler/lower/nvidia/nvshmem.h"
#include "abi/dist_context.h"
#include <cstddef>

namespace tandem::lower::nvidia {
using namespace mlir;

// Pointers of kernels are generic addresses, even if LLVM's type says otherwise.
void Nvshmem::call(const llvm::Twine& name, Scalars arguments) {
  llvm::IRBuilder<>& b = cx_.b;
  Regs passed;
  llvm::SmallVector<llvm::Type*> types;
  for (llvm::Value* v : arguments) {
    if (v->getType()->isPointerTy()) v = b.CreateIntToPtr(b.CreatePtrToInt(v, b.getInt64Ty()), b.getPtrTy());
    passed.push_back(v);
    types.push_back(v->getType());
  }
  auto* type = llvm::FunctionType::get(b.getVoidTy(), types, false);
  llvm::CallInst* call = b.CreateCall(cx_.module.getOrInsertFunction(name.str(), type), passed);
  call->setDoesNotThrow();
  call->setConvergent();
}

// NVSHMEM's block functions need every thread of the block: in a warp role the first warp calls.
void Nvshmem::callFor(const Callers& callers, const llvm::Twine& name, Scalars arguments) {
  bool firstWarp = callers.group == dist::Group::Block && cx_.role != Role::Block;
  if (callers.group == dist::Group::Thread)
    call("nvshmem_" + name, arguments);
  else if (callers.group == dist::Group::Block && !firstWarp)
    call("nvshmemx_" + name + "_block", arguments);
  else
    cx_.when(firstWarp ? cx_.b.CreateICmpULT(callers.index, cx_.b.getInt32(cx_.warpSize())) : nullptr,
             [&] { call("nvshmemx_" + name + "_warp", arguments); });
}

// NVSHMEM_SIGNAL_SET, NVSHMEM_SIGNAL_ADD. Its signals have 64 bits, as the language's.
llvm::Value* Nvshmem::kindOf(const PeerSignal& signal) {
  return cx_.b.getInt32(signal.kind == dist::SignalKind::Add ? 10 : 9);
}

void Nvshmem::copy(const Callers& callers, const char* name, const Copy& copy) {
  syncCallers(cx_, callers);
  callFor(callers, llvm::Twine(name) + (copy.nbi ? "_nbi" : ""), {copy.dest, copy.source, copy.bytes, copy.peer});
  syncCallers(cx_, callers);
}

void Nvshmem::put(const Callers& callers, const Copy& c) { copy(callers, "putmem", c); }
void Nvshmem::get(const Callers& callers, const Copy& c) { copy(callers, "getmem", c); }

void Nvshmem::putSignal(const Callers& callers, const Copy& copy, const PeerSignal& signal) {
  syncCallers(cx_, callers);
  callFor(callers, llvm::Twine("putmem_signal") + (copy.nbi ? "_nbi" : ""),
          {copy.dest, copy.source, copy.bytes, signal.pointer, signal.value, kindOf(signal), copy.peer});
  syncCallers(cx_, callers);
}

void Nvshmem::signal(const PeerSignal& s, Order order) {
  if (order == Order::Release) {
    cx_.emit.fence(Scope::System);
    call("nvshmem_fence", {});
  }
  call("nvshmemx_signal_op", {s.pointer, s.value, kindOf(s), s.peer});
}

void Nvshmem::putValue(llvm::Value* dest, llvm::Value* value, llvm::Value* peer) {
  call("nvshmem_uint" + llvm::Twine(value->getType()->getIntegerBitWidth()) + "_p", {dest, value, peer});
}

void Nvshmem::order(const Callers& callers, bool complete) {
  onceIn(cx_, callers, [&] { call(complete ? "nvshmem_quiet" : "nvshmem_fence", {}); });
  syncCallers(cx_, callers);
}

llvm::Value* Nvshmem::address(llvm::Value* pointer, llvm::Value* peer, Location where) {
  KernelContext& cx = cx_;
  llvm::Value* count = rankField(cx, offsetof(tandem_dist_context, rank_count), cx.b.getInt32Ty());
  llvm::Value* rank = rankField(cx, offsetof(tandem_dist_context, rank), cx.b.getInt32Ty());
  llvm::Value* known = cx.b.CreateSelect(cx.b.CreateICmpULT(peer, count), peer, rank);
  llvm::Value* offsets = rankField(cx, offsetof(tandem_dist_context, offsets), cx.b.getPtrTy(1));
  llvm::Value* offset = loadElement(cx, offsets, cx.b.getInt64Ty(), cx.b.CreateZExt(known, cx.b.getInt64Ty()));
  llvm::Value* unmapped = cx.b.CreateICmpEQ(offset, cx.b.getInt64(TANDEM_DIST_UNMAPPED));
  cx.when(unmapped, [&] {
    llvm::Value* watch = rankField(cx, offsetof(tandem_dist_context, watch), cx.b.getPtrTy(1));
    tellWatch(cx, watch, {where, TANDEM_DIST_UNMAPPED_PEER, pointer, peer, cx.b.getInt64(0)});
  });
  return cx.b.CreateGEP(cx.b.getInt8Ty(), pointer, cx.b.CreateSelect(unmapped, cx.b.getInt64(0), offset));
}

}  // namespace tandem::lower::nvidia
