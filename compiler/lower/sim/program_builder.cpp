// Appends instructions to a program and fills its pools.
#include "compiler/lower/sim/program_builder.h"

namespace tandem::lower {
using namespace interpreter;

uint32_t ProgramBuilder::emit(Code code, llvm::ArrayRef<Register> operands, llvm::ArrayRef<Register> results,
                              llvm::ArrayRef<int64_t> immediates) {
  Instruction instruction;
  instruction.op = code.op;
  instruction.sub = code.sub;
  instruction.elem = code.elem;
  instruction.firstOperand = program_.operandPool.size();
  instruction.operandCount = operands.size();
  instruction.firstResult = program_.resultPool.size();
  instruction.resultCount = results.size();
  instruction.firstImmediate = program_.immediatePool.size();
  instruction.immediateCount = immediates.size();
  instruction.location = location_;
  program_.operandPool.insert(program_.operandPool.end(), operands.begin(), operands.end());
  program_.resultPool.insert(program_.resultPool.end(), results.begin(), results.end());
  program_.immediatePool.insert(program_.immediatePool.end(), immediates.begin(), immediates.end());
  program_.code.push_back(instruction);
  return program_.code.size() - 1;
}

Register ProgramBuilder::newRegister(RegisterType type) {
  program_.registers.push_back(std::move(type));
  return program_.registers.size() - 1;
}

int64_t ProgramBuilder::string(llvm::StringRef text) {
  auto [it, isNew] = strings_.try_emplace(text, program_.strings.size());
  if (isNew) program_.strings.push_back(text.str());
  return it->second;
}

}  // namespace tandem::lower
