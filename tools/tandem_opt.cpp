// tandem-opt: reads IR of our dialects, runs the passes named on the command line, or the whole list of a target,
// prints the result.
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

int main(int argc, char** argv) {
  mlir::DialectRegistry registry;
  registry.insert<tandem::tile::TileDialect, tandem::dist::DistDialect, tandem::simt::SimtDialect,
                  tandem::tgpu::TgpuDialect, mlir::arith::ArithDialect, mlir::cf::ControlFlowDialect,
                  mlir::func::FuncDialect, mlir::math::MathDialect, mlir::scf::SCFDialect>();
  mlir::func::registerInlinerExtension(registry);
  tandem::pipeline::registerPasses();
  mlir::registerInlinerPass();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "Tandem's optimizer driver\n", registry));
}
