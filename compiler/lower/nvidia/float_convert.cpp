// Conversions between float formats.
#include "compiler/lower/nvidia/kernel_lowering.h"

namespace tandem::lower::nvidia {
using namespace mlir;

bool KernelLowering::lowerFloatConvert(Operation* op) {
  llvm::Type* to = typeOf(op->getResult(0).getType());
  mapRegisters(op, [&](Scalars v) {
    unsigned from = v[0]->getType()->getPrimitiveSizeInBits(), into = to->getPrimitiveSizeInBits();
    if (v[0]->getType() == to) return v[0];
    if (from == into) return b_.CreateFPTrunc(b_.CreateFPExt(v[0], b_.getFloatTy()), to);
    return from < into ? b_.CreateFPExt(v[0], to) : b_.CreateFPTrunc(v[0], to);
  });
  return true;
}

}  // namespace tandem::lower::nvidia
