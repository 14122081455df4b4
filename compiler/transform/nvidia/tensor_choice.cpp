// Decides one condition after the other until the host knows base, shape and strides.
#include "compiler/transform/nvidia/tensor_choice.h"

namespace tandem::transform::nvidia {
using namespace mlir;
namespace {

class Choices {
 public:
  explicit Choices(tile::BlockLoadOp load) : load_(load) {
    parts_.push_back(load.getBase());
    llvm::append_range(parts_, load.getShape());
    llvm::append_range(parts_, load.getStrides());
  }

  std::optional<TensorChoice> find(const analysis::Facts& facts) {
    TensorChoice choice{facts, nullptr, nullptr, nullptr};
    const Value* open = llvm::find_if(parts_, [&](Value v) { return !analysis::hostExpr(v, facts); });
    if (open == parts_.end()) return choice;
    choice.condition = analysis::undecided(*open, facts);
    if (!choice.condition || --left_ < 0 || !isKnown(choice.condition)) return std::nullopt;
    for (bool holds : {true, false}) {
      analysis::Facts more = facts;
      more.push_back({choice.condition, holds});
      std::optional<TensorChoice> side = find(more);
      if (!side) return std::nullopt;
      (holds ? choice.then : choice.otherwise) = std::make_shared<TensorChoice>(std::move(*side));
    }
    return choice;
  }

 private:
  bool isKnown(Value condition) { return condition.getParentRegion()->isAncestor(load_->getParentRegion()); }

  tile::BlockLoadOp load_;
  SmallVector<Value> parts_;
  int left_ = 8;  // conditions that are still looked at
};

}  // namespace

std::optional<TensorChoice> tensorChoice(tile::BlockLoadOp load) { return Choices(load).find({}); }

}  // namespace tandem::transform::nvidia
