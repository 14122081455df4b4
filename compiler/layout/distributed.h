// The layouts that instructions and memory accesses ask for, by name. No layout made here has a zero register basis: a
// tensor smaller than the tile is repeated over lanes and warps (zero bases), never over registers.
#pragma once
#include "compiler/layout/linear_layout.h"

namespace tandem::layout {

// Triton's blocked layout. Along each dimension a tile is sizePerThread * threadsPerWarp * warpsPerCta elements;
// `order` lists the dimensions from the fastest, for registers, lanes, warps and the repetition of the tile over a
// larger tensor (more registers). `ctasPerCluster`: how many CTAs share each dimension; empty for one CTA.
LinearLayout blocked(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> sizePerThread,
                     llvm::ArrayRef<int64_t> threadsPerWarp, llvm::ArrayRef<int64_t> warpsPerCta,
                     llvm::ArrayRef<unsigned> order, llvm::ArrayRef<int64_t> ctasPerCluster = {});
// The threads of a block: powers of two.
struct ThreadCounts {
  int64_t lanes, warps;  // lanes of a warp
  int64_t count() const { return lanes * warps; }
};
// Gives each thread as many neighbouring elements as 16 bytes hold (fewer if threads would have none), then puts lanes
// next to each other, then warps, then more registers. An empty order is row-major.
LinearLayout defaultBlocked(llvm::ArrayRef<int64_t> shape, unsigned elemBits, ThreadCounts threads,
                            llvm::ArrayRef<unsigned> order = {});

// The division of a product's result [.., M, N] among the warps of a CTA. Powers of two; `batch` of mma.sync only.
struct WarpGrid {
  int64_t m = 1, n = 1, batch = 1;
};

// Result of mma.sync m16n8. Matrices of a batch beyond the grid's are repeated over registers. Warps count along N
// first, then M, then the batch.
LinearLayout mmaV2Result(llvm::ArrayRef<int64_t> shape, WarpGrid warps);
// Operands of mma.sync m16n8k(256 / elemBits): A is [.., M, K], B is [.., K, N]; elemBits 8, 16 or 32. `warps` is the
// result's grid.
LinearLayout dotOperandA(llvm::ArrayRef<int64_t> shape, unsigned elemBits, WarpGrid warps);
LinearLayout dotOperandB(llvm::ArrayRef<int64_t> shape, unsigned elemBits, WarpGrid warps);
// Result of wgmma m64n(instrN); warps.m is a multiple of 4 (a warpgroup is 64 rows). Warps count along M first.
LinearLayout wgmmaResult(llvm::ArrayRef<int64_t> shape, WarpGrid warps, int64_t instrN);
// Operand A [M, K] of wgmma in registers.
LinearLayout wgmmaOperandA(llvm::ArrayRef<int64_t> shape, unsigned elemBits, WarpGrid warps);

}  // namespace tandem::layout
