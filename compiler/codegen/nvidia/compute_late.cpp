// Counts the registers that a block's order of instructions holds, and finds the order in which values are needed.
#include "compiler/codegen/nvidia/compute_late.h"
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>

namespace tandem::codegen {
namespace {

using Order = llvm::SmallVector<llvm::Instruction*>;

constexpr uint64_t kMostRegisters = 255;
constexpr uint64_t kForAddresses = 15;  // and for other values that the back end makes

uint64_t registersOfThread(const llvm::Function& function, const target::TargetInfo& target) {
  uint64_t threads = 0, most = kMostRegisters;
  llvm::StringRef text = function.getFnAttribute("nvvm.reqntid").getValueAsString();
  if (!text.split(',').first.getAsInteger(10, threads) && threads)
    most = std::min(most, uint64_t(target.registersPerMultiprocessor()) / threads);
  return most - std::min(most, kForAddresses);
}

uint64_t registersOf(const llvm::Value& value) {
  constexpr uint64_t kRegisterBits = 32;
  llvm::Type* type = value.getType();
  if (type->isVoidTy() || type->isIntegerTy(1) || llvm::isa<llvm::AllocaInst>(value)) return 0;
  auto* instruction = llvm::dyn_cast<llvm::Instruction>(&value);
  if (!instruction || !type->isSized()) return 0;
  return llvm::divideCeil(instruction->getDataLayout().getTypeAllocSizeInBits(type), kRegisterBits);
}

bool isOrdered(const llvm::Instruction& instruction) {
  auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  return instruction.isTerminator() || llvm::isa<llvm::AllocaInst>(instruction) || instruction.mayReadOrWriteMemory() ||
         instruction.mayHaveSideEffects() || (call && call->isConvergent());
}

// wgmma takes its sums from the registers of the product before: what reads them there must not come to stand behind it.
bool isAsynchronousProduct(const llvm::Instruction& instruction) {
  auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  auto* assembly = call ? llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand()) : nullptr;
  return assembly && assembly->getAsmString().contains("wgmma");
}

bool isUsedElsewhere(const llvm::Instruction& instruction) {
  return llvm::any_of(instruction.users(), [&](const llvm::User* user) {
    auto* other = llvm::cast<llvm::Instruction>(user);
    return other->getParent() != instruction.getParent() || llvm::isa<llvm::PHINode>(other);
  });
}

// Returns the most registers that are held at once. What comes from elsewhere is held all the time, what goes there from
// where it is computed to the end.
uint64_t registersHeld(llvm::ArrayRef<llvm::Instruction*> order) {
  llvm::DenseMap<const llvm::Value*, size_t> lastUse;
  llvm::SmallPtrSet<const llvm::Value*, 32> inside(order.begin(), order.end());
  uint64_t held = 0;
  for (auto [place, instruction] : llvm::enumerate(order))
    for (const llvm::Value* operand : instruction->operand_values())
      if (llvm::isa<llvm::Instruction>(operand))
        if (lastUse.insert_or_assign(operand, place).second && !inside.contains(operand)) held += registersOf(*operand);
  llvm::SmallVector<uint64_t> ended(order.size(), 0);
  for (auto [value, place] : lastUse)
    if (inside.contains(value) && !isUsedElsewhere(*llvm::cast<llvm::Instruction>(value)))
      ended[place] += registersOf(*value);
  uint64_t most = held;
  for (auto [place, instruction] : llvm::enumerate(order)) {
    held -= ended[place];
    if (lastUse.contains(instruction) || isUsedElsewhere(*instruction)) held += registersOf(*instruction);
    most = std::max(most, held);
  }
  return most;
}

// Returns the order in which each value is computed just before what needs it first.
Order byNeed(llvm::ArrayRef<llvm::Instruction*> given) {
  llvm::SmallPtrSet<llvm::Value*, 32> waiting;
  for (llvm::Instruction* instruction : given)
    if (!isOrdered(*instruction)) waiting.insert(instruction);
  Order order;
  // An instruction waits beside the number of its operands that have been looked at.
  llvm::SmallVector<std::pair<llvm::Instruction*, unsigned>> stack;
  auto compute = [&](llvm::Instruction* root) {
    stack.push_back({root, 0});
    while (!stack.empty()) {
      auto& [instruction, next] = stack.back();
      if (next == instruction->getNumOperands()) {
        order.push_back(instruction);
        stack.pop_back();
        continue;
      }
      llvm::Value* operand = instruction->getOperand(next++);
      if (waiting.erase(operand)) stack.push_back({llvm::cast<llvm::Instruction>(operand), 0});
    }
  };
  for (llvm::Instruction* instruction : given) {
    bool isLast = instruction->isTerminator();
    if (isLast)
      for (llvm::Instruction* rest : given)
        if (waiting.erase(rest)) compute(rest);
    if (isOrdered(*instruction)) compute(instruction);
  }
  return order;
}

void reorder(llvm::BasicBlock& block, uint64_t registers) {
  Order given;
  for (llvm::Instruction& instruction : llvm::make_range(block.getFirstNonPHIIt(), block.end())) {
    if (isAsynchronousProduct(instruction)) return;
    given.push_back(&instruction);
  }
  if (given.size() < registers) return;
  uint64_t held = registersHeld(given);
  if (held <= registers) return;
  Order order = byNeed(given);
  // ptxas puts off loads, too, where it would hold too much, and this order is in the way of that: a third must be saved.
  if (3 * registersHeld(order) > 2 * held) return;
  for (llvm::Instruction* instruction : order) instruction->moveBefore(block, block.end());
}

}  // namespace

void computeLate(llvm::Module& module, const target::TargetInfo& target) {
  for (llvm::Function& function : module)
    for (llvm::BasicBlock& block : function) reorder(block, registersOfThread(function, target));
}

}  // namespace tandem::codegen
