// Puts, gets, signals and their order by the device functions of NVSHMEM, for targets that end in "+nvshmem". The functions are only
// named here; codegen links them.
#include "abi/dist_context.h"
#include "compiler/lower/nvidia/kernel_lowering.h"
#include <cstddef>

namespace tandem::lower::nvidia {
using namespace mlir;

// Pointers of kernels are generic addresses, even if LLVM's type says otherwise.
llvm::CallInst* KernelLowering::callNvshmem(const llvm::Twine& name, llvm::Type* result, Scalars arguments) {
  Regs passed;
  llvm::SmallVector<llvm::Type*> types;
  for (llvm::Value* v : arguments) {
    if (v->getType()->isPointerTy()) v = b_.CreateIntToPtr(b_.CreatePtrToInt(v, b_.getInt64Ty()), b_.getPtrTy());
    passed.push_back(v);
    types.push_back(v->getType());
  }
  llvm::CallInst* call =
      b_.CreateCall(module_.getOrInsertFunction(name.str(), llvm::FunctionType::get(result, types, false)), passed);
  call->setDoesNotThrow();
  call->setConvergent();
  return call;
}

// NVSHMEM's block functions need every thread of the block: in a warp role the first warp calls.
void KernelLowering::callNvshmem(const Callers& callers, const llvm::Twine& name, Scalars arguments) {
  llvm::Type* none = b_.getVoidTy();
  bool firstWarp = callers.group == dist::Group::Block && role_ != 0;
  if (callers.group == dist::Group::Thread)
    callNvshmem("nvshmem_" + name, none, arguments);
  else if (callers.group == dist::Group::Block && !firstWarp)
    callNvshmem("nvshmemx_" + name + "_block", none, arguments);
  else
    when(firstWarp ? b_.CreateICmpULT(callers.index, b_.getInt32(32)) : nullptr,
         [&] { callNvshmem("nvshmemx_" + name + "_warp", none, arguments); });
}

// NVSHMEM_SIGNAL_SET, NVSHMEM_SIGNAL_ADD. Its signals have 64 bits, as the language's.
llvm::Value* KernelLowering::signalKind(dist::SignalKind kind) {
  return b_.getInt32(kind == dist::SignalKind::Add ? 10 : 9);
}

void KernelLowering::copyThroughNvshmem(const Callers& callers, const char* name, const Copy& copy) {
  syncCallers(callers);
  callNvshmem(callers, llvm::Twine(name) + (copy.nbi ? "_nbi" : ""), {copy.dest, copy.source, copy.bytes, copy.peer});
  syncCallers(callers);
}

void KernelLowering::putSignalThroughNvshmem(const Callers& callers, const Copy& copy, const PeerSignal& signal) {
  syncCallers(callers);
  callNvshmem(callers, llvm::Twine("putmem_signal") + (copy.nbi ? "_nbi" : ""),
              {copy.dest, copy.source, copy.bytes, signal.pointer, signal.value, signalKind(signal.kind), copy.peer});
  syncCallers(callers);
}

void KernelLowering::signalThroughNvshmem(const PeerSignal& s, ptx::Order order) {
  if (order == ptx::Order::Release) {
    ptx::fence(b_, ptx::Scope::System);
    callNvshmem("nvshmem_fence", b_.getVoidTy(), {});
  }
  callNvshmem("nvshmemx_signal_op", b_.getVoidTy(), {s.pointer, s.value, signalKind(s.kind), s.peer});
}

void KernelLowering::putValueThroughNvshmem(llvm::Value* dest, llvm::Value* value, llvm::Value* peer) {
  callNvshmem("nvshmem_uint" + llvm::Twine(value->getType()->getIntegerBitWidth()) + "_p", b_.getVoidTy(),
              {dest, value, peer});
}

void KernelLowering::orderNvshmem(const Callers& callers, const char* name) {
  onceIn(callers, [&] { callNvshmem(llvm::Twine("nvshmem_") + name, b_.getVoidTy(), {}); });
  syncCallers(callers);
}

// If the peer's memory is not mapped, the watch says so, and the kernel goes on with its own memory until it ends. A
// peer that does not exist may be named by lanes whose accesses are masked.
llvm::Value* KernelLowering::mappedAddress(llvm::Value* pointer, llvm::Value* peer, Location where) {
  llvm::Value* count = rankField(offsetof(tandem_dist_context, rank_count), b_.getInt32Ty());
  llvm::Value* rank = rankField(offsetof(tandem_dist_context, rank), b_.getInt32Ty());
  llvm::Value* known = b_.CreateSelect(b_.CreateICmpULT(peer, count), peer, rank);
  llvm::Value* offsets = rankField(offsetof(tandem_dist_context, offsets), b_.getPtrTy(1));
  llvm::Value* offset = loadElement(offsets, b_.getInt64Ty(), b_.CreateZExt(known, b_.getInt64Ty()));
  llvm::Value* unmapped = b_.CreateICmpEQ(offset, b_.getInt64(TANDEM_DIST_UNMAPPED));
  when(unmapped, [&] {
    llvm::Value* watch = rankField(offsetof(tandem_dist_context, watch), b_.getPtrTy(1));
    tellWatch(watch, {where, TANDEM_DIST_UNMAPPED_PEER, pointer, peer, b_.getInt64(0)});
  });
  return b_.CreateGEP(b_.getInt8Ty(), pointer, b_.CreateSelect(unmapped, b_.getInt64(0), offset));
}

}  // namespace tandem::lower::nvidia
