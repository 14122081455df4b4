// arith.constant: numbers, splats, whole tiles.
#include "compiler/lower/gpu/constant.h"

namespace tandem::lower::gpu {
using namespace mlir;
namespace {

llvm::Constant* constantOf(llvm::Type* type, Attribute value) {
  if (auto i = dyn_cast<IntegerAttr>(value))
    return llvm::ConstantInt::get(type, i.getValue().zextOrTrunc(type->getIntegerBitWidth()));
  llvm::APFloat number = cast<FloatAttr>(value).getValue();
  if (type->isIntegerTy()) return llvm::ConstantInt::get(type, number.bitcastToAPInt());
  return llvm::ConstantFP::get(type, number);
}

}  // namespace

// If a tile has different elements, every thread looks its own up in this table.
static llvm::Value* constantTable(KernelContext& cx, DenseElementsAttr values, llvm::Type* element) {
  llvm::SmallVector<llvm::Constant*> elements;
  for (Attribute value : values.getValues<Attribute>()) elements.push_back(constantOf(element, value));
  auto* type = llvm::ArrayType::get(element, elements.size());
  auto* table = new llvm::GlobalVariable(cx.module, type, true, llvm::GlobalValue::PrivateLinkage,
                                         llvm::ConstantArray::get(type, elements), "constant", nullptr,
                                         llvm::GlobalValue::NotThreadLocal, 1);
  table->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
  return table;
}

void lowerConstant(KernelContext& cx, arith::ConstantOp op) {
  llvm::Type* type = cx.typeOf(op.getType());
  auto dense = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!dense) return cx.define(op.getResult(), {constantOf(type, op.getValue())});
  if (dense.isSplat())
    return cx.define(op.getResult(),
                     Regs(cx.registersOf(op.getResult()), constantOf(type, dense.getSplatValue<Attribute>())));
  Regs out;
  if (!isa<RankedTensorType>(op.getType())) {
    for (Attribute value : dense.getValues<Attribute>()) out.push_back(constantOf(type, value));
    return cx.define(op.getResult(), out);
  }
  llvm::Type* held = type->isIntegerTy(1) ? cx.b.getInt8Ty() : type;
  llvm::Value* table = constantTable(cx, dense, held);
  LinearLayout layout = cx.layoutOf(op.getResult());
  for (int64_t r = 0; r < layout.numRegisters(); ++r) {
    llvm::Value* loaded = cx.b.CreateLoad(held, cx.b.CreateGEP(held, table, cx.position(layout, r)));
    out.push_back(held == type ? loaded : cx.b.CreateTrunc(loaded, type));
  }
  cx.define(op.getResult(), out);
}

}  // namespace tandem::lower::gpu
