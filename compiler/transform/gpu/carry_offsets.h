// Loops that move a tile of addresses on: they carry how far, not the tile. Knows nothing of what the addresses are for.
#pragma once
#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace tandem::transform::gpu {

// A tile of pointers or integers that every iteration adds the same number to at all places becomes its first value, plus a number that
// the loop carries. One addition an iteration takes the place of one for each element, and LLVM's analyses, which follow every carried
// address through all loops, see one. True: some loop changed.
bool carryOffsets(mlir::func::FuncOp kernel);

}  // namespace tandem::transform::gpu
