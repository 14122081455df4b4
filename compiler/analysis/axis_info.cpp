// Runs the analysis and answers questions about its result.
#include "compiler/analysis/axis_info.h"
#include "compiler/analysis/axis_solver.h"

namespace tandem::analysis {
using namespace mlir;

AxisInfoAnalysis::AxisInfoAnalysis(func::FuncOp function) { AxisInfoSolver(function, known_).run(); }

const AxisInfo& AxisInfoAnalysis::of(Value value) const {
  if (auto at = known_.find(value); at != known_.end()) return at->second;
  Type type = value.getType();
  return *unknown_.try_emplace(type, std::make_unique<AxisInfo>(unknownInfo(type))).first->second;
}

int64_t AxisInfoAnalysis::maxVectorElements(Value pointer, Value mask, int axis) const {
  const AxisInfo& address = of(pointer);
  if (axis < 0 || unsigned(axis) >= address.rank()) return 1;
  int64_t bytes = pointeeBytes(pointer.getType());
  int64_t elements =
      std::min(address.contiguity(axis), std::max<int64_t>(1, powerOfTwoIn(address.divisibility(axis) / bytes)));
  if (bytes > address.divisibility(axis)) elements = 1;
  if (mask && unsigned(axis) < of(mask).rank()) elements = std::min(elements, of(mask).constancy(axis));
  return elements;
}

}  // namespace tandem::analysis
