// Pointers are followed from each op that writes back to the parameters, through all values that they may be.
#include "compiler/analysis/written_parameters.h"
#include "compiler/dialect/tile/tile.h"
#include <llvm/ADT/SetVector.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Interfaces/ControlFlowInterfaces.h>
#include <mlir/Interfaces/SideEffectInterfaces.h>

namespace tandem::analysis {
using namespace mlir;

namespace {

bool isPointer(Value value) { return isa<tile::PtrType>(getElementTypeOrSelf(value.getType())); }

bool writes(Operation* op) {
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  return effects && effects.hasEffect<MemoryEffects::Write>();
}

// The values that a value of a loop or branch may be: what flows into it from each place.
void addSources(RegionBranchOpInterface op, Value value, SmallVectorImpl<Value>& out) {
  RegionBranchInverseSuccessorMapping mapping;
  op.getSuccessorInputOperandMapping(mapping);
  for (OpOperand* operand : mapping.lookup(value)) out.push_back(operand->get());
}

class Search {
 public:
  void add(Value value) {
    if (isPointer(value)) pending_.insert(value);
  }

  // Returns false where a pointer's origin is no parameter.
  bool follow(llvm::SmallSetVector<unsigned, 8>& found) {
    for (size_t i = 0; i < pending_.size(); ++i) {
      SmallVector<Value> sources;
      if (!addSourcesOf(pending_[i], sources, found)) return false;
      for (Value source : sources) add(source);
    }
    return true;
  }

 private:
  bool addSourcesOf(Value pointer, SmallVectorImpl<Value>& sources, llvm::SmallSetVector<unsigned, 8>& found) {
    auto argument = dyn_cast<BlockArgument>(pointer);
    Operation* op = argument ? argument.getOwner()->getParentOp() : pointer.getDefiningOp();
    if (argument && isa<func::FuncOp>(op)) {
      found.insert(argument.getArgNumber());
      return true;
    }
    if (auto branch = dyn_cast<RegionBranchOpInterface>(op)) {
      addSources(branch, pointer, sources);
    } else if (!writes(op) && !isa<tile::LoadOp>(op)) {
      for (Value operand : op->getOperands())
        if (isPointer(operand)) sources.push_back(operand);
    }
    return !sources.empty();
  }

  llvm::SetVector<Value> pending_;
};

}  // namespace

std::optional<SmallVector<unsigned>> writtenParameters(func::FuncOp kernel) {
  Search search;
  bool known = true;
  kernel.walk([&](Operation* op) {
    if (isa<tile::PrintOp, tile::AssertOp, tile::AssumeOp, RegionBranchOpInterface>(op) || !writes(op)) return;
    if (isa<tile::InlineAsmOp>(op)) known = false;
    for (Value operand : op->getOperands()) search.add(operand);
  });
  llvm::SmallSetVector<unsigned, 8> found;
  if (!known || !search.follow(found)) return std::nullopt;
  SmallVector<unsigned> numbers = found.takeVector();
  llvm::sort(numbers);
  return numbers;
}

}  // namespace tandem::analysis
