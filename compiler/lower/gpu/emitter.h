// An emitter gives the instructions that a GPU has of its own; the lowerings of this room ask a target's emitter for
// them. All else they emit is LLVM IR that any GPU's back end takes: arithmetic, control flow, loads and stores of
// shared memory (address space 3).
//
// An emitter emits at the builder of the kernel under construction. Integers are i32 and predicates i1 unless said
// otherwise; a null predicate means always. All threads of a warp come together to what exchanges among them, of a
// block to a barrier.
#pragma once
#include "abi/kernel_image.h"
#include "compiler/codegen/gpu/access.h"
#include "compiler/dialect/dist/dist.h"
#include "compiler/layout/linear_layout.h"
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/IRBuilder.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tandem::lower::gpu {

using codegen::AccessOptions, codegen::AtomicOp, codegen::AtomicOptions, codegen::AtomicType, codegen::Order,
    codegen::Scope, codegen::Shuffle, codegen::Space, codegen::Values, codegen::WarpReduction;

using Scalars = llvm::ArrayRef<llvm::Value*>;

class Emitter {
 public:
  virtual ~Emitter() = default;

  //===- the kernel's frame -------------------------------------------------------------------------------------===//
  // Before anything is emitted: the shared memory of what this target's ops need, the facts of the launch.
  virtual void begin(mlir::func::FuncOp kernel) {}
  // Parameters behind the kernel's own, then, of the function that has them, their attributes.
  virtual void addParameters(mlir::func::FuncOp kernel, llvm::SmallVectorImpl<llvm::Type*>& types) {}
  virtual void markParameters(llvm::Function& function) {}
  // The first code of the kernel's body, and the last.
  virtual void enter() {}
  virtual void leave() {}
  // The function is complete: makes it a kernel.
  virtual void finish(llvm::Function& function) = 0;
  // The block's shared memory, an array of bytes in address space 3. A module has one.
  virtual llvm::GlobalVariable* sharedMemory(llvm::Module& module) = 0;

  //===- threads ------------------------------------------------------------------------------------------------===//
  virtual llvm::Value* threadId() = 0;  // in the block
  // The warp's number, which the hardware knows to be one value for the warp.
  virtual llvm::Value* uniformWarpId() = 0;
  virtual llvm::Value* blockId(int axis) = 0;  // of the program's blocks together
  virtual llvm::Value* numBlocks(int axis) = 0;
  virtual llvm::Value* gridIndex(int axis) { return blockId(axis); }  // of each block
  virtual llvm::Value* gridSize(int axis) { return numBlocks(axis); }
  // A cluster's blocks run one program. The first function gives this block's number among them, the second loads an
  // integer of `bits` from the first block's shared memory.
  virtual llvm::Value* blockRank() = 0;
  virtual llvm::Value* loadFirstBlock(llvm::Value* shared, unsigned bits) = 0;

  //===- meeting ------------------------------------------------------------------------------------------------===//
  // The block's threads that run the code being lowered; each sees afterwards what any of them did before.
  virtual void blockBarrier() = 0;
  virtual void warpBarrier() = 0;
  // The same for all threads that compute the program, in all its blocks.
  virtual void programBarrier() { blockBarrier(); }
  // `threads` threads of the block, at the barrier of this number; `arriveOnly`: this one does not wait.
  virtual void namedBarrier(int id, int threads, bool arriveOnly) = 0;

  //===- exchange in a warp -------------------------------------------------------------------------------------===//
  // `value` has 8 to 64 bits. Masks say which lanes take part; null: all.
  virtual llvm::Value* shuffle(Shuffle mode, llvm::Value* value, llvm::Value* lane, llvm::Value* mask = nullptr) = 0;
  virtual llvm::Value* ballot(llvm::Value* predicate, llvm::Value* mask = nullptr) = 0;
  virtual llvm::Value* activeMask() = 0;
  // An i32 over all lanes in one instruction; null: the target has none.
  virtual llvm::Value* reduceWarp(WarpReduction, llvm::Value*) { return nullptr; }

  // ===- memory -------------------------------------------------------------------------------------------------===//
  // `count` (1, 2, 4) neighbouring elements of `element` (8 to 64 bits), aligned to their whole size, at most 16 bytes.
  // Where `predicate` is false the result is `other`, element by element, or zero when `other` is empty.
  virtual Values load(llvm::Type* element, unsigned count, llvm::Value* pointer, llvm::Value* predicate, Scalars other,
                      const AccessOptions& options = {}) = 0;
  virtual void store(Scalars values, llvm::Value* pointer, llvm::Value* predicate,
                     const AccessOptions& options = {}) = 0;
  // Returns true if the target has this atomic instruction.
  virtual bool hasAtomic(AtomicOp, AtomicType) const = 0;
  // The old value, of `value`'s type; zero where the predicate is false.
  virtual llvm::Value* atomic(AtomicOp op, AtomicType type, llvm::Value* pointer, llvm::Value* value,
                              const AtomicOptions& options) = 0;
  // The same for 2 or 4 neighbours (F32, F16x2, BF16x2), register by register; more than one where TargetInfo says
  // hasVectorAtomics.
  virtual Values atomics(AtomicOp op, AtomicType type, llvm::Value* pointer, Scalars values,
                         const AtomicOptions& options) = 0;
  // The same without the old values. Order is Relaxed or Release.
  virtual void reduceInto(AtomicOp op, AtomicType type, llvm::Value* pointer, Scalars values,
                          const AtomicOptions& options) = 0;
  // The old value; 16, 32 or 64 bits wide.
  virtual llvm::Value* compareAndSwap(llvm::Value* pointer, llvm::Value* expected, llvm::Value* desired,
                                      const AtomicOptions& options) = 0;
  virtual void fence(Scope scope, bool sequential = false) = 0;
  // The scope in which an update releases to those who read a signal at an address of theirs.
  virtual Scope signalScope(dist::CommScope readers) const {
    return readers == dist::CommScope::Gpu ? Scope::Device : Scope::System;
  }
  // This thread waits for the stores that it has given to an asynchronous unit.
  virtual void completeStores() {}
  // Orders the ordinary accesses that the thread has seen before the reads of asynchronous units.
  virtual void orderAsyncReads() {}
  // Shared memory to registers and back by matrix instructions; only where the target says that it has these
  // (TargetInfo).
  virtual void storeMatrices(llvm::Value* base, const layout::LinearLayout& layout, Scalars source, unsigned bits,
                             bool transposed);
  virtual void loadMatrices(llvm::Value* base, const layout::LinearLayout& layout,
                            llvm::MutableArrayRef<llvm::Value*> result, unsigned bits, bool transposed);

  //===- arithmetic ---------------------------------------------------------------------------------------------===//
  // `x` is a float; a few ulp.
  virtual llvm::Value* approximate(codegen::Approximate function, llvm::Value* x) = 0;
  virtual llvm::Value* divideApproximately(llvm::Value* x, llvm::Value* y) = 0;  // floats; two ulp
  // The quotient, rounded towards zero, and the remainder of integers of 32 or 64 bits, for all operands (integer.cpp).
  // `hasDivision`: better in this kernel than what LLVM makes of a division of so many bits.
  virtual bool hasDivision(unsigned bits) const = 0;
  virtual std::pair<llvm::Value*, llvm::Value*> divide(llvm::Value* x, llvm::Value* y, bool isSigned) = 0;
  virtual llvm::Value* multiplyWide(llvm::Value* x, llvm::Value* y) = 0;  // unsigned i32 to i64
  // Towards zero; an integer of 32 or 64 bits. A float beyond its range becomes the nearest integer, NaN of a float
  // zero or, of 64 bits or from a double, anything.
  virtual llvm::Value* integerToFloat(llvm::Value* x, bool isSigned) = 0;
  virtual llvm::Value* floatToInteger(llvm::Value* x, llvm::Type* integer, bool isSigned) = 0;
  virtual llvm::Value* doubleToFloat(llvm::Value* x) = 0;  // towards zero
  // <2 x half> or <2 x bfloat> of two floats, to nearest even or towards zero.
  virtual llvm::Value* packFloats(llvm::Type* element, llvm::Value* first, llvm::Value* second, bool towardZero) = 0;
  // Two 8-bit floats as i16, `first` in the low byte; only where TargetInfo says hasFp8Convert. A value beyond the
  // largest finite one becomes that one.
  virtual llvm::Value* packFloat8(codegen::Float8 type, llvm::Value* first, llvm::Value* second);
  virtual llvm::Value* halfToFloat8(codegen::Float8 type, llvm::Value* pair);  // <2 x half>
  virtual llvm::Value* float8ToHalf(codegen::Float8 type, llvm::Value* pair);  // to <2 x half>, exactly
  // The device library's function of this C name ("exp", "fmod") for floats or doubles.
  virtual llvm::Value* callMath(llvm::StringRef name, llvm::Type* type, Scalars operands) = 0;

  //===- the rest -----------------------------------------------------------------------------------------------===//
  virtual llvm::Value* globalTimer() = 0;  // i64, nanoseconds
  virtual llvm::Value* clock() = 0;        // i64, cycles
  virtual llvm::Value* multiprocessor() = 0;
  virtual void sleepNanoseconds(llvm::Value* nanoseconds) = 0;
  // printf on the device: values are doubles and integers of 32 and 64 bits.
  virtual void print(llvm::Value* format, Scalars values) = 0;
  virtual void failAssertion(llvm::Value* message, llvm::Value* file, unsigned line, llvm::Value* function) = 0;
  // Code before and behind stays on its side.
  virtual void keepApart() = 0;
};

}  // namespace tandem::lower::gpu
