// The scalar regions of reductions, scans and maps.
#pragma once
#include "compiler/lower/gpu/kernel.h"

namespace tandem::lower::gpu {

// Runs a region on `arguments`; returns the values that it yields.
Regs callRegion(KernelContext& cx, mlir::Region& region, Scalars arguments);

// One value for each operand of a region; of these, one for each register.
using Rows = llvm::SmallVector<Regs, 0>;
Regs combine(KernelContext& cx, mlir::Region& region, const Regs& first, const Regs& second);
Regs combineAll(KernelContext& cx, mlir::Region& region, Rows rows);
// The sources register by register, all in one layout whose bits along an axis can be told from the others.
LinearLayout rowsOf(KernelContext& cx, mlir::ValueRange sources, Rows& rows);
// The columns of `rows`, which are in `layout`, become the op's results in theirs.
void defineRows(KernelContext& cx, mlir::Operation* op, const Rows& rows, const LinearLayout& layout);

}  // namespace tandem::lower::gpu
