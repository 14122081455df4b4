// One inline assembly call under construction: operands get their constraints from their types.
#pragma once
#include "compiler/codegen/gpu/access.h"
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>
#include <string>

namespace tandem::codegen::ptx {

using codegen::ValueRange, codegen::Values;

// The effect of a call decides what LLVM may do with it.
enum class Effect {
  Pure,        // of its operands alone: may be merged and moved
  Collective,  // of its operands and of the other threads of the warp
  Reads,       // reads memory, weakly
  Acts,        // anything else; stays where it is
};

class Call {
 public:
  explicit Call(llvm::IRBuilderBase& builder) : b_(builder) {}

  // Each gives the operand's placeholder for the text. All outputs come before the first input.
  std::string out(llvm::Type* type);
  std::string in(llvm::Value* value);
  // The address of a memory operand, in brackets.
  std::string address(llvm::Value* pointer) { return "[" + in(pointer) + "]"; }
  // An output that begins as `value`.
  std::string inOut(llvm::Value* value);
  std::string outs(llvm::Type* type, size_t count);  // "{$0, $1}", without braces for one
  std::string ins(ValueRange values);
  std::string inOuts(ValueRange values);
  // An integer known at compile time becomes part of the text.
  std::string immediateOrIn(llvm::Value* value);
  // "@$4 ", or nothing for null.
  std::string guard(llvm::Value* predicate);

  // The outputs, each of the type it was asked for.
  Values emit(const std::string& text, Effect effect);
  // The outputs as LLVM returns them: nothing, a value, or a struct. Outputs must have register types.
  llvm::CallInst* emitRaw(const std::string& text, Effect effect);

 private:
  struct Output {
    llvm::Type* type;
    llvm::Type* held;  // as the register is seen by LLVM
  };
  llvm::Value* held(llvm::Value* value);

  llvm::IRBuilderBase& b_;
  llvm::SmallVector<Output, 4> outputs_;
  llvm::SmallVector<llvm::Value*, 8> inputs_, initial_;
  llvm::SmallVector<unsigned, 4> tied_;  // outputs that `initial_` belongs to
};

}  // namespace tandem::codegen::ptx
