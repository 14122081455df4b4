// Operands of products in shared memory: which tiles wgmma reads, which loads and stores TMA can do.
#pragma once
#include "compiler/analysis/scalar_expr.h"
#include "compiler/dialect/tgpu/bulk_store.h"
#include "compiler/dialect/tgpu/tgpu.h"
#include "compiler/remark/remark.h"
#include "compiler/layout/distributed.h"
#include "compiler/target/nvidia_units.h"
#include "compiler/target/target_info.h"

namespace tandem::transform::nvidia {

inline layout::ThreadCounts threadsOf(int64_t numWarps) { return {target::kNvidiaWarp, numWarps}; }

// Returns nothing if wgmma does this product, if its operands are where it wants them.
std::optional<remark::Reason> whyNotWgmma(tile::DotOp dot, int numWarps, const target::TargetInfo& target);
inline bool fitsWgmma(tile::DotOp dot, int numWarps, const target::TargetInfo& target) {
  return !whyNotWgmma(dot, numWarps, target);
}
// The same of the transpose of the product.
std::optional<remark::Reason> whyNotWgmmaTurned(tile::DotOp dot, int numWarps, const target::TargetInfo& target);
// The registers of a thread that the product's sums take. From this many on wgmma cannot do it: what its sums are in
// cannot be spilled while it runs.
int64_t sumsOfThread(tile::DotOp dot, int numWarps);
constexpr int64_t kRegistersOfThread = 256;
// Blocks of one warpgroup share a multiprocessor by two with all registers that their threads can name.
constexpr int kFewWarps = target::kWgmma.warps;
// Returns nothing if mma.sync does this product.
std::optional<remark::Reason> whyNotMma(tile::DotOp dot, const target::TargetInfo& target);
// The same of the transpose of the product.
std::optional<remark::Reason> whyNotMmaTurned(tile::DotOp dot, const target::TargetInfo& target);

// A dot operand that is the tile `source` as it lies in memory, or its transpose.
struct OperandSource {
  mlir::Value source;
  bool transposed = false;
};
OperandSource throughTranspose(mlir::Value operand);
// The block load that gives `tile`, perhaps with dimensions of size 1 in front that a reshape drops. Null: something
// else does.
tile::BlockLoadOp blockLoadBehind(mlir::Value tile);
// Returns true if wgmma reads this operand from shared memory when it is stored as `source` is.
bool readsFromShared(tile::DotOp dot, bool isLhs, const OperandSource& operand);

// Returns true if wgmma reads the left operand from the registers in which the product's own block computes it.
bool staysInRegisters(tile::DotOp dot);
// The bytes that a tile takes in shared memory.
inline int64_t bytesOf(mlir::RankedTensorType tile) {
  return tile.getNumElements() * tile.getElementTypeBitWidth() / 8;
}

// Returns true if nothing but `dots` reads the tile, apart from other forms of it.
bool onlyProductsRead(mlir::Operation* tile, llvm::ArrayRef<tile::DotOp> dots);
// Returns true if threads load a tile in the product's block for an operand, through pointers that TMA cannot follow or to
// compute the operand from: then they copy all of the loop's tiles ahead, with no producer that others would wait for.
bool readsTileOfThreads(tile::DotOp dot);

// Returns true if `loop` changes the sizes, but not with each of its iterations: what it changes is made of quotients, such
// as a shard's number. A map that is made anew costs as much as some iterations.
bool changeSeldom(llvm::ArrayRef<analysis::ScalarExpr> sizes, mlir::scf::ForOp loop);
// Returns nothing if the launcher or the kernel can make the tensor map of this access and TMA can do it.
std::optional<remark::Reason> whyNotTma(tile::BlockLoadOp load);
inline bool fitsTma(tile::BlockLoadOp load) { return !whyNotTma(load); }
bool fitsTma(tile::BlockStoreOp store);
// Returns true if the launcher can make the tensor map.
bool isMapOnHost(tile::BlockStoreOp store);
// The offsets of a store that TMA does which the program has to check when it runs: TMA stores nothing from a negative
// coordinate, nor from within 16 bytes of a row.
llvm::SmallVector<tgpu::UncertainOffset> uncertainOffsets(tile::BlockStoreOp store,
                                                          const analysis::AxisInfoAnalysis& axes);

}  // namespace tandem::transform::nvidia
