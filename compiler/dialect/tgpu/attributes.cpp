// The dialect's discardable attributes: where they may stand.
#include "compiler/dialect/tgpu/attributes.h"
#include "compiler/dialect/tile/discardable.h"
#include <mlir/Dialect/SCF/IR/SCF.h>

namespace tandem::tgpu {
using namespace mlir;
namespace {

bool isKernel(Operation* op) { return isa<func::FuncOp>(op); }
bool isAnywhere(Operation*) { return true; }
bool isWhile(Operation* op) { return isa<scf::WhileOp>(op); }
bool isDot(Operation* op) { return isa<tile::DotOp>(op); }
bool isBlockStore(Operation* op) { return isa<tile::BlockStoreOp>(op); }
bool hasParts(Operation* op) { return isa<tile::BlockStoreOp, TmaLoadOp>(op); }
bool isEffect(Operation* op) { return isa<tile::ConcurrencyOpInterface>(op); }
bool goesThroughPointers(Operation* op) {
  return isa<tile::LoadOp, tile::StoreOp, tile::AtomicRmwOp, tile::AtomicCasOp, CopyAsyncOp>(op);
}

bool isUnit(Operation*, Attribute value) { return isa<UnitAttr>(value); }
bool isNumber(Attribute value, int64_t first, int64_t last) {
  auto number = dyn_cast<IntegerAttr>(value);
  return number && number.getType().isSignlessInteger(32) && number.getInt() >= first && number.getInt() <= last;
}
bool isAxis(Operation*, Attribute value) { return isNumber(value, 0, 2); }
bool isPositive(Operation*, Attribute value) { return isNumber(value, 1, INT32_MAX); }
bool isPair(Operation*, Attribute value) {
  auto numbers = dyn_cast<DenseI32ArrayAttr>(value);
  return numbers && numbers.size() == 2;
}
bool isWidePair(Operation*, Attribute value) {
  auto numbers = dyn_cast<DenseI64ArrayAttr>(value);
  return numbers && numbers.size() == 2;
}
bool arePairs(Operation*, Attribute value) {
  auto numbers = dyn_cast<DenseI64ArrayAttr>(value);
  return numbers && numbers.size() % 2 == 0;
}
bool areLayouts(Attribute value, size_t count) {
  auto list = dyn_cast<ArrayAttr>(value);
  return list && list.size() == count && llvm::all_of(list, llvm::IsaPred<LayoutAttr, UnitAttr>);
}
bool areOfResults(Operation* op, Attribute value) { return areLayouts(value, op->getNumResults()); }
bool areOfCondition(Operation* op, Attribute value) {
  return areLayouts(value, cast<scf::WhileOp>(op).getBeforeArguments().size());
}

using D = TgpuDialect;
constexpr char kStore[] = "a block store";

const tile::AttributeRule kRules[] = {
    {D::LayoutAttrHelper::getNameStr(), isAnywhere, "an op", areOfResults, "an array with a layout for each result"},
    {D::BeforeLayoutAttrHelper::getNameStr(), isWhile, "a while loop", areOfCondition,
     "an array with a layout for each value of the condition"},
    {D::LongestFirstAttrHelper::getNameStr(), isKernel, "a kernel", isAxis, "an axis of the grid, 0 to 2"},
    {D::BlocksAttrHelper::getNameStr(), isKernel, "a kernel", isPositive, "a positive 32-bit number"},
    {D::VectorAttrHelper::getNameStr(), goesThroughPointers, "an access through pointers", isPair,
     "an array of two 32-bit numbers"},
    {D::MmaAttrHelper::getNameStr(), isDot, "a product", isUnit, "a unit"},
    {D::WholeAttrHelper::getNameStr(), isEffect, "an op with effects", isUnit, "a unit"},
    {D::OwnPartAttrHelper::getNameStr(), hasParts, "a block store or a copy", isWidePair,
     "an array of two 64-bit numbers"},
    {D::TmaAttrHelper::getNameStr(), isBlockStore, kStore, isUnit, "a unit"},
    {D::UncertainAttrHelper::getNameStr(), isBlockStore, kStore, arePairs, "an array of pairs of 64-bit numbers"},
    {D::CompletesOwnAttrHelper::getNameStr(), isBlockStore, kStore, isUnit, "a unit"},
};

TgpuDialect* dialectOf(Operation* op) { return op->getContext()->getLoadedDialect<TgpuDialect>(); }

}  // namespace

LogicalResult TgpuDialect::verifyOperationAttribute(Operation* op, NamedAttribute attribute) {
  return tile::verifyByRule(op, attribute, kRules);
}

std::optional<int> longestFirst(func::FuncOp kernel) {
  TgpuDialect* tgpu = dialectOf(kernel);  // not loaded: no pass has said anything
  IntegerAttr axis = tgpu ? tgpu->getLongestFirstAttrHelper().getAttr(kernel) : nullptr;
  return axis ? std::optional<int>(axis.getInt()) : std::nullopt;
}
void setLongestFirst(func::FuncOp kernel, int axis) {
  dialectOf(kernel)->getLongestFirstAttrHelper().setAttr(
      kernel, IntegerAttr::get(IntegerType::get(kernel.getContext(), 32), axis));
}

std::optional<Neighbours> neighboursOf(Operation* access) {
  DenseI32ArrayAttr pair = dialectOf(access)->getVectorAttrHelper().getAttr(access);
  return pair ? std::optional(Neighbours{pair[0], pair[1]}) : std::nullopt;
}
void setNeighbours(Operation* access, Neighbours n) {
  dialectOf(access)->getVectorAttrHelper().setAttr(access,
                                                   DenseI32ArrayAttr::get(access->getContext(), {n.count, n.axis}));
}

std::optional<int64_t> rowsCopied(TmaLoadOp copy) {
  DenseI64ArrayAttr part = dialectOf(copy)->getOwnPartAttrHelper().getAttr(copy);
  return part ? std::optional(part[1]) : std::nullopt;
}
void setRowsCopied(TmaLoadOp copy, int64_t rows) {
  dialectOf(copy)->getOwnPartAttrHelper().setAttr(copy, DenseI64ArrayAttr::get(copy.getContext(), {0, rows}));
}

bool usesMma(tile::DotOp product) { return dialectOf(product)->getMmaAttrHelper().isAttrPresent(product); }
void setUsesMma(tile::DotOp product) {
  dialectOf(product)->getMmaAttrHelper().setAttr(product, UnitAttr::get(product.getContext()));
}

}  // namespace tandem::tgpu
