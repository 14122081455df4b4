// The unit's stores as attributes: `tgpu.uncertain` has two numbers for each check, the dimension and the multiple.
#include "compiler/dialect/tgpu/bulk_store.h"

namespace tandem::tgpu {
using namespace mlir;

static constexpr llvm::StringLiteral kBulk = "tgpu.tma", kUncertain = "tgpu.uncertain";

void setBulk(tile::BlockStoreOp store, ArrayRef<UncertainOffset> uncertain) {
  store->setAttr(kBulk, UnitAttr::get(store.getContext()));
  SmallVector<int64_t> checks;
  for (const UncertainOffset& o : uncertain) {
    checks.push_back(llvm::find(store.getOffsets(), o.offset) - store.getOffsets().begin());
    checks.push_back(o.multiple);
  }
  if (!checks.empty()) store->setAttr(kUncertain, DenseI64ArrayAttr::get(store.getContext(), checks));
}

bool isBulk(Operation* op) { return op->hasAttr(kBulk); }

SmallVector<UncertainOffset> uncertainOffsets(tile::BlockStoreOp store) {
  SmallVector<UncertainOffset> out;
  auto checks = store->getAttrOfType<DenseI64ArrayAttr>(kUncertain);
  for (int64_t i = 0; checks && i < checks.size(); i += 2)
    out.push_back({store.getOffsets()[checks[i]], checks[i + 1]});
  return out;
}

}  // namespace tandem::tgpu
