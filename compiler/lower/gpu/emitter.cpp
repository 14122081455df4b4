// A target that says in TargetInfo that it has an instruction implements it.
#include "compiler/lower/gpu/emitter.h"
#include <llvm/Support/ErrorHandling.h>

namespace tandem::lower::gpu {

void Emitter::storeMatrices(llvm::Value*, const layout::LinearLayout&, Scalars, unsigned, bool) {
  llvm_unreachable("this target has no matrix stores");
}
void Emitter::loadMatrices(llvm::Value*, const layout::LinearLayout&, llvm::MutableArrayRef<llvm::Value*>, unsigned,
                           bool) {
  llvm_unreachable("this target has no matrix loads");
}
llvm::Value* Emitter::packFloat8(codegen::Float8, llvm::Value*, llvm::Value*) {
  llvm_unreachable("this target has no 8-bit floats");
}
llvm::Value* Emitter::halfToFloat8(codegen::Float8, llvm::Value*) {
  llvm_unreachable("this target has no 8-bit floats");
}
llvm::Value* Emitter::float8ToHalf(codegen::Float8, llvm::Value*) {
  llvm_unreachable("this target has no 8-bit floats");
}

}  // namespace tandem::lower::gpu
