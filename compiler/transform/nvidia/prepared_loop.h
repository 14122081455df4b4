// The first decision of prepare-operands: which products of a loop one warpgroup makes for the others, and what goes over.
#pragma once
#include "compiler/dialect/simt/simt.h"
#include "compiler/dialect/tgpu/tgpu.h"
#include <llvm/ADT/SetVector.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <optional>

namespace tandem::transform::nvidia {

// Returns true if the op waits for, takes or gives slots of a ring, its first operand.
bool isEvent(mlir::Operation* op);
inline mlir::Value ringOf(mlir::Operation* event) { return event->getOperand(0); }
// Returns true if the op does what only one role may do.
bool isOnce(mlir::Operation* op);

// A loop of the consumers whose early products can be made by a warpgroup of their own. Late ones multiply what is made of
// the early ones' results.
struct PreparedLoop {
  mlir::scf::ForOp loop;
  mlir::Block* body = nullptr;
  llvm::SetVector<tgpu::WgmmaOp> early, late;
  mlir::Value weights;                       // the tile that all late products multiply
  llvm::SetVector<mlir::Value> vectors;      // numbers for rows, which the late products' sums are computed with
  llvm::SetVector<mlir::Operation*> ofSums;  // what computes these sums
  llvm::SetVector<unsigned> earlyArguments;  // of what the loop carries, what follows from early products
  llvm::SetVector<mlir::Value> finals;       // numbers for rows, which are left of that behind the loop
  mlir::Operation* end = nullptr;  // the last op of the consumers' program that makes early products or finals
  mlir::Value gate;                // at which the producer is told something; null: it is told nothing
  llvm::SmallVector<simt::SmemStoreOp> told;

  mlir::Operation* inBody(mlir::Operation* op) const { return body->findAncestorOpInBlock(*op); }
  // Early products alone read the ring, or late ones alone.
  bool isEarlyRing(mlir::Value ring) const;
  bool isLateRing(mlir::Value ring) const;
};

// Nothing: the consumers have no such loop.
std::optional<PreparedLoop> findPreparedLoop(tgpu::WarpSpecializeOp roles);

}  // namespace tandem::transform::nvidia
