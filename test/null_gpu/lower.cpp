// tandem-null: reads a kernel, runs the passes for any GPU, lowers it for the null target, prints what the target is
// asked, line by line, and then, with `--llvm`, the module. It is to the null target what the driver is to others.
#include "base/diagnostic.h"
#include "compiler/transform/gpu/passes.h"
#include "test/null_gpu/null_emitter.h"
#include <llvm/IR/Verifier.h>
#include <llvm/Support/InitLLVM.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Parser/Parser.h>
#include <mlir/Pass/PassManager.h>

using namespace tandem;

namespace {

void addPasses(mlir::OpPassManager& passes, const target::TargetInfo& target) {
  using namespace transform::gpu;
  addCleanUp(passes);
  passes.addPass(createLimitSize());
  passes.addPass(createCarryOffsets());
  passes.addPass(createAccumulateProducts());
  passes.addPass(createAssignThreadLayouts({target.warpSize()}));
  passes.addPass(createInsertBarriers());
}

int run(mlir::ModuleOp module, bool printModule) {
  mlir::PassManager passes(module.getContext());
  target::TargetInfo target({.name = "null"});  // no matrix units, no asynchronous copies
  addPasses(passes.nest<mlir::func::FuncOp>(), target);
  if (mlir::failed(passes.run(module))) return 1;
  lower::gpu::Lowerings rows;
  lower::gpu::registerAnyGpu(rows);
  for (auto kernel : module.getOps<mlir::func::FuncOp>()) {
    llvm::LLVMContext context;
    llvm::Module code(kernel.getName(), context);
    code.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
    llvm::IRBuilder<> builder(context);
    std::vector<SourceFilePtr> files;
    lower::gpu::Places places(code, "kernel", files);
    abi::KernelImage image;
    lower::null::NullEmitter emitter(builder, code, llvm::outs());
    lower::gpu::KernelContext(builder, code, places, target, image, emitter, rows).lower(kernel);
    places.finish();
    if (llvm::verifyModule(code, &llvm::errs())) return 1;
    if (printModule) code.print(llvm::outs(), nullptr);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  llvm::InitLLVM init(argc, argv);
  mlir::DialectRegistry registry;
  registry.insert<tile::TileDialect, dist::DistDialect, simt::SimtDialect, tgpu::TgpuDialect, mlir::arith::ArithDialect,
                  mlir::func::FuncDialect, mlir::math::MathDialect, mlir::scf::SCFDialect>();
  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceFile<mlir::ModuleOp>("-", &context);
  return module ? run(*module, argc > 1 && llvm::StringRef(argv[1]) == "--llvm") : 1;
} catch (const CompileError& error) {
  llvm::errs() << error.what() << "\n";
  return 1;
}
