// The names by which tandem-opt runs passes and lists of them.
#include "compiler/pipeline/pipeline.h"
#include "compiler/transform/gpu/passes.h"
#include "compiler/transform/nvidia/passes.h"
#include <mlir/Pass/PassRegistry.h>
#include <mlir/Transforms/Passes.h>

namespace tandem::pipeline {
namespace {

struct NvidiaText : mlir::PassPipelineOptions<NvidiaText> {
  Option<std::string> target{*this, "target", llvm::cl::desc("the GPU that the code is for"), llvm::cl::init("sm_90a")};
  Option<int> blocks{*this, "blocks", llvm::cl::desc("blocks of a program's cluster"), llvm::cl::init(1)};
  Option<bool> layouts{*this, "layouts", llvm::cl::desc("false: stop before layouts"), llvm::cl::init(true)};
  Option<bool> producer{*this, "producer", llvm::cl::desc("false: threads copy what they read through pointers"),
                        llvm::cl::init(true)};
};

}  // namespace

void registerPasses() {
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  transform::gpu::registerGpuPasses();
  transform::nvidia::registerNvidiaPasses();
  mlir::PassPipelineRegistration<> sim("sim", "the passes for the simulator", [](mlir::OpPassManager& module) {
    addSimPasses(module.nest<mlir::func::FuncOp>());
  });
  mlir::PassPipelineRegistration<NvidiaText> nvidia(
      "nvidia", "the passes for NVIDIA's GPUs", [](mlir::OpPassManager& module, const NvidiaText& text) {
        addNvidiaPasses(module.nest<mlir::func::FuncOp>(), {text.target, text.blocks, text.layouts, text.producer});
      });
}

}  // namespace tandem::pipeline
