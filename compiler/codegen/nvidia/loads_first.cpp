// Weak loads are assembly that only reads memory; whatever writes it, and whatever threads do together, keeps its place.
#include "compiler/codegen/nvidia/loads_first.h"
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>

namespace tandem::codegen {
namespace {

// Values that are loaded ahead between two instructions that keep their place take at most so many registers of a thread.
constexpr uint64_t kRegistersAhead = 64;

bool isLoad(const llvm::Instruction& instruction) {
  auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  auto* assembly = call ? llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand()) : nullptr;
  return assembly && call->onlyReadsMemory() && assembly->getAsmString().contains("ld.global");
}

bool keepsItsPlace(const llvm::Instruction& instruction) {
  auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  return instruction.isTerminator() || llvm::isa<llvm::PHINode, llvm::AllocaInst>(instruction) ||
         instruction.mayHaveSideEffects() || (call && call->isConvergent());
}

uint64_t registersOf(const llvm::Instruction& load) {
  constexpr uint64_t kRegisterBits = 32;
  return llvm::divideCeil(load.getDataLayout().getTypeAllocSizeInBits(load.getType()), kRegisterBits);
}

void reorder(llvm::ArrayRef<llvm::Instruction*> stretch, const llvm::SmallPtrSetImpl<llvm::Instruction*>& loads) {
  llvm::SmallPtrSet<llvm::Value*, 32> needed(loads.begin(), loads.end());
  for (llvm::Instruction* instruction : llvm::reverse(stretch))
    if (needed.contains(instruction)) needed.insert(instruction->value_op_begin(), instruction->value_op_end());
  auto isNeeded = [&](llvm::Instruction* instruction) { return needed.contains(instruction); };
  auto* other = llvm::find_if_not(stretch, isNeeded);
  for (llvm::Instruction* instruction : llvm::make_range(other, stretch.end()))
    if (isNeeded(instruction)) instruction->moveBefore((*other)->getIterator());
}

void reorder(llvm::BasicBlock& block) {
  llvm::SmallVector<llvm::Instruction*> stretch;
  llvm::SmallPtrSet<llvm::Instruction*, 16> loads;
  uint64_t registers = 0;
  auto end = [&] {
    if (!loads.empty()) reorder(stretch, loads);
    stretch.clear();
    loads.clear();
    registers = 0;
  };
  for (llvm::Instruction& instruction : llvm::make_early_inc_range(block)) {
    if (keepsItsPlace(instruction)) {
      end();
      continue;
    }
    if (isLoad(instruction)) {
      if (registers + registersOf(instruction) > kRegistersAhead) end();
      registers += registersOf(instruction);
      loads.insert(&instruction);
    }
    stretch.push_back(&instruction);
  }
  end();
}

}  // namespace

void putLoadsFirst(llvm::Module& module) {
  for (llvm::Function& function : module)
    for (llvm::BasicBlock& block : function) reorder(block);
}

}  // namespace tandem::codegen
