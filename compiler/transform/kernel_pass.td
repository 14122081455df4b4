// The passes of all GPUs' rooms have this in common.
#ifndef TANDEM_TRANSFORM_KERNEL_PASS
#define TANDEM_TRANSFORM_KERNEL_PASS
include "mlir/Pass/PassBase.td"

class KernelPass<string word> : PassBase<word, "::tandem::transform::gpu::KernelPass">;
def Target : Option<"target", "target", "std::string", "\"sm_90a\"", "the GPU that the code is for">;
#endif
