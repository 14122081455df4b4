// barrier.cluster, mapa, setmaxnreg
#include "compiler/codegen/nvidia/asm/grid.h"

namespace tandem::codegen::ptx {

void clusterArrive(llvm::IRBuilderBase& b, bool relaxed) {
  Call(b).emit(relaxed ? "barrier.cluster.arrive.relaxed.aligned;" : "barrier.cluster.arrive.release.aligned;",
               Effect::Acts);
}

void clusterWait(llvm::IRBuilderBase& b) { Call(b).emit("barrier.cluster.wait.acquire.aligned;", Effect::Acts); }

llvm::Value* mapShared(llvm::IRBuilderBase& b, llvm::Value* shared, llvm::Value* rank) {
  Call call(b);
  std::string text = "mapa.shared::cluster.u32 " + call.out(b.getInt32Ty()) + ", ";
  text += call.in(shared) + ", ";
  return call.emit(text + call.in(rank) + ";", Effect::Pure)[0];
}

void increaseRegisters(llvm::IRBuilderBase& b, int count) {
  Call(b).emit("setmaxnreg.inc.sync.aligned.u32 " + std::to_string(count) + ";", Effect::Acts);
}

void decreaseRegisters(llvm::IRBuilderBase& b, int count) {
  Call(b).emit("setmaxnreg.dec.sync.aligned.u32 " + std::to_string(count) + ";", Effect::Acts);
}

}  // namespace tandem::codegen::ptx
