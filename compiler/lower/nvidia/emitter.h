// NVIDIA's answers to what the lowerings of any GPU ask.
#pragma once
#include "compiler/lower/nvidia/kernel.h"
#include "compiler/target/register_plan.h"

namespace tandem::lower::nvidia {

class NvidiaEmitter : public Emitter {
 public:
  NvidiaEmitter(llvm::IRBuilder<>& builder, target::RegisterPlan plan) : b_(builder), plan_(plan) {}
  void attach(KernelContext& cx) { cx_ = &cx; }

  void begin(mlir::func::FuncOp kernel) override;
  void addParameters(mlir::func::FuncOp kernel, llvm::SmallVectorImpl<llvm::Type*>& types) override;
  void markParameters(llvm::Function& function) override;
  void enter() override;
  void leave() override;
  void finish(llvm::Function& function) override;
  llvm::GlobalVariable* sharedMemory(llvm::Module& module) override;

  llvm::Value* threadId() override;
  llvm::Value* uniformWarpId() override;
  llvm::Value* blockId(int axis) override;
  llvm::Value* numBlocks(int axis) override;
  llvm::Value* gridIndex(int axis) override;
  llvm::Value* gridSize(int axis) override;
  llvm::Value* blockRank() override;
  llvm::Value* loadFirstBlock(llvm::Value* shared, unsigned bits) override;

  void blockBarrier() override;
  void warpBarrier() override;
  void programBarrier() override;
  void namedBarrier(int id, int threads, bool arriveOnly) override;

  llvm::Value* shuffle(Shuffle mode, llvm::Value* value, llvm::Value* lane, llvm::Value* mask) override;
  llvm::Value* ballot(llvm::Value* predicate, llvm::Value* mask) override { return ptx::ballot(b_, predicate, mask); }
  llvm::Value* activeMask() override { return ptx::activeMask(b_); }
  llvm::Value* reduceWarp(WarpReduction op, llvm::Value* value) override { return ptx::reduceWarp(b_, op, value); }

  Values load(llvm::Type* element, unsigned count, llvm::Value* pointer, llvm::Value* predicate, Scalars other,
              const AccessOptions& options) override;
  void store(Scalars values, llvm::Value* pointer, llvm::Value* predicate, const AccessOptions& options) override {
    ptx::store(b_, values, pointer, predicate, options);
  }
  bool hasAtomic(AtomicOp op, AtomicType type) const override;
  llvm::Value* atomic(AtomicOp op, AtomicType type, llvm::Value* pointer, llvm::Value* value,
                      const AtomicOptions& options) override {
    return ptx::atomic(b_, op, type, pointer, value, options);
  }
  Values atomics(AtomicOp op, AtomicType type, llvm::Value* pointer, Scalars values,
                 const AtomicOptions& options) override {
    return ptx::atomics(b_, op, type, pointer, values, options);
  }
  void reduceInto(AtomicOp op, AtomicType type, llvm::Value* pointer, Scalars values,
                  const AtomicOptions& options) override {
    ptx::reduceInto(b_, op, type, pointer, values, options);
  }
  llvm::Value* compareAndSwap(llvm::Value* pointer, llvm::Value* expected, llvm::Value* desired,
                              const AtomicOptions& options) override {
    return ptx::compareAndSwap(b_, pointer, expected, desired, options);
  }
  void fence(Scope scope, bool sequential) override { ptx::fence(b_, scope, sequential); }
  void completeStores() override;
  void orderAsyncReads() override;
  void storeMatrices(llvm::Value* base, const LinearLayout& layout, Scalars source, unsigned bits,
                     bool transposed) override;
  void loadMatrices(llvm::Value* base, const LinearLayout& layout, llvm::MutableArrayRef<llvm::Value*> result,
                    unsigned bits, bool transposed) override;

  llvm::Value* approximate(codegen::Approximate function, llvm::Value* x) override {
    return ptx::approximate(b_, function, x);
  }
  llvm::Value* divideApproximately(llvm::Value* x, llvm::Value* y) override;
  bool hasDivision(unsigned bits) const override { return bits <= 32 || !multiplies_; }
  std::pair<llvm::Value*, llvm::Value*> divide(llvm::Value* x, llvm::Value* y, bool isSigned) override;
  llvm::Value* multiplyWide(llvm::Value* x, llvm::Value* y) override;
  llvm::Value* integerToFloat(llvm::Value* x, bool isSigned) override;
  llvm::Value* floatToInteger(llvm::Value* x, llvm::Type* integer, bool isSigned) override;
  llvm::Value* doubleToFloat(llvm::Value* x) override;
  llvm::Value* packFloats(llvm::Type* element, llvm::Value* first, llvm::Value* second, bool towardZero) override;
  llvm::Value* packFloat8(codegen::Float8 type, llvm::Value* first, llvm::Value* second) override;
  llvm::Value* halfToFloat8(codegen::Float8 type, llvm::Value* pair) override {
    return ptx::halfToFloat8(b_, type, pair);
  }
  llvm::Value* float8ToHalf(codegen::Float8 type, llvm::Value* pair) override {
    return ptx::float8ToHalf(b_, type, pair);
  }
  llvm::Value* callMath(llvm::StringRef name, llvm::Type* type, Scalars operands) override;

  llvm::Value* globalTimer() override { return ptx::globalTimer(b_); }
  llvm::Value* clock() override { return ptx::clock(b_); }
  llvm::Value* multiprocessor() override { return ptx::special(b_, ptx::Special::Multiprocessor); }
  void sleepNanoseconds(llvm::Value* nanoseconds) override { ptx::sleepNanoseconds(b_, nanoseconds); }
  void print(llvm::Value* format, Scalars values) override;
  void failAssertion(llvm::Value* message, llvm::Value* file, unsigned line, llvm::Value* function) override;
  void keepApart() override { ptx::Call(b_).emit("", ptx::Effect::Acts); }

 private:
  llvm::IRBuilder<>& b_;
  KernelContext* cx_ = nullptr;
  target::RegisterPlan plan_;
  bool multiplies_ = false;  // sums of products leave a thread no registers for divisions of 64 bits
  int minBlocks_ = 0;        // blocks that a multiprocessor shall hold at once; 0: the assembler decides
};

}  // namespace tandem::lower::nvidia
