// Counts registers before products have instructions: `tile.dot` still says what is added to what.
#include "compiler/transform/nvidia/loop_registers.h"
#include "compiler/transform/nvidia/operands.h"
#include <mlir/Dialect/Arith/IR/Arith.h>

namespace tandem::transform::nvidia {
using namespace mlir;

int64_t registersOf(Value tile, int numWarps) {
  constexpr int64_t kRegisterBits = 32;
  auto type = dyn_cast<RankedTensorType>(tile.getType());
  if (!type || !type.getElementType().isIntOrFloat()) return 0;
  return type.getNumElements() * type.getElementTypeBitWidth() / (kRegisterBits * threadsOf(numWarps).count());
}

namespace {

bool isLoaded(Value operand) {
  while (Operation* op = operand.getDefiningOp()) {
    if (isa<tile::LoadOp, tile::BlockLoadOp>(op)) return true;
    if (!isa<tile::PermuteOp, tile::ReshapeOp>(op)) return false;
    operand = op->getOperand(0);
  }
  return false;
}

}  // namespace

SmallVector<tile::DotOp> productsOfSums(scf::ForOp loop) {
  SmallVector<tile::DotOp> dots;
  for (Value next : loop.getYieldedValues()) {
    Operation* op = next.getDefiningOp();
    if (auto sum = dyn_cast_or_null<arith::AddFOp>(op))
      op = sum.getLhs().getDefiningOp<tile::DotOp>() ? sum.getLhs().getDefiningOp() : sum.getRhs().getDefiningOp();
    if (auto dot = dyn_cast_or_null<tile::DotOp>(op); dot && dot->getBlock() == loop.getBody()) dots.push_back(dot);
  }
  return dots;
}

int64_t registersOfLoop(scf::ForOp loop, int numWarps) {
  int64_t registers = 0;
  for (Value carried : loop.getRegionIterArgs()) registers += registersOf(carried, numWarps);
  SmallVector<tile::DotOp> sums = productsOfSums(loop);
  llvm::SmallDenseSet<Value> computed;
  for (auto dot : loop.getBody()->getOps<tile::DotOp>()) {
    if (!llvm::is_contained(sums, dot)) registers += registersOf(dot.getResult(), numWarps);
    if (!isLoaded(dot.getLhs()) && computed.insert(dot.getLhs()).second)
      registers += registersOf(dot.getLhs(), numWarps);
  }
  return registers;
}

}  // namespace tandem::transform::nvidia
