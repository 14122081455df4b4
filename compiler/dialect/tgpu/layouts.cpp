// Layouts as attributes.
#include "compiler/dialect/tgpu/layouts.h"
#include "compiler/dialect/tgpu/tgpu.h"
#include <mlir/Dialect/SCF/IR/SCF.h>

namespace tandem::tgpu {
using namespace mlir;
using layout::Dim;
using layout::LinearLayout;
namespace {

// The attribute that holds a value's layout, and the place in it. A loop's carried values share its results' layouts,
// but for the values of a while's condition region, which have the inits' number and order.
struct Home {
  Operation* op;
  StringAttr name;
  unsigned index, count;
};

Home homeOf(Value value) {
  auto* tgpu = value.getContext()->getLoadedDialect<TgpuDialect>();
  StringAttr results = tgpu->getLayoutAttrHelper().getName();
  if (auto result = dyn_cast<OpResult>(value))
    return {result.getOwner(), results, result.getResultNumber(), result.getOwner()->getNumResults()};
  auto argument = cast<BlockArgument>(value);
  Operation* parent = argument.getOwner()->getParentOp();
  if (auto loop = dyn_cast<scf::ForOp>(parent))
    return {parent, results, argument.getArgNumber() - 1, loop->getNumResults()};
  auto loop = cast<scf::WhileOp>(parent);
  if (argument.getOwner() == loop.getBeforeBody())
    return {parent, tgpu->getBeforeLayoutAttrHelper().getName(), argument.getArgNumber(),
            loop.getBeforeBody()->getNumArguments()};
  return {parent, results, argument.getArgNumber(), loop->getNumResults()};
}

tgpu::LayoutAttr attributeOf(const Home& home) {
  auto list = home.op->getAttrOfType<ArrayAttr>(home.name);
  return list ? dyn_cast<tgpu::LayoutAttr>(list[home.index]) : nullptr;
}

layout::Bases basesOf(ArrayRef<int64_t> list) { return layout::Bases(list.begin(), list.end()); }
SmallVector<int64_t> listOf(ArrayRef<uint64_t> bases) { return SmallVector<int64_t>(bases.begin(), bases.end()); }

}  // namespace

LinearLayout layoutOf(Value value) {
  tgpu::LayoutAttr attribute = attributeOf(homeOf(value));
  return LinearLayout(attribute.getShape(), basesOf(attribute.getRegisters()), basesOf(attribute.getLanes()),
                      basesOf(attribute.getWarps()));
}

void setLayout(Value value, const LinearLayout& layout) {
  Home home = homeOf(value);
  MLIRContext* context = value.getContext();
  SmallVector<Attribute> list(home.count, UnitAttr::get(context));
  if (auto known = home.op->getAttrOfType<ArrayAttr>(home.name)) list.assign(known.begin(), known.end());
  list[home.index] = tgpu::LayoutAttr::get(context, layout.shape(), listOf(layout.bases(Dim::Register)),
                                           listOf(layout.bases(Dim::Lane)), listOf(layout.bases(Dim::Warp)));
  home.op->setAttr(home.name, ArrayAttr::get(context, list));
}

}  // namespace tandem::tgpu
