// Ranks, their memory and signals.
#pragma once
#include "compiler/lower/gpu/kernel.h"

namespace tandem::lower::gpu {

bool usesRanks(mlir::func::FuncOp kernel);
llvm::Value* rankField(KernelContext& cx, size_t offset, llvm::Type* type);  // of abi/dist_context.h
llvm::Value* teamField(KernelContext& cx, mlir::Value team, size_t offset, llvm::Type* type);
llvm::Value* loadElement(KernelContext& cx, llvm::Value* array, llvm::Type* type, llvm::Value* index);
llvm::Value* addressOn(KernelContext& cx, llvm::Value* pointer, llvm::Value* peer);  // by stride

// The threads that make one call: their number, and this thread's among them.
struct Callers {
  llvm::Value *index = nullptr, *count = nullptr;
  dist::Group group = dist::Group::Thread;
};
// A call that `repeats` acts once for each group in a kernel with per-thread code, even if all come to it.
Callers callersOf(KernelContext& cx, mlir::Operation* op, dist::Group group);
void syncCallers(KernelContext& cx, const Callers& callers);
void onceIn(KernelContext& cx, const Callers& callers, llvm::function_ref<void()> body);

// A copy between this rank and a peer, by all callers.
struct Copy {
  llvm::Value *dest = nullptr, *source = nullptr, *bytes = nullptr, *peer = nullptr;
  bool nbi = false;
};
void getBytes(KernelContext& cx, const Callers& callers, const Copy& copy);

// `pointer` is this rank's address of the signal that changes on `peer`.
struct PeerSignal {
  llvm::Value *pointer, *peer;
  llvm::Type* width;
  llvm::Value* value;
  dist::SignalKind kind;
};
void signalPeer(KernelContext& cx, const PeerSignal& signal, Order order, Scope scope);

struct Awaited {
  mlir::Location where;
  dist::Compare how;
  llvm::Type* width;
  llvm::Value *signal, *expected;
  AccessOptions access;
};
// Gives the first value that compares true, or, where the watch ends the wait, another one.
llvm::Value* pollSignal(KernelContext& cx, const Awaited& awaited);
// A wait that a kernel gave up: `compare` as in the watch.
struct GivenUp {
  mlir::Location where;
  int compare;
  llvm::Value *signal, *expected, *seen;
};
void tellWatch(KernelContext& cx, llvm::Value* watch, const GivenUp& what);

// The device functions of a library through which peers are reached, instead of by addresses.
class PeerLibrary {
 public:
  virtual ~PeerLibrary() = default;
  virtual void put(const Callers& callers, const Copy& copy) = 0;
  virtual void get(const Callers& callers, const Copy& copy) = 0;
  virtual void putSignal(const Callers& callers, const Copy& copy, const PeerSignal& signal) = 0;
  virtual void signal(const PeerSignal& signal, Order order) = 0;
  virtual void putValue(llvm::Value* dest, llvm::Value* value, llvm::Value* peer) = 0;
  // Orders what this rank has put before what it puts later, or, `complete`, waits until it has arrived; all callers go
  // on after it.
  virtual void order(const Callers& callers, bool complete) = 0;
  // The address of a peer's memory, for accesses by the program.
  virtual llvm::Value* address(llvm::Value* pointer, llvm::Value* peer, mlir::Location where) = 0;
};

}  // namespace tandem::lower::gpu
