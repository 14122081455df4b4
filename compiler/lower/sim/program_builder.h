// Appends instructions to a program and fills its pools. Knows nothing of MLIR ops.
#pragma once
#include "interpreter/program.h"
#include <initializer_list>
#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/StringMap.h>

namespace tandem::lower {

// The operation of an instruction, without its operands.
struct Code {
  interpreter::Op op;
  uint8_t sub = 0;
  interpreter::Elem elem{};
};

class ProgramBuilder {
 public:
  using Register = interpreter::Register;
  explicit ProgramBuilder(interpreter::Program& program) : program_(program) {}

  // The instruction's index. Immediates are given by name: `imm::Gather{.axis = 1}`.
  uint32_t emit(Code code, llvm::ArrayRef<Register> operands, llvm::ArrayRef<Register> results,
                llvm::ArrayRef<int64_t> immediates = {});
  uint32_t emitJump(interpreter::Op op, llvm::ArrayRef<Register> operands = {}) {
    return emit({op, 0, operands.empty() ? interpreter::Elem{} : type(operands[0]).elem}, operands, {}, {0});
  }
  // Sets the target of a jump to the next instruction.
  void bindHere(uint32_t jump) { program_.immediatePool[program_.code[jump].firstImmediate] = pc(); }
  void setTarget(uint32_t jump, uint32_t target) {
    program_.immediatePool[program_.code[jump].firstImmediate] = target;
  }
  uint32_t pc() const { return program_.code.size(); }

  Register newRegister(interpreter::RegisterType type);
  const interpreter::RegisterType& type(Register r) const { return program_.registers[r]; }
  bool isLanes(Register r) const { return type(r).extent == interpreter::Extent::Lanes; }
  int64_t string(llvm::StringRef text);

  void setLocation(uint32_t location) { location_ = location; }
  uint32_t location() const { return location_; }
  interpreter::Program& program() { return program_; }

 private:
  interpreter::Program& program_;
  uint32_t location_ = 0;
  llvm::StringMap<int64_t> strings_;
};

}  // namespace tandem::lower
