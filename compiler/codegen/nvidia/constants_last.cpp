// Finds sums of disjoint bits; LLVM forms them of all that names elements of a tile.
#include "compiler/codegen/nvidia/constants_last.h"
#include <llvm/ADT/MapVector.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
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

}  // namespace

void putConstantsLast(llvm::Module& module) {
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    llvm::DominatorTree tree(function);
    llvm::LoopInfo loops(tree);
    for (llvm::BasicBlock& block : function)
      if (llvm::Loop* loop = loops.getLoopFor(&block)) Block(block, *loop).rewrite();
  }
}

}  // namespace tandem::codegen
