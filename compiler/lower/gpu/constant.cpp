// arith.constant: numbers, splats, whole tiles.
#include "compiler/lower/nvidia/kernel_lowering.h"

namespace tandem::lower::nvidia {
using namespace mlir;
namespace {

llvm::Constant* constantOf(llvm::Type* type, Attribute value) {
  if (auto i = dyn_cast<IntegerAttr>(value)) return llvm::ConstantInt::get(type, i.getValue().zextOrTrunc(type->getIntegerBitWidth()));
  llvm::APFloat number = cast<FloatAttr>(value).getValue();
  if (type->isIntegerTy()) return llvm::ConstantInt::get(type, number.bitcastToAPInt());
  return llvm::ConstantFP::get(type, number);
}

}  // namespace

// If a tile has different elements, every thread looks its own up in this table.
llvm::Value* KernelLowering::constantTable(DenseElementsAttr values, llvm::Type* element) {
  llvm::SmallVector<llvm::Constant*> elements;
  for (Attribute value : values.getValues<Attribute>()) elements.push_back(constantOf(element, value));
  auto* type = llvm::ArrayType::get(element, elements.size());
  auto* table = new llvm::GlobalVariable(module_, type, true, llvm::GlobalValue::PrivateLinkage, llvm::ConstantArray::get(type, elements),
                                         "constant", nullptr, llvm::GlobalValue::NotThreadLocal, 1);
  table->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
  return table;
}

void KernelLowering::lowerConstant(arith::ConstantOp op) {
  llvm::Type* type = typeOf(op.getType());
  auto dense = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!dense) return define(op.getResult(), {constantOf(type, op.getValue())});
  if (dense.isSplat())
    return define(op.getResult(), Regs(registersOf(op.getResult()), constantOf(type, dense.getSplatValue<Attribute>())));
  Regs out;
  if (!isa<RankedTensorType>(op.getType())) {
    for (Attribute value : dense.getValues<Attribute>()) out.push_back(constantOf(type, value));
    return define(op.getResult(), out);
  }
  llvm::Type* held = type->isIntegerTy(1) ? b_.getInt8Ty() : type;
  llvm::Value* table = constantTable(dense, held);
  LinearLayout layout = layoutOf(op.getResult());
  for (int64_t r = 0; r < layout.numRegisters(); ++r) {
    llvm::Value* loaded = b_.CreateLoad(held, b_.CreateGEP(held, table, position(layout, r)));
    out.push_back(held == type ? loaded : b_.CreateTrunc(loaded, type));
  }
  define(op.getResult(), out);
}

}  // namespace tandem::lower::nvidia
