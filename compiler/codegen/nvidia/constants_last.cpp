// Finds sums of disjoint bits; LLVM forms them of all that names elements of a tile, and forgets of some that they are.
#include "compiler/codegen/nvidia/constants_last.h"
#include <llvm/ADT/MapVector.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/SimplifyQuery.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/PatternMatch.h>

namespace tandem::codegen {
namespace {
using namespace llvm::PatternMatch;

struct Sum {
  llvm::BinaryOperator* whole;
  llvm::ConstantInt* last;
};

class Block {
 public:
  Block(llvm::BasicBlock& block, const llvm::Loop& loop) : block_(block), loop_(loop) {}

  void rewrite() {
    for (llvm::Instruction& instruction : block_)
      if (match(&instruction, m_DisjointOr(m_Value(), m_Value()))) read(llvm::cast<llvm::BinaryOperator>(instruction));
    for (auto& [both, sums] : sums_)
      if (sums.size() > 1) rewrite(both.first, both.second, sums);
  }

 private:
  void read(llvm::BinaryOperator& whole) {
    for (int side : {0, 1}) {
      auto* hoisted = llvm::dyn_cast<llvm::BinaryOperator>(whole.getOperand(side));
      llvm::Value* rest = whole.getOperand(1 - side);
      llvm::ConstantInt* last;
      llvm::Value* first;
      if (!hoisted || loop_.contains(hoisted) || loop_.isLoopInvariant(rest)) continue;
      if (!match(hoisted, m_DisjointOr(m_Value(first), m_ConstantInt(last)))) continue;
      sums_[{rest, first}].push_back({&whole, last});
      return;
    }
  }

  static void rewrite(llvm::Value* rest, llvm::Value* first, llvm::ArrayRef<Sum> sums) {
    llvm::IRBuilder<> b(sums.front().whole);
    llvm::Value* base = b.CreateOr(rest, first, "", /*IsDisjoint=*/true);
    for (const Sum& sum : sums) {
      sum.whole->setOperand(0, base);
      sum.whole->setOperand(1, sum.last);
    }
  }

  llvm::BasicBlock& block_;
  const llvm::Loop& loop_;
  llvm::MapVector<std::pair<llvm::Value*, llvm::Value*>, llvm::SmallVector<Sum>> sums_;
};

// The sum of a row and a constant, multiplied by a power of two, comes out of LLVM as one that may carry.
void markSums(llvm::Function& function) {
  llvm::SimplifyQuery query(function.getDataLayout());
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* sum = llvm::dyn_cast<llvm::PossiblyDisjointInst>(&instruction);
    if (sum && !sum->isDisjoint() && llvm::haveNoCommonBitsSet(sum->getOperand(0), sum->getOperand(1), query))
      sum->setIsDisjoint(true);
  }
}

}  // namespace

void putConstantsLast(llvm::Module& module) {
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    markSums(function);
    llvm::DominatorTree tree(function);
    llvm::LoopInfo loops(tree);
    for (llvm::BasicBlock& block : function)
      if (llvm::Loop* loop = loops.getLoopFor(&block)) Block(block, *loop).rewrite();
  }
}

}  // namespace tandem::codegen
