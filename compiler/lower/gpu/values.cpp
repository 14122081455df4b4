// Types, layouts and the registers that stand for MLIR values.
#include "compiler/dialect/tgpu/layouts.h"
#include "compiler/lower/nvidia/kernel_lowering.h"
#include <mlir/IR/TypeUtilities.h>

namespace tandem::lower::nvidia {
using namespace mlir;

// fp8 and fp4 numbers are held as bytes.
llvm::Type* KernelLowering::typeOf(mlir::Type type) {
  type = getElementTypeOrSelf(type);
  if (isa<tile::PtrType>(type)) return b_.getPtrTy(1);
  if (isa<tile::SmemType>(type)) return b_.getPtrTy(3);
  if (isa<IndexType>(type)) return b_.getInt64Ty();
  if (type.isF64()) return b_.getDoubleTy();
  if (type.isF32()) return b_.getFloatTy();
  if (type.isF16()) return b_.getHalfTy();
  if (type.isBF16()) return b_.getBFloatTy();
  return b_.getIntNTy(type.getIntOrFloatBitWidth());
}

abi::ParamType KernelLowering::paramType(mlir::Type type) {
  using abi::ParamType;
  if (isa<tile::PtrType>(type)) return ParamType::Pointer;
  if (type.isF64()) return ParamType::F64;
  if (type.isF32()) return ParamType::F32;
  if (type.isF16()) return ParamType::F16;
  if (type.isBF16()) return ParamType::BF16;
  switch (type.getIntOrFloatBitWidth()) {
    case 1: return ParamType::I1;
    case 8: return ParamType::I8;
    case 16: return ParamType::I16;
    case 32: return ParamType::I32;
    default: return ParamType::I64;
  }
}

layout::LinearLayout KernelLowering::layoutOf(mlir::Value value) const { return tgpu::layoutOf(value); }

size_t KernelLowering::registersOf(mlir::Value value) const {
  if (auto vector = dyn_cast<VectorType>(value.getType())) return vector.getNumElements();  // of one thread
  return isa<RankedTensorType>(value.getType()) ? layoutOf(value).numRegisters() : 1;
}

const Regs& KernelLowering::use(mlir::Value value) { return values_.find(value)->second; }

void KernelLowering::define(mlir::Value value, Regs regs) { values_[value] = std::move(regs); }

// Between basic blocks elements of 16 bits go in pairs, as the hardware's registers hold two.
static bool travelsInPairs(llvm::Type* element, size_t count) { return count > 1 && (element->isHalfTy() || element->isBFloatTy()); }

llvm::SmallVector<Regs> KernelLowering::useAll(mlir::ValueRange values) {
  llvm::SmallVector<Regs> out;
  for (mlir::Value v : values) {
    Regs regs = use(v);
    if (travelsInPairs(regs[0]->getType(), regs.size())) {
      for (llvm::Value*& r : regs) r = toBits(r);
      regs = pack(regs, 32);
    }
    out.push_back(std::move(regs));
  }
  return out;
}

void KernelLowering::defineAll(mlir::ValueRange values, llvm::ArrayRef<Regs> regs) {
  for (auto [value, held] : llvm::zip(values, regs)) {
    llvm::Type* element = typeOf(value.getType());
    size_t count = registersOf(value);
    Regs out = held;
    if (travelsInPairs(element, count)) {
      out = unpack(held, 16, count);
      for (llvm::Value*& r : out) r = fromBits(r, element);
    }
    define(value, std::move(out));
  }
}

}  // namespace tandem::lower::nvidia
