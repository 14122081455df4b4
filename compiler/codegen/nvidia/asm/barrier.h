// Barriers of a block: the numbered ones, and mbarriers in shared memory.
#pragma once
#include "compiler/codegen/nvidia/asm/call.h"

namespace tandem::codegen::ptx {

// Waits until `threads` threads (a multiple of 32) have come to barrier `id` (0 to 15).
void barrierSync(llvm::IRBuilderBase& b, llvm::Value* id, llvm::Value* threads);
void barrierSync(llvm::IRBuilderBase& b, int id, int threads);
// Counts this thread without waiting; `threads` includes those that wait.
void barrierArrive(llvm::IRBuilderBase& b, llvm::Value* id, llvm::Value* threads);
void barrierArrive(llvm::IRBuilderBase& b, int id, int threads);

// `barrier` is 8 bytes of shared memory, aligned to 8. A phase ends after `count` arrivals and all expected bytes.
void mbarrierInit(llvm::IRBuilderBase& b, llvm::Value* barrier, llvm::Value* count, llvm::Value* predicate = nullptr);
void mbarrierInvalidate(llvm::IRBuilderBase& b, llvm::Value* barrier, llvm::Value* predicate = nullptr);
void mbarrierArrive(llvm::IRBuilderBase& b, llvm::Value* barrier, llvm::Value* predicate = nullptr);
// Arrives at the barrier of another block of the cluster; `barrier` is an address that `mapShared` gave. With
// `publishes`, a thread that waits there sees this thread's earlier writes; that costs about a microsecond.
void mbarrierArriveRemote(llvm::IRBuilderBase& b, llvm::Value* barrier, llvm::Value* predicate = nullptr,
                          bool publishes = true);
// Arrives and adds `bytes` to those that this phase waits for.
// The barrier hears from this thread when the copies by cp.async that it has started are there; it expects to.
void mbarrierArriveCopies(llvm::IRBuilderBase& b, llvm::Value* barrier);
void mbarrierArriveExpect(llvm::IRBuilderBase& b, llvm::Value* barrier, llvm::Value* bytes,
                          llvm::Value* predicate = nullptr);
// This phase waits for so many bytes less, as if they had come.
void mbarrierComplete(llvm::IRBuilderBase& b, llvm::Value* barrier, llvm::Value* bytes);
// Adds `bytes` without arriving.
void mbarrierExpect(llvm::IRBuilderBase& b, llvm::Value* barrier, llvm::Value* bytes, llvm::Value* predicate = nullptr);

// Waits until the phase of parity `parity` (i32, 0 or 1) has ended; needs hasMbarrierTryWait. Threads with a false
// predicate pass.
void mbarrierWait(llvm::IRBuilderBase& b, llvm::Value* barrier, llvm::Value* parity, llvm::Value* predicate = nullptr);
// The same by polling, for targets without try_wait.
void mbarrierPoll(llvm::IRBuilderBase& b, llvm::Value* barrier, llvm::Value* parity, llvm::Value* predicate = nullptr);
// Returns an i1, which is true if the phase has ended; does not wait.
llvm::Value* mbarrierTest(llvm::IRBuilderBase& b, llvm::Value* barrier, llvm::Value* parity);

}  // namespace tandem::codegen::ptx
