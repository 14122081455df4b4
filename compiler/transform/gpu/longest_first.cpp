// Lengths of loops as sums of products, in which programs' numbers are terms.
#include "compiler/analysis/scalar_expr.h"
#include "compiler/dialect/tgpu/attributes.h"
#include "compiler/transform/gpu/passes.h"
#include "compiler/transform/gpu/waits.h"
#include <mlir/Dialect/SCF/IR/SCF.h>

namespace tandem::transform::gpu {
using namespace mlir;
#define GEN_PASS_DEF_LONGESTFIRST
#include "compiler/transform/gpu/passes.h.inc"
namespace {

constexpr unsigned kAxes = 3;

// Returns by how much the loop's length grows with the program's number along `axis`; nothing if that is not known.
std::optional<int64_t> growth(scf::ForOp loop, unsigned axis) {
  using analysis::ScalarExpr;
  ScalarExpr length = ScalarExpr::of(loop.getUpperBound()) - ScalarExpr::of(loop.getLowerBound());
  int64_t sum = 0;
  for (const ScalarExpr::Term& term : length.terms()) {
    bool has = llvm::any_of(term.symbols, [&](Value symbol) {
      auto id = symbol.getDefiningOp<tile::ProgramIdOp>();
      return id && id.getAxis() == axis;
    });
    if (has && term.symbols.size() > 1) return std::nullopt;
    if (has) sum += term.factor;
  }
  return sum;
}

bool growsAlong(func::FuncOp kernel, unsigned axis) {
  bool grows = false, isKnown = true;
  kernel.walk([&](scf::ForOp loop) {
    std::optional<int64_t> by = growth(loop, axis);
    grows |= by && *by > 0;
    isKnown &= by && *by >= 0;
  });
  return grows && isKnown;
}

struct LongestFirst : impl::LongestFirstBase<LongestFirst> {
  using Base::Base;
  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    if (mayWaitForOthers(kernel)) return;
    for (unsigned axis = 0; axis < kAxes; ++axis)
      if (growsAlong(kernel, axis)) return tgpu::setLongestFirst(kernel, axis);
  }
};

}  // namespace
}  // namespace tandem::transform::gpu
