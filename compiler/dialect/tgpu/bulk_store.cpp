// The unit's stores as attributes: `uncertain` has two numbers for each check, the dimension and the multiple.
#include "compiler/dialect/tgpu/bulk_store.h"
#include "compiler/dialect/tgpu/tgpu.h"

namespace tandem::tgpu {
using namespace mlir;

static TgpuDialect* dialectOf(Operation* op) { return op->getContext()->getLoadedDialect<TgpuDialect>(); }

void setBulk(tile::BlockStoreOp store, ArrayRef<UncertainOffset> uncertain) {
  dialectOf(store)->getTmaAttrHelper().setAttr(store, UnitAttr::get(store.getContext()));
  SmallVector<int64_t> checks;
  for (const UncertainOffset& o : uncertain) {
    checks.push_back(llvm::find(store.getOffsets(), o.offset) - store.getOffsets().begin());
    checks.push_back(o.multiple);
  }
  if (!checks.empty())
    dialectOf(store)->getUncertainAttrHelper().setAttr(store, DenseI64ArrayAttr::get(store.getContext(), checks));
}

bool isBulk(Operation* op) {
  auto store = dyn_cast<tile::BlockStoreOp>(op);
  TgpuDialect* tgpu = dialectOf(op);  // not loaded: no pass has said anything
  return store && tgpu && tgpu->getTmaAttrHelper().isAttrPresent(store);
}

bool completesOwn(tile::BlockStoreOp store) {
  return dialectOf(store)->getCompletesOwnAttrHelper().isAttrPresent(store);
}
void setCompletesOwn(tile::BlockStoreOp store) {
  dialectOf(store)->getCompletesOwnAttrHelper().setAttr(store, UnitAttr::get(store.getContext()));
}

SmallVector<UncertainOffset> uncertainOffsets(tile::BlockStoreOp store) {
  SmallVector<UncertainOffset> out;
  DenseI64ArrayAttr checks = dialectOf(store)->getUncertainAttrHelper().getAttr(store);
  for (int64_t i = 0; checks && i < checks.size(); i += 2)
    out.push_back({store.getOffsets()[checks[i]], checks[i + 1]});
  return out;
}

}  // namespace tandem::tgpu
