// LLVM's intrinsics where they carry ranges, mov otherwise.
#include "compiler/codegen/nvidia/asm/special.h"
#include <llvm/IR/IntrinsicsNVPTX.h>

namespace tandem::codegen::ptx {
namespace {

namespace in = llvm::Intrinsic;

constexpr in::ID kIntrinsics[] = {
    in::nvvm_read_ptx_sreg_ctaid_x,
    in::nvvm_read_ptx_sreg_ctaid_y,
    in::nvvm_read_ptx_sreg_ctaid_z,
    in::nvvm_read_ptx_sreg_nctaid_x,
    in::nvvm_read_ptx_sreg_nctaid_y,
    in::nvvm_read_ptx_sreg_nctaid_z,
    in::nvvm_read_ptx_sreg_laneid,
    in::not_intrinsic,
    in::not_intrinsic,
    in::nvvm_read_ptx_sreg_clusterid_x,
    in::nvvm_read_ptx_sreg_nclusterid_x,
    in::nvvm_read_ptx_sreg_cluster_ctarank,
};

const char* registerOf(Special which) { return which == Special::Multiprocessor ? "%smid" : "%nsmid"; }

llvm::Value* counter(llvm::IRBuilderBase& b, const char* name) {
  Call call(b);
  std::string result = call.out(b.getInt64Ty());
  return call.emit("mov.u64 " + result + ", " + name + ";", Effect::Acts)[0];
}

}  // namespace

llvm::Value* special(llvm::IRBuilderBase& b, Special which) {
  if (in::ID id = kIntrinsics[int(which)]; id != in::not_intrinsic) return b.CreateIntrinsic(id, {});
  Call call(b);
  std::string result = call.out(b.getInt32Ty());
  return call.emit("mov.u32 " + result + ", " + registerOf(which) + ";", Effect::Pure)[0];
}

llvm::Value* globalTimer(llvm::IRBuilderBase& b) { return counter(b, "%globaltimer"); }
llvm::Value* clock(llvm::IRBuilderBase& b) { return counter(b, "%clock64"); }

void sleepNanoseconds(llvm::IRBuilderBase& b, llvm::Value* nanoseconds) {
  Call call(b);
  call.emit("nanosleep.u32 " + call.immediateOrIn(nanoseconds) + ";", Effect::Acts);
}

void trap(llvm::IRBuilderBase& b, llvm::Value* predicate) {
  Call call(b);
  std::string guard = call.guard(predicate);
  call.emit(guard + "trap;", Effect::Acts);
}

}  // namespace tandem::codegen::ptx
