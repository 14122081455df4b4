// Parameters of kernels, and waits, are described by attributes of the dialect `dist`.
#pragma once
#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tandem::dist {

// The parameter decides the kernel's signals, or whether it comes to them.
inline constexpr llvm::StringLiteral kDecidesSignals = "dist.decides_signals";
inline bool decidesSignals(mlir::BlockArgument parameter) {
  auto kernel = mlir::cast<mlir::func::FuncOp>(parameter.getOwner()->getParentOp());
  return bool(kernel.getArgAttr(parameter.getArgNumber(), kDecidesSignals));
}
inline void setDecidesSignals(mlir::BlockArgument parameter) {
  auto kernel = mlir::cast<mlir::func::FuncOp>(parameter.getOwner()->getParentOp());
  kernel.setArgAttr(parameter.getArgNumber(), kDecidesSignals, mlir::UnitAttr::get(kernel.getContext()));
}

// Words for which the wait has waited compare true until the kernel ends: who waits for them again need not look.
inline constexpr llvm::StringLiteral kStays = "dist.stays";
inline bool stays(mlir::Operation* wait) { return wait->hasAttr(kStays); }
inline void setStays(mlir::Operation* wait) { wait->setAttr(kStays, mlir::UnitAttr::get(wait->getContext())); }

}  // namespace tandem::dist
