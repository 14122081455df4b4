// The dialect's discardable attributes: where they may stand, and the accessors.
#include "compiler/dialect/tile/attributes.h"
#include "compiler/dialect/tile/discardable.h"
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <numeric>

namespace tandem::tile {
using namespace mlir;

LogicalResult verifyByRule(Operation* op, NamedAttribute attribute, ArrayRef<AttributeRule> rules) {
  StringRef name = attribute.getName();
  auto rule = llvm::find_if(rules, [&](const AttributeRule& r) { return r.name == name; });
  if (rule == rules.end()) return op->emitError() << "has an unknown attribute `" << name << "`";
  if (!rule->isPlace(op)) return op->emitError() << "`" << name << "` stands at " << rule->place << " only";
  if (!rule->isValue(op, attribute.getValue())) return op->emitError() << "`" << name << "` is " << rule->value;
  return success();
}

namespace {

bool isKernel(Operation* op) { return isa<func::FuncOp>(op); }
bool isLoop(Operation* op) { return isa<scf::ForOp>(op); }
bool isKernelOrLoop(Operation* op) { return isKernel(op) || isLoop(op); }
bool hasOneResult(Operation* op) { return op->getNumResults() == 1; }
bool isApproximated(Operation* op) { return isa<arith::DivFOp, math::SqrtOp>(op); }

bool isCount(Operation*, Attribute value) {
  auto number = dyn_cast<IntegerAttr>(value);
  return number && number.getType().isSignlessInteger(32) && number.getInt() >= 0;
}
bool isPositive(Operation* op, Attribute value) { return isCount(op, value) && cast<IntegerAttr>(value).getInt() > 0; }
bool arePositive(Operation*, Attribute value) {
  auto numbers = dyn_cast<DenseI32ArrayAttr>(value);
  return numbers && llvm::all_of(numbers.asArrayRef(), [](int32_t n) { return n > 0; });
}
bool arePairs(Operation* op, Attribute value) {
  auto numbers = dyn_cast<DenseI32ArrayAttr>(value);
  int32_t count = cast<func::FuncOp>(op).getNumArguments();
  return numbers && numbers.size() % 2 == 0 &&
         llvm::all_of(numbers.asArrayRef(), [&](int32_t n) { return n >= 0 && n < count; });
}
bool isUnit(Operation*, Attribute value) { return isa<UnitAttr>(value); }
bool isText(Operation*, Attribute value) { return isa<StringAttr>(value); }
bool isAny(Operation*, Attribute) { return true; }

using D = TileDialect;
constexpr char kPositive[] = "a positive 32-bit number", kCount[] = "a 32-bit number from 0 on",
               kPairs[] = "an array of pairs of the kernel's parameters",
               kNumbers[] = "an array of positive 32-bit numbers", kHere[] = "an op with one result";

const AttributeRule kOfOps[] = {
    {D::NumWarpsAttrHelper::getNameStr(), isKernel, "a kernel", isPositive, kPositive},
    {D::MaxnregAttrHelper::getNameStr(), isKernel, "a kernel", isPositive, kPositive},
    {D::OverlappingAttrHelper::getNameStr(), isKernel, "a kernel", arePairs, kPairs},
    {D::ApartAttrHelper::getNameStr(), isKernel, "a kernel", arePairs, kPairs},
    {D::NumStagesAttrHelper::getNameStr(), isKernelOrLoop, "a kernel or a loop", isCount, kCount},
    {D::LoopUnrollFactorAttrHelper::getNameStr(), isLoop, "a loop", isAny, ""},
    {D::DisallowAccMultiBufferAttrHelper::getNameStr(), isLoop, "a loop", isAny, ""},
    {D::FlattenAttrHelper::getNameStr(), isLoop, "a loop", isAny, ""},
    {D::WarpSpecializeAttrHelper::getNameStr(), isLoop, "a loop", isAny, ""},
    {D::DisableLicmAttrHelper::getNameStr(), isLoop, "a loop", isAny, ""},
    {D::DivisibilityAttrHelper::getNameStr(), hasOneResult, kHere, arePositive, kNumbers},
    {D::ContiguityAttrHelper::getNameStr(), hasOneResult, kHere, arePositive, kNumbers},
    {D::ConstancyAttrHelper::getNameStr(), hasOneResult, kHere, arePositive, kNumbers},
    {D::PreciseAttrHelper::getNameStr(), isApproximated, "a division or a square root", isUnit, "a unit"},
};
const AttributeRule kOfParameters[] = {
    {D::NameAttrHelper::getNameStr(), isKernel, "a kernel's parameter", isText, "a text"},
    {D::TypeAttrHelper::getNameStr(), isKernel, "a kernel's parameter", isText, "a text"},
    {D::MultipleOfAttrHelper::getNameStr(), isKernel, "a kernel's parameter", isPositive, kPositive},
};

TileDialect* dialectOf(Operation* op) { return op->getContext()->getLoadedDialect<TileDialect>(); }

IntegerAttr number(Operation* op, int64_t value) {
  return IntegerAttr::get(IntegerType::get(op->getContext(), 32), value);
}
std::optional<int64_t> numberOf(IntegerAttr attribute) {
  return attribute ? std::optional(attribute.getInt()) : std::nullopt;
}

DenseI32ArrayAttr pairsAttribute(func::FuncOp kernel, ArrayRef<ParameterPair> pairs) {
  SmallVector<int32_t> numbers;
  for (auto [a, b] : pairs) numbers.append({int32_t(std::min(a, b)), int32_t(std::max(a, b))});
  return DenseI32ArrayAttr::get(kernel.getContext(), numbers);
}
SmallVector<ParameterPair> pairsOf(DenseI32ArrayAttr attribute) {
  SmallVector<ParameterPair> pairs;
  for (int64_t i = 0; attribute && i < attribute.size(); i += 2) pairs.emplace_back(attribute[i], attribute[i + 1]);
  return pairs;
}

func::FuncOp kernelOf(BlockArgument parameter) { return cast<func::FuncOp>(parameter.getOwner()->getParentOp()); }

}  // namespace

LogicalResult TileDialect::verifyOperationAttribute(Operation* op, NamedAttribute attribute) {
  return verifyByRule(op, attribute, kOfOps);
}
LogicalResult TileDialect::verifyRegionArgAttribute(Operation* op, unsigned, unsigned, NamedAttribute attribute) {
  return verifyByRule(op, attribute, kOfParameters);
}

//===- kernels and loops ---------------------------------------------------------------------------------------===//
int64_t numWarps(func::FuncOp kernel) {
  return numberOf(dialectOf(kernel)->getNumWarpsAttrHelper().getAttr(kernel)).value_or(0);
}
void setNumWarps(func::FuncOp kernel, int64_t warps) {
  dialectOf(kernel)->getNumWarpsAttrHelper().setAttr(kernel, number(kernel, warps));
}
std::optional<int64_t> numStages(Operation* op) {
  return numberOf(dialectOf(op)->getNumStagesAttrHelper().getAttr(op));
}
void setNumStages(func::FuncOp kernel, int64_t stages) {
  dialectOf(kernel)->getNumStagesAttrHelper().setAttr(kernel, number(kernel, stages));
}
std::optional<int64_t> maxRegisters(func::FuncOp kernel) {
  return numberOf(dialectOf(kernel)->getMaxnregAttrHelper().getAttr(kernel));
}
void setMaxRegisters(func::FuncOp kernel, int64_t registers) {
  dialectOf(kernel)->getMaxnregAttrHelper().setAttr(kernel, number(kernel, registers));
}
void setOverlapping(func::FuncOp kernel, ArrayRef<ParameterPair> pairs) {
  dialectOf(kernel)->getOverlappingAttrHelper().setAttr(kernel, pairsAttribute(kernel, pairs));
}
bool overlap(BlockArgument a, BlockArgument b) {
  func::FuncOp kernel = kernelOf(a);
  DenseI32ArrayAttr overlapping = dialectOf(kernel)->getOverlappingAttrHelper().getAttr(kernel);
  ParameterPair pair = std::minmax(a.getArgNumber(), b.getArgNumber());
  return overlapping && llvm::is_contained(pairsOf(overlapping), pair);
}
bool takeApart(BlockArgument a, BlockArgument b) {
  func::FuncOp kernel = kernelOf(a);
  if (!dialectOf(kernel)->getOverlappingAttrHelper().getAttr(kernel) || overlap(a, b)) return false;
  ParameterPair pair = std::minmax(a.getArgNumber(), b.getArgNumber());
  SmallVector<ParameterPair> taken = takenApart(kernel);
  if (llvm::is_contained(taken, pair)) return true;
  taken.push_back(pair);
  dialectOf(kernel)->getApartAttrHelper().setAttr(kernel, pairsAttribute(kernel, taken));
  return true;
}
SmallVector<ParameterPair> takenApart(func::FuncOp kernel) {
  return pairsOf(dialectOf(kernel)->getApartAttrHelper().getAttr(kernel));
}
void setLoopHint(scf::ForOp loop, StringRef name, Attribute value) {
  loop->setAttr((TileDialect::getDialectNamespace() + "." + name).str(), value);
}

//===- parameters ----------------------------------------------------------------------------------------------===//
StringAttr nameOf(BlockArgument parameter) {
  func::FuncOp kernel = kernelOf(parameter);
  return kernel.getArgAttrOfType<StringAttr>(parameter.getArgNumber(),
                                             dialectOf(kernel)->getNameAttrHelper().getName());
}
void describe(BlockArgument parameter, StringRef name, StringRef type) {
  func::FuncOp kernel = kernelOf(parameter);
  MLIRContext* context = kernel.getContext();
  TileDialect* tile = dialectOf(kernel);
  kernel.setArgAttr(parameter.getArgNumber(), tile->getNameAttrHelper().getName(), StringAttr::get(context, name));
  kernel.setArgAttr(parameter.getArgNumber(), tile->getTypeAttrHelper().getName(), StringAttr::get(context, type));
}
std::optional<int64_t> multipleOf(BlockArgument parameter) {
  func::FuncOp kernel = kernelOf(parameter);
  return numberOf(kernel.getArgAttrOfType<IntegerAttr>(parameter.getArgNumber(),
                                                       dialectOf(kernel)->getMultipleOfAttrHelper().getName()));
}
void setMultipleOf(BlockArgument parameter, int64_t multiple) {
  func::FuncOp kernel = kernelOf(parameter);
  kernel.setArgAttr(parameter.getArgNumber(), dialectOf(kernel)->getMultipleOfAttrHelper().getName(),
                    number(kernel, multiple));
}

//===- values --------------------------------------------------------------------------------------------------===//
static StringAttr nameOf(Operation* op, Promise promise) {
  TileDialect* tile = dialectOf(op);
  switch (promise) {
    case Promise::Divisibility: return tile->getDivisibilityAttrHelper().getName();
    case Promise::Contiguity: return tile->getContiguityAttrHelper().getName();
    case Promise::Constancy: break;
  }
  return tile->getConstancyAttrHelper().getName();
}
DenseI32ArrayAttr promiseOf(Operation* op, Promise promise) {
  return op->getAttrOfType<DenseI32ArrayAttr>(nameOf(op, promise));
}
void setPromise(Operation* op, Promise promise, ArrayRef<int32_t> numbers) {
  op->setAttr(nameOf(op, promise), DenseI32ArrayAttr::get(op->getContext(), numbers));
}
void limitPromises(Operation* op, unsigned dim, int64_t size) {
  for (Promise what : kPromises) {
    DenseI32ArrayAttr promised = promiseOf(op, what);
    if (!promised || promised.size() <= int64_t(dim)) continue;
    SmallVector<int32_t> limited(promised.asArrayRef());
    limited[dim] = std::gcd<int64_t>(limited[dim], size);
    setPromise(op, what, limited);
  }
}

bool isPrecise(Operation* op) { return dialectOf(op)->getPreciseAttrHelper().isAttrPresent(op); }
void setPrecise(Operation* op) { dialectOf(op)->getPreciseAttrHelper().setAttr(op, UnitAttr::get(op->getContext())); }

}  // namespace tandem::tile
