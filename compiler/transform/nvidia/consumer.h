// The consumers' side of rings: when slots are awaited and released, and which products are under way meanwhile.
#pragma once
#include "compiler/transform/nvidia/ring_plan.h"

namespace tandem::transform::nvidia {

// How a product of a ring starts and is awaited.
struct ProductTiming {
  // how many products its wait leaves under way; nothing: another product's wait is this one's as well
  std::optional<int> pending = 0;
  bool beginsAtZero = false;   // the sum of a loop that is only entered when it runs
  bool joinsPrevious = false;  // the instructions of the product before it do it too
};
using ProductTimings = llvm::DenseMap<mlir::Operation*, ProductTiming>;

// Awaits a slot of each ring before the products that read it and releases it when they are done. Products of a loop
// that only add to what it carries stay under way from each iteration to the next. Returns what differs from a product
// that is awaited where it stands.
ProductTimings consumeRings(llvm::ArrayRef<RingPlan> rings, int numWarps);

}  // namespace tandem::transform::nvidia
