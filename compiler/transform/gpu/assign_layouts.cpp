// The order of the four steps, and the pass for a GPU whose matrix units nothing uses.
#include "compiler/transform/gpu/layout_assignment.h"
#include "compiler/transform/gpu/passes.h"

namespace tandem::transform::gpu {
#define GEN_PASS_DEF_ASSIGNTHREADLAYOUTS
#include "compiler/transform/gpu/passes.h.inc"

void LayoutAssignment::run() {
  placeAnchors();
  placeCarried();
  for (auto& [depth, products] : products_) spread(products);
  placeLoads();
  spread(loads_);
  spread(stores_);
  placeUpdates();
  products_.empty() ? placeUnloaded() : placeOperands();  // What products want comes first.
  placeBuffered();
  placeDefaults();
  placeStores();
  chooseStores();
  placeOperandsOfUnits();
  insertConversions();
  hoistConversions();
  hoistDivisions();
  dropUnused();
}

namespace {

struct AssignThreadLayouts : impl::AssignThreadLayoutsBase<AssignThreadLayouts> {
  using Base::Base;
  void runOnOperation() override {
    if (failed(assignLayouts(getOperation(), Units(lanes)))) signalPassFailure();
  }
};

}  // namespace

LogicalResult assignLayouts(func::FuncOp kernel, const Units& units) {
  for (BlockArgument parameter : kernel.getArguments())
    if (isa<RankedTensorType>(parameter.getType()))
      return kernel.emitOpError() << "has a tile as parameter " << parameter.getArgNumber()
                                  << "; a kernel's parameters are scalars and pointers";
  LayoutAssignment(kernel, units).run();
  return success();
}

}  // namespace tandem::transform::gpu
