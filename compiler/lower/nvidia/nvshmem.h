// Peers through NVSHMEM.
#pragma once
#include "compiler/lower/gpu/dist.h"
#include "compiler/lower/nvidia/kernel.h"

namespace tandem::lower::nvidia {

class Nvshmem : public PeerLibrary {
 public:
  explicit Nvshmem(KernelContext& cx) : cx_(cx) {}
  void put(const Callers& callers, const Copy& copy) override;
  void get(const Callers& callers, const Copy& copy) override;
  void putSignal(const Callers& callers, const Copy& copy, const PeerSignal& signal) override;
  void signal(const PeerSignal& signal, Order order) override;
  void putValue(llvm::Value* dest, llvm::Value* value, llvm::Value* peer) override;
  void order(const Callers& callers, bool complete) override;
  // If the peer's memory is not mapped, the watch says so, and the kernel goes on with its own memory until it ends. A
  // peer that does not exist may be named by lanes whose accesses are masked.
  llvm::Value* address(llvm::Value* pointer, llvm::Value* peer, mlir::Location where) override;

 private:
  // Calls the function `name`, or its form for the group.
  void call(const llvm::Twine& name, Scalars arguments);
  void callFor(const Callers& callers, const llvm::Twine& name, Scalars arguments);
  void copy(const Callers& callers, const char* name, const Copy& copy);
  llvm::Value* kindOf(const PeerSignal& signal);

  KernelContext& cx_;
};

}  // namespace tandem::lower::nvidia
