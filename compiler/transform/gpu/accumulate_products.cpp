// Sums of products, as the products' own accumulators.
#include "compiler/analysis/zeros.h"
#include "compiler/transform/gpu/passes.h"
#include <mlir/Dialect/Arith/IR/Arith.h>

namespace tandem::transform::gpu {
using namespace mlir;
#define GEN_PASS_DEF_ACCUMULATEPRODUCTS
#include "compiler/transform/gpu/passes.h.inc"
namespace {

// Tensor cores add products of eight-bit floats with fewer bits than the sum has: a kernel that adds them itself wants
// all of its bits. So do products in parts, which are to be as those of float32.
bool sumsCoarsely(tile::DotOp dot) {
  return isa<Float8E4M3FNType, Float8E5M2Type>(getElementTypeOrSelf(dot.getLhs())) ||
         llvm::is_contained({tile::Precision::Tf32x3, tile::Precision::Bf16x3, tile::Precision::Bf16x6},
                            dot.getPrecision());
}

// The product of nothing but its operands that only `sum` reads. Null: `value` is none.
tile::DotOp freshProduct(Value value, Operation* sum) {
  Operation* op = value.getDefiningOp();
  if (!op || !value.hasOneUse() || op->getBlock() != sum->getBlock()) return nullptr;
  auto dot = dyn_cast<tile::DotOp>(op);
  return dot && analysis::isZero(dot.getAcc()) && !sumsCoarsely(dot) ? dot : nullptr;
}

// The product moves to where its sum is, and begins with the other summand.
template <class Add>
void accumulate(Add sum) {
  for (auto [product, other] : {std::pair(sum.getRhs(), sum.getLhs()), std::pair(sum.getLhs(), sum.getRhs())}) {
    tile::DotOp dot = freshProduct(product, sum);
    if (!dot || !isa<RankedTensorType>(sum.getType())) continue;
    dot->moveBefore(sum);
    dot.getAccMutable().assign(other);
    sum.replaceAllUsesWith(product);
    sum.erase();
    return;
  }
}

struct AccumulateProducts : impl::AccumulateProductsBase<AccumulateProducts> {
  using Base::Base;
  void runOnOperation() override {
    getOperation().walk([](Operation* op) {
      if (auto sum = dyn_cast<arith::AddFOp>(op)) return accumulate(sum);
      if (auto sum = dyn_cast<arith::AddIOp>(op)) accumulate(sum);
    });
  }
};

}  // namespace
}  // namespace tandem::transform::gpu
