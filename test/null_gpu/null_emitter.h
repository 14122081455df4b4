// The emitter of a GPU that does nothing: it prints each request as a line, and gives the result of a call to an
// unknown function.
#pragma once
#include "compiler/lower/gpu/kernel.h"
#include <llvm/Support/raw_ostream.h>

namespace tandem::lower::null {

using gpu::AccessOptions, gpu::AtomicOp, gpu::AtomicOptions, gpu::AtomicType, gpu::Scalars, gpu::Scope, gpu::Shuffle,
    gpu::Values;

class NullEmitter : public gpu::Emitter {
 public:
  NullEmitter(llvm::IRBuilder<>& builder, llvm::Module& module, llvm::raw_ostream& out)
      : b_(builder), module_(module), out_(out) {}

  void finish(llvm::Function& function) override;
  llvm::GlobalVariable* sharedMemory(llvm::Module& module) override;

  llvm::Value* threadId() override { return quietly("thread", b_.getInt32Ty()); }
  llvm::Value* uniformWarpId() override { return ask("uniform warp id", b_.getInt32Ty()); }
  llvm::Value* blockId(int axis) override { return ask("block id " + llvm::Twine(axis), b_.getInt32Ty()); }
  llvm::Value* numBlocks(int axis) override { return ask("number of blocks " + llvm::Twine(axis), b_.getInt32Ty()); }
  llvm::Value* blockRank() override { return b_.getInt32(0); }
  llvm::Value* loadFirstBlock(llvm::Value* shared, unsigned bits) override;

  void blockBarrier() override { ask("block barrier"); }
  void warpBarrier() override { ask("warp barrier"); }
  void namedBarrier(int id, int threads, bool arriveOnly) override;

  llvm::Value* shuffle(Shuffle mode, llvm::Value* value, llvm::Value* lane, llvm::Value* mask) override;
  llvm::Value* ballot(llvm::Value* predicate, llvm::Value* mask) override {
    return ask("ballot", b_.getInt32Ty(), {predicate});
  }
  llvm::Value* activeMask() override { return ask("active mask", b_.getInt32Ty()); }

  Values load(llvm::Type* element, unsigned count, llvm::Value* pointer, llvm::Value* predicate, Scalars other,
              const AccessOptions& options) override;
  void store(Scalars values, llvm::Value* pointer, llvm::Value* predicate, const AccessOptions& options) override;
  // Integers of 32 bits, and sums of floats.
  bool hasAtomic(AtomicOp op, AtomicType type) const override;
  llvm::Value* atomic(AtomicOp op, AtomicType type, llvm::Value* pointer, llvm::Value* value,
                      const AtomicOptions& options) override;
  Values atomics(AtomicOp op, AtomicType type, llvm::Value* pointer, Scalars values,
                 const AtomicOptions& options) override;
  void reduceInto(AtomicOp op, AtomicType type, llvm::Value* pointer, Scalars values,
                  const AtomicOptions& options) override;
  llvm::Value* compareAndSwap(llvm::Value* pointer, llvm::Value* expected, llvm::Value* desired,
                              const AtomicOptions& options) override;
  void fence(Scope scope, bool sequential) override;

  llvm::Value* approximate(codegen::Approximate function, llvm::Value* x) override;
  llvm::Value* divideApproximately(llvm::Value* x, llvm::Value* y) override {
    return ask("divide", x->getType(), {x, y});
  }
  bool hasDivision(unsigned) const override { return true; }
  std::pair<llvm::Value*, llvm::Value*> divide(llvm::Value* x, llvm::Value* y, bool isSigned) override {
    llvm::StringRef sign = isSigned ? " of signed integers" : " of unsigned integers";
    return {ask("quotient" + sign, x->getType(), {x, y}), ask("remainder" + sign, x->getType(), {x, y})};
  }
  llvm::Value* multiplyWide(llvm::Value* x, llvm::Value* y) override {
    return ask("multiply wide", b_.getInt64Ty(), {x, y});
  }
  llvm::Value* integerToFloat(llvm::Value* x, bool isSigned) override {
    return ask("integer to float", b_.getFloatTy(), {x});
  }
  llvm::Value* floatToInteger(llvm::Value* x, llvm::Type* integer, bool isSigned) override {
    return ask("float to integer", integer, {x});
  }
  llvm::Value* doubleToFloat(llvm::Value* x) override { return ask("double to float", b_.getFloatTy(), {x}); }
  llvm::Value* packFloats(llvm::Type* element, llvm::Value* first, llvm::Value* second, bool towardZero) override;
  llvm::Value* callMath(llvm::StringRef name, llvm::Type* type, Scalars operands) override {
    return ask("math " + name, type, operands);
  }

  llvm::Value* globalTimer() override { return ask("timer", b_.getInt64Ty()); }
  llvm::Value* clock() override { return ask("clock", b_.getInt64Ty()); }
  llvm::Value* multiprocessor() override { return ask("multiprocessor", b_.getInt32Ty()); }
  void sleepNanoseconds(llvm::Value* nanoseconds) override { ask("sleep", {nanoseconds}); }
  void print(llvm::Value* format, Scalars values) override { ask("print", values); }
  void failAssertion(llvm::Value* message, llvm::Value* file, unsigned line, llvm::Value* function) override {
    ask("fail assertion");
  }
  void keepApart() override { ask("keep apart"); }

 private:
  llvm::Value* quietly(const llvm::Twine& what, llvm::Type* result, Scalars operands = {});
  // Prints the request: what it is, its operands' types and, behind the arrow, its result's.
  llvm::Value* ask(const llvm::Twine& what, llvm::Type* result, Scalars operands = {});
  void ask(const llvm::Twine& what, Scalars operands = {}) { ask(what, b_.getVoidTy(), operands); }

  llvm::IRBuilder<>& b_;
  llvm::Module& module_;
  llvm::raw_ostream& out_;
};

}  // namespace tandem::lower::null
