// Types, layouts and the registers that stand for MLIR values.
#include "compiler/dialect/tgpu/layouts.h"
#include "compiler/lower/gpu/kernel.h"
#include <mlir/IR/TypeUtilities.h>

namespace tandem::lower::gpu {
using namespace mlir;

// fp8 and fp4 numbers are held as bytes.
llvm::Type* KernelContext::typeOf(mlir::Type type) {
  type = getElementTypeOrSelf(type);
  if (isa<tile::PtrType>(type)) return b.getPtrTy(1);
  if (isa<tile::SmemType>(type)) return b.getPtrTy(3);
  if (isa<IndexType>(type)) return b.getInt64Ty();
  if (type.isF64()) return b.getDoubleTy();
  if (type.isF32()) return b.getFloatTy();
  if (type.isF16()) return b.getHalfTy();
  if (type.isBF16()) return b.getBFloatTy();
  return b.getIntNTy(type.getIntOrFloatBitWidth());
}

LinearLayout KernelContext::layoutOf(mlir::Value value) const { return tgpu::layoutOf(value); }

size_t KernelContext::registersOf(mlir::Value value) const {
  if (auto vector = dyn_cast<VectorType>(value.getType())) return vector.getNumElements();  // of one thread
  return isa<RankedTensorType>(value.getType()) ? layoutOf(value).numRegisters() : 1;
}

const Regs& KernelContext::use(mlir::Value value) { return values_.find(value)->second; }

void KernelContext::define(mlir::Value value, Regs regs) { values_[value] = std::move(regs); }

// Between basic blocks floats of 16 and 8 bits go in words, as the hardware's registers hold several.
static bool travelsInWords(mlir::Value value, size_t count) {
  mlir::Type element = getElementTypeOrSelf(value.getType());
  if (count == 1 || !isa<FloatType>(element)) return false;
  unsigned bits = element.getIntOrFloatBitWidth();
  return bits == 8 || bits == 16;
}

llvm::SmallVector<Regs> KernelContext::useAll(mlir::ValueRange values) {
  llvm::SmallVector<Regs> out;
  for (mlir::Value v : values) {
    Regs regs = use(v);
    if (travelsInWords(v, regs.size())) {
      for (llvm::Value*& r : regs) r = toBits(r);
      regs = pack(regs, 32);
    }
    out.push_back(std::move(regs));
  }
  return out;
}

void KernelContext::defineAll(mlir::ValueRange values, llvm::ArrayRef<Regs> regs) {
  for (auto [value, held] : llvm::zip(values, regs)) {
    llvm::Type* element = typeOf(value.getType());
    size_t count = registersOf(value);
    Regs out = held;
    if (travelsInWords(value, count)) {
      out = unpack(held, bitsOf(element), count);
      for (llvm::Value*& r : out) r = fromBits(r, element);
    }
    define(value, std::move(out));
  }
}

const analysis::AxisInfoAnalysis& KernelContext::axes(mlir::Operation* inKernel) {
  auto kernel = dyn_cast<func::FuncOp>(inKernel);
  if (!axes_)
    axes_ = std::make_unique<analysis::AxisInfoAnalysis>(kernel ? kernel : inKernel->getParentOfType<func::FuncOp>());
  return *axes_;
}

}  // namespace tandem::lower::gpu
