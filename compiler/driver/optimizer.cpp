// The command `tandem-opt`.
#include "compiler/driver/optimizer.h"
#include "compiler/dialect/dist/dist.h"
#include "compiler/dialect/simt/simt.h"
#include "compiler/dialect/tgpu/tgpu.h"
#include "compiler/pipeline/pipeline.h"
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/ControlFlow/IR/ControlFlow.h>
#include <mlir/Dialect/Func/Extensions/InlinerExtension.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Tools/mlir-opt/MlirOptMain.h>
#include <mlir/Transforms/Passes.h>

namespace tandem::compiler {

int runOptimizer(int argc, const char* const* argv) {
  mlir::DialectRegistry registry;
  registry
      .insert<tile::TileDialect, dist::DistDialect, simt::SimtDialect, tgpu::TgpuDialect, mlir::arith::ArithDialect,
              mlir::cf::ControlFlowDialect, mlir::func::FuncDialect, mlir::math::MathDialect, mlir::scf::SCFDialect>();
  mlir::func::registerInlinerExtension(registry);
  pipeline::registerPasses();
  mlir::registerInlinerPass();
  char** words = const_cast<char**>(argv);  // read alone
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, words, "Tandem's optimizer driver\n", registry));
}

}  // namespace tandem::compiler
