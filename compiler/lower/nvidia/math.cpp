// Not written yet.
#include "compiler/lower/nvidia/kernel_lowering.h"

namespace tandem::lower::nvidia {
bool KernelLowering::lowerMath(mlir::Operation*) { return false; }
}  // namespace tandem::lower::nvidia
namespace tandem::lower::nvidia {
llvm::Value* KernelLowering::callLibdevice(llvm::StringRef name, llvm::Type* result, Scalars operands) {
  llvm::SmallVector<llvm::Type*> types;
  for (llvm::Value* v : operands) types.push_back(v->getType());
  llvm::FunctionCallee callee = module_.getOrInsertFunction(name, llvm::FunctionType::get(result, types, false));
  return b_.CreateCall(callee, operands);
}
}  // namespace tandem::lower::nvidia
