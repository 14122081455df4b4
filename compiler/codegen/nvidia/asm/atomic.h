// Atomic operations with their order and scope, which LLVM's own lose on this target.
#pragma once
#include "compiler/codegen/nvidia/asm/memory.h"

namespace tandem::codegen::ptx {

// PTX has: Add of all but B32 and B64; Min and Max of S32 to U64 (F16x2 and BF16x2 too, from sm_90 on only as vectors);
// And, Or, Xor, Exchange of B32 and B64. BF16 needs sm_90. S64 adds as U64 does. From sm_90 on, Add updates neighbours
// that 2 or 4 registers of F32, F16x2 or BF16x2 hold: each element by itself, all at an address aligned to all of them.
using codegen::AtomicOp, codegen::AtomicOptions, codegen::AtomicType;

// The old value, of `value`'s type; zero where the predicate is false.
llvm::Value* atomic(llvm::IRBuilderBase& b, AtomicOp op, AtomicType type, llvm::Value* pointer, llvm::Value* value,
                    const AtomicOptions& options = {});

// The same for neighbours, register by register.
Values atomics(llvm::IRBuilderBase& b, AtomicOp op, AtomicType type, llvm::Value* pointer, ValueRange values,
               const AtomicOptions& options = {});

// The same without the old values. Order is Relaxed or Release; Acquire and AcquireRelease are `atomic`'s.
void reduceInto(llvm::IRBuilderBase& b, AtomicOp op, AtomicType type, llvm::Value* pointer, ValueRange values,
                const AtomicOptions& options = {});

// The old value; 16, 32 or 64 bits wide, of `desired`'s type.
llvm::Value* compareAndSwap(llvm::IRBuilderBase& b, llvm::Value* pointer, llvm::Value* expected, llvm::Value* desired,
                            const AtomicOptions& options = {});

enum class ProxySpace { All, Global, Shared };

// fence.acq_rel, or fence.sc where `sequential`.
void fence(llvm::IRBuilderBase& b, Scope scope, bool sequential = false);
// Orders ordinary accesses of this thread before those of the asynchronous proxy (TMA, wgmma), and the reverse.
void fenceProxyAsync(llvm::IRBuilderBase& b, ProxySpace space = ProxySpace::All);
// Makes the initialisation of mbarriers visible to the cluster.
void fenceBarrierInit(llvm::IRBuilderBase& b);

}  // namespace tandem::codegen::ptx
