// cp.async
#include "compiler/codegen/nvidia/asm/async_copy.h"

namespace tandem::codegen::ptx {

void copyAsync(llvm::IRBuilderBase& b, llvm::Value* shared, llvm::Value* global, int bytes, llvm::Value* read,
               llvm::Value* predicate) {
  Call call(b);
  std::string guard = call.guard(predicate);
  std::string to = call.address(shared);
  std::string from = call.address(global);
  std::string size = ", " + std::to_string(bytes);
  if (read) size += ", " + call.in(read->getType()->isIntegerTy(1) ? b.CreateNot(read) : read);
  call.emit(guard + "cp.async." + (bytes == 16 ? "cg" : "ca") + ".shared.global " + to + ", " + from + size + ";",
            Effect::Acts);
}

void commitCopies(llvm::IRBuilderBase& b) { Call(b).emit("cp.async.commit_group;", Effect::Acts); }

void waitCopies(llvm::IRBuilderBase& b, int pending) {
  Call(b).emit("cp.async.wait_group " + std::to_string(pending) + ";", Effect::Acts);
}

}  // namespace tandem::codegen::ptx
