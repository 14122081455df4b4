// Reads each sum of integers in a loop as an affine one.
#include "compiler/analysis/affine_reader.h"
#include "compiler/transform/gpu/drop_carried.h"
#include "compiler/transform/gpu/passes.h"
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/SCF/IR/SCF.h>

namespace tandem::transform::gpu {
using namespace mlir;
#define GEN_PASS_DEF_SHARECOUNTERS
#include "compiler/transform/gpu/passes.h.inc"
namespace {

// Replaces what always is the loop's index; returns true if there was any.
bool shareIndex(scf::ForOp loop, const analysis::AxisInfoAnalysis& axes) {
  if (loop.getRegionIterArgs().empty()) return false;
  analysis::AffineReader reader(&axes);
  Value index = loop.getInductionVar();
  auto isIndex = [&](Value v) {
    if (v.getType() != index.getType() || v.use_empty()) return false;
    auto reading = reader.read(v);
    return reading && reading->isUniform() && !reading->base && reading->rest == analysis::ScalarExpr::symbol(index);
  };
  SmallVector<Value> same(llvm::make_filter_range(loop.getRegionIterArgs(), isIndex));
  loop.getBody()->walk([&](Operation* op) {
    if (isa<arith::AddIOp, arith::SubIOp>(op) && isIndex(op->getResult(0))) same.push_back(op->getResult(0));
  });
  for (Value v : same) v.replaceAllUsesWith(index);
  return !same.empty();
}

struct ShareCounters : impl::ShareCountersBase<ShareCounters> {
  using Base::Base;
  void runOnOperation() override {
    func::FuncOp kernel = getOperation();
    bool changed = false;
    {
      analysis::AxisInfoAnalysis axes(kernel);
      kernel.walk([&](scf::ForOp loop) { changed |= shareIndex(loop, axes); });
    }
    if (changed) dropCarried(kernel);
    cleanUp(changed);
  }
};

}  // namespace
}  // namespace tandem::transform::gpu
